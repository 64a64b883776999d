import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { writeAudit } from '../audit.ts';
import type { FileKey, FileState, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { InspectionStore } from '../contracts/inspection.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AdminCaller } from '../files/admin-files.ts';
import { parseUserId, toPhysicalPath, toScope } from '../files/paths.ts';
import { decodeDelta } from '../history/delta/codec.ts';
import { toAdminRevision } from '../history/revisions.ts';
import type { IdSource } from '../ids.ts';
import type {
  ArchiveManifest,
  ArchiveTotals,
  HistoryHead,
  HistoryLine,
} from '../schemas/archive.ts';
import { toTime } from '../time.ts';
import { packEntry, TAR_END } from './tar.ts';

/** Which memory is exported. */
export interface ExportSelection {
  /** `null` for all users and shared memory. */
  userId: string | null;
  /** Whether revisions and deleted files are included. */
  history: boolean;
}

/** The path of the manifest in an archive, of its totals, and of the folder of histories. */
export const ARCHIVE_PATHS = {
  manifest: 'manifest.json',
  totals: 'totals.json',
  history: 'history/',
} as const;

/** Rows of a page of files, and of revisions. */
const FILES_READ = 500;
const REVISIONS_READ = 100;
const FEW_REVISIONS = 4;
/** A part of a history ends at so many lines, or at the line that exceeds so many characters. */
export const PART_LINES = 250;
const PART_CHARACTERS = 1_048_576;

/**
 * Exports memory as the chunks of a tar file. Writes the audit row first. It holds one file and one
 * part of its history in memory at a time. Each file is exported as of one moment, but not all of
 * them as of the same one. Files are in the order of their scopes and paths, so the same memory
 * gives the same bytes.
 */
export async function exportMemory(
  { storage, ids }: { storage: Storage; ids: IdSource },
  selection: ExportSelection,
  caller: AdminCaller | null,
): Promise<AsyncGenerator<Buffer, void>> {
  const { userId, history } = selection;
  const scope = userId === null ? null : toScope(parseUserId(userId));
  const inspection = requireInspection(storage);
  await writeAudit(
    { storage, ids },
    {
      action: 'memory.export',
      target: userId ?? 'all',
      details: { history },
      address: caller?.address ?? null,
      traceId: caller?.traceId ?? null,
    },
  );
  const manifest: ArchiveManifest = { format: 'memory-service', version: 1, userId, history };
  return packMemory({ storage, inspection, scope, manifest });
}

/** Compresses the chunks of {@link exportMemory}. An error of the source destroys the stream. */
export function compress(chunks: AsyncGenerator<Buffer, void>): Readable {
  const source = Readable.from(chunks, { objectMode: false, highWaterMark: 1 });
  // The callback is required; the error reaches the reader of the compressed stream.
  return pipeline(source, createGzip(), () => undefined);
}

/** The list of deleted files and of all scopes, which drivers may lack. */
export function requireInspection(storage: Storage): InspectionStore {
  if (storage.inspection !== undefined) return storage.inspection;
  throw new MemoryError(
    'INVALID_REQUEST',
    `A ${storage.name} storage cannot be exported or imported: its driver has no inspection store.`,
  );
}

/** All files of a scope by path, deleted ones too. */
export async function* listScopeFiles(
  inspection: InspectionStore,
  scope: ScopeKey,
): AsyncGenerator<Awaited<ReturnType<InspectionStore['files']>>[number], void> {
  for (let after: string | null = null; ;) {
    const page = await inspection.files(scope, { after, limit: FILES_READ });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.path;
  }
}

async function* packMemory({
  storage,
  inspection,
  scope,
  manifest,
}: {
  storage: Storage;
  inspection: InspectionStore;
  scope: ScopeKey | null;
  manifest: ArchiveManifest;
}): AsyncGenerator<Buffer, void> {
  const totals: ArchiveTotals = { files: 0, deleted: 0, revisions: 0, bytes: 0 };
  yield packJson(ARCHIVE_PATHS.manifest, manifest);
  for await (const each of scope === null ? listScopes(inspection) : [scope]) {
    for await (const { path } of listScopeFiles(inspection, each)) {
      const file = await storage.files.get({ scope: each, path });
      if (file === null || (file.content === null && !manifest.history)) continue;
      if (file.content !== null) {
        const entry = { path: toPhysicalPath(file), content: Buffer.from(file.content) };
        totals.files += 1;
        totals.bytes += entry.content.length;
        yield packEntry(entry, { modifiedAt: file.updatedAt });
      } else totals.deleted += 1;
      if (manifest.history) yield* packHistory(storage, file, totals);
    }
  }
  yield packJson(ARCHIVE_PATHS.totals, totals);
  yield TAR_END;
}

async function* listScopes(inspection: InspectionStore): AsyncGenerator<ScopeKey, void> {
  for (let after: ScopeKey | null = null; ;) {
    const page = await inspection.scopes(after, FILES_READ);
    for (const { scope } of page) yield scope;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.scope;
  }
}

/** Packs the history of a file, newest first, in parts of bounded size. */
async function* packHistory(
  storage: Storage,
  file: FileState,
  totals: ArchiveTotals,
): AsyncGenerator<Buffer, void> {
  const path = toPhysicalPath(file);
  const { version, createdAt, hash, chainRows, chainBytes } = file;
  let part = 1;
  let lines: string[] = [];
  let characters = 0;
  const pack = (last: boolean): Buffer => {
    const head: HistoryHead = {
      path,
      part,
      last,
      ...(part === 1
        ? { file: { version, createdAt: toTime(createdAt), hash, chainRows, chainBytes } }
        : {}),
    };
    const text = [JSON.stringify(head), ...lines, ''].join('\n');
    const entry = {
      path: `${ARCHIVE_PATHS.history}${path}/${part}.jsonl`,
      content: Buffer.from(text),
    };
    part += 1;
    lines = [];
    characters = 0;
    return packEntry(entry, { modifiedAt: file.updatedAt });
  };
  for await (const line of readHistory(storage, file)) {
    // Before the line and not after it: a part must know whether it is the last one.
    if (lines.length >= PART_LINES || characters >= PART_CHARACTERS) yield pack(false);
    const text = JSON.stringify(line);
    lines.push(text);
    characters += text.length;
    totals.revisions += 1;
  }
  yield pack(true);
}

/** The revisions of a file up to its version, newest first, until the oldest that is not pruned. */
async function* readHistory(storage: Storage, file: FileState): AsyncGenerator<HistoryLine, void> {
  const key: FileKey = { scope: file.scope, path: file.path };
  let expected = file.version;
  for (let after: PageRequest['after'] = null; ;) {
    const page = await listNewest(storage, file, after);
    // Written after the file was read.
    const revisions = page.items.filter((revision) => revision.version <= file.version);
    const [newest, oldest] = [revisions[0], revisions.at(-1)];
    if (newest !== undefined && oldest !== undefined) {
      const range = { after: oldest.version - 1, upTo: newest.version };
      const steps = new Map(
        (await storage.revisions.steps(key, range)).map((step) => [step.version, step]),
      );
      for (const revision of revisions) {
        const step = steps.get(revision.version);
        // Pruned in between, with all that are older.
        if (step === undefined || revision.version !== expected) return;
        expected -= 1;
        const { path: _path, userId: _userId, ...shown } = toAdminRevision(revision);
        yield {
          ...shown,
          hash: revision.hash,
          contentSalt: revision.contentSalt,
          contentSeal: revision.contentSeal,
          previousHash: revision.previousHash,
          chainHash: revision.chainHash,
          existedBefore: revision.existedBefore,
          existsAfter: revision.existsAfter,
          delta: step.delta === null ? null : decodeDelta(step.delta),
          keyframe: step.keyframe,
        };
      }
    }
    if (page.next === null) return;
    after = page.next;
  }
}

/** A page of a file's revisions, newest first. Most files have few, which are read faster by version. */
async function listNewest(
  storage: Storage,
  { scope, path, version, revisions }: FileState,
  after: PageRequest['after'],
): Promise<PageResult<RevisionRecord>> {
  const key: FileKey = { scope, path };
  if (revisions > FEW_REVISIONS) {
    const page = { limit: REVISIONS_READ, order: 'desc', after } as const;
    return await storage.revisions.list({ scope, path: key }, page);
  }
  const items: RevisionRecord[] = [];
  for (let at = version; at > version - revisions; at -= 1) {
    const revision = await storage.revisions.ofVersion(key, at);
    if (revision === null) break;
    items.push(revision);
  }
  return { items, next: null };
}

function packJson(path: string, value: object): Buffer {
  const content = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  return packEntry({ path, content }, { modifiedAt: 0 });
}
