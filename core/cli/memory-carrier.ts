import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { ExportSelection } from '../archive/export.ts';
import type { LoadedConfig } from '../config/index.ts';
import type { ImportedFile, ImportSummary, OnExisting } from '../contracts/admin.ts';
import type { ErrorBody } from '../errors.ts';
import { createCore } from '../service.ts';
import { StartError } from './failure.ts';
import { createLog } from './log.ts';
import { workOnMemory } from './open-memory.ts';
import { type RunningServer, toQuery } from './running-server.ts';

/** Exports and imports of a memory, by its running server or by this process. */
export interface MemoryCarrier {
  export(selection: ExportSelection): Promise<Readable>;
  import(
    file: string,
    options: { onExisting: OnExisting; dryRun: boolean },
  ): Promise<AsyncGenerator<ImportedFile, ImportSummary>>;
  /** The id of the newest revision; `null` for a memory without any. */
  newestRevision(userId: string | null): Promise<string | null>;
  /** Whether others can change the memory meanwhile. */
  isShared: boolean;
}

/** Lets the server that has the database open carry memory, or else this process. */
export async function carryMemory<T>(
  loaded: LoadedConfig,
  work: (carrier: MemoryCarrier) => Promise<T>,
): Promise<T> {
  return await workOnMemory<T>(loaded, {
    there: (server) => work(carryThere(server)),
    async here(config, { name }) {
      const core = createCore({ ...config, log: createLog(loaded.values.logLevel) });
      try {
        await core.ready();
        return await work({
          export: (selection) => core.archive.export(selection, null),
          import: (file, options) =>
            core.archive.import(() => createReadStream(file), { ...options, caller: null }),
          async newestRevision(userId) {
            const scope = userId === null ? null : (`u:${userId}` as const);
            const page = { limit: 1, order: 'desc', after: null } as const;
            return (await core.storage.revisions.list({ scope }, page)).items[0]?.id ?? null;
          },
          isShared: name !== 'sqlite',
        });
      } finally {
        await core.close();
      }
    },
  });
}

function carryThere(server: RunningServer): MemoryCarrier {
  return {
    export: ({ userId, history }) =>
      server.stream('GET', `export?${toQuery({ history: String(history), userId })}`),
    async import(file, { onExisting, dryRun }) {
      const query = toQuery({ onExisting, dryRun: String(dryRun) });
      return readLines(await server.stream('POST', `import?${query}`, createReadStream(file)));
    },
    async newestRevision(userId) {
      const query = toQuery({ limit: '1', userId });
      const { items } = await server.ask<{ items: { id: string }[] }>('GET', `revisions?${query}`);
      return items[0]?.id ?? null;
    },
    isShared: true,
  };
}

/** The lines of an import's answer. */
async function* readLines(answer: Readable): AsyncGenerator<ImportedFile, ImportSummary> {
  for await (const line of createInterface({ input: answer, crlfDelay: Infinity })) {
    const value = JSON.parse(line) as
      ImportedFile | { summary: ImportSummary } | { error: ErrorBody };
    if ('summary' in value) return value.summary;
    if ('error' in value) throw new StartError(value.error.message);
    yield value;
  }
  throw new StartError('The answer of the server was cut off: import the file again.');
}
