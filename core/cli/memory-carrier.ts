import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { toOwner } from '../files/paths.ts';
import type { ImportSource } from '../archive/archive.ts';
import type { ExportSelection } from '../archive/export.ts';
import type { FolderOptions } from '../archive/folder.ts';
import type { Imported } from '../archive/import.ts';
import type { LoadedConfig } from '../config/index.ts';
import type { ImportedFile, ImportSummary, SkippedItem } from '../contracts/admin.ts';
import type { ErrorBody } from '../errors.ts';
import type { Core } from '../service.ts';
import { StartError } from './failure.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { createProgress, type RunningServer, toQuery } from './running-server.ts';

/** Exports and imports of a memory, by its running server or by this process. */
export interface MemoryCarrier {
  export(selection: ExportSelection): Promise<Readable>;
  import(file: string, options: Omit<ImportSource, 'caller'>): Promise<Imported>;
  /** A text that each write, erasure and import changes: the ids of the newest of them. */
  mark(scope: ScopeKey | null): Promise<string>;
  /** Whether others can change the memory meanwhile. */
  isShared: boolean;
}

/** Tells the operator how the work on a folder goes on, and which of its files are left out. */
interface FolderReport extends Pick<FolderOptions, 'onFile' | 'onLeftOut'> {
  /** The files that were left out, without hidden ones of a folder that is read. */
  leftOut: ReadonlySet<string>;
}

/**
 * Makes a {@link FolderReport}. `known` files are counted and not named again, as a watching export
 * would with each change.
 */
export function reportFolder(unit: string, known: ReadonlySet<string> = new Set()): FolderReport {
  const progress = createProgress(unit);
  const leftOut = new Set<string>();
  return {
    leftOut,
    onFile: (done) => progress(done, null),
    onLeftOut({ path, why, isHidden = false }) {
      if (!isHidden) {
        process.exitCode = 1;
        leftOut.add(path);
      }
      if (!known.has(path)) process.stderr.write(`  left out ${path}: ${why}\n`);
    },
  };
}

/** The end of a receipt that says how many files an export left out; empty if none. */
export function countLeftOut(count: number): string {
  if (count === 0) return '';
  return ` ${count} ${count === 1 ? 'was' : 'were'} left out: an archive (memory-service export memory.tar.gz) keeps every file.`;
}

/** Lets the server that has the database open carry memory, or else this process. */
export async function carryMemory<T>(
  loaded: LoadedConfig,
  { mayCreate }: { mayCreate: boolean },
  work: (carrier: MemoryCarrier) => Promise<T>,
): Promise<T> {
  return await workOnMemory<T>(loaded, {
    mayCreate,
    there: (server) => work(carryThere(server)),
    here: (config, { isEmbedded }) =>
      onCore(loaded, config, (core) => work(carryHere(core, { isShared: !isEmbedded }))),
  });
}

function carryHere({ archive, storage }: Core, { isShared }: { isShared: boolean }): MemoryCarrier {
  return {
    export: (selection) => archive.export(selection, null),
    import: (file, options) =>
      archive.import(() => createReadStream(file), { ...options, caller: null }),
    async mark(scope) {
      const page = { limit: NEWEST, order: 'desc', after: null } as const;
      const written = await storage.revisions.list({ scope }, page);
      const marks = ACTS.map((action) => storage.audit.list({ action }, page));
      return toMark([written, ...(await Promise.all(marks))]);
    },
    isShared,
  };
}

function carryThere(server: RunningServer): MemoryCarrier {
  return {
    export({ history, format = 'archive', ...owners }) {
      const query = toQuery({ history: String(history), format, ...owners });
      return server.stream('GET', `export?${query}`);
    },
    async import(file, { onExisting, dryRun, from = null, userId = null }) {
      const query = toQuery({ onExisting, dryRun: String(dryRun), from, userId });
      return importLines(await server.stream('POST', `import?${query}`, createReadStream(file)));
    },
    async mark(scope) {
      const list = (path: string, filter: Record<string, string | null>) => {
        const query = toQuery({ limit: String(NEWEST), ...filter });
        return server.ask<{ items: { id: string }[] }>('GET', `${path}?${query}`);
      };
      const marks = ACTS.map((action) => list('audit', { action }));
      return toMark([await list('revisions', toOwnerQuery(scope)), ...(await Promise.all(marks))]);
    },
    isShared: true,
  };
}

function toOwnerQuery(scope: ScopeKey | null): Record<string, string | null> {
  return scope === null ? {} : { ...toOwner(scope) };
}

/** More than one: a write of another user may get its id earlier and be committed later. */
const NEWEST = 50;

/** An erasure removes revisions, and an import writes old ones: their audit rows are new. */
const ACTS = ['users.erase', 'memory.import'];

function toMark(pages: readonly { items: readonly { id: string }[] }[]): string {
  return pages.flatMap(({ items }) => items.map(({ id }) => id)).join();
}

/** The lines of an import's answer. */
export async function* importLines(answer: Readable): Imported {
  for await (const line of createInterface({ input: answer, crlfDelay: Infinity })) {
    const value = parseForeignJson(line) as
      ImportedFile | SkippedItem | { summary: ImportSummary } | { error: ErrorBody };
    if ('summary' in value) return value.summary;
    if ('error' in value) throw new StartError(value.error.message);
    yield value;
  }
  throw new StartError('The answer of the server was cut off: import the file again.');
}
