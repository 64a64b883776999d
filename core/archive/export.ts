import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { NOBODY, writeAudit } from '../telemetry/audit.ts';
import type {
  FileKey,
  FileState,
  PrunedRevision,
  RevisionRecord,
  ScopeKey,
} from '../contracts/records.ts';
import type { InspectionStore } from '../contracts/inspection.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import { labelOf, toOwner, toPhysicalPath } from '../files/paths.ts';
import { chunk } from '../lists/group-by.ts';
import { decodeDelta } from '../history/delta/codec.ts';
import { chainedHash } from '../history/chain.ts';
import { toChainStart, walkChain } from '../history/walk-chain.ts';
import { type Revisions, toAdminRevision } from '../history/revisions.ts';
import type { IdSource } from '../ids/ids.ts';
import {
  ARCHIVE_VERSION,
  type ArchiveManifest,
  type ArchiveTotals,
  type ChainHead,
  type ChainLine,
  type ExportFormat,
  type HistoryHead,
  type HistoryLine,
} from '../schemas/archive.ts';
import { toTime } from '../time/time.ts';
import { packCommits } from './git.ts';
import {
  listScopeFiles,
  listScopes,
  requireInspection,
  type ScopeSelection,
  toScopeSelection,
} from './scopes.ts';
import { packEntry, TAR_END } from './tar.ts';

/** What {@link exportMemory} needs. */
export interface ExportDependencies {
  storage: Storage;
  ids: IdSource;
  revisions: Pick<Revisions, 'textAt'>;
}

/** Which memory is exported. */
export interface ExportSelection {
  /** That of a user, of a space, or of those whose ids start alike; all memory where none is named. */
  userId?: string | null | undefined;
  spaceId?: string | null | undefined;
  prefix?: string | null | undefined;
  /** Whether revisions and deleted files are included. A git repository always has them. */
  history: boolean;
  /** Default: `archive`. */
  format?: ExportFormat | undefined;
}

/** The path of the manifest in an archive, of its totals, and of the folder of histories. */
export const ARCHIVE_PATHS = {
  manifest: 'manifest.json',
  totals: 'totals.json',
  history: 'history/',
  chain: 'chain/',
} as const;

/** Rows of a page of revisions. */
const REVISIONS_READ = 100;
const FEW_REVISIONS = 4;
/** Steps read in one query: each may hold a whole content. */
const STEPS_READ = 16;
/** A part of a history ends at so many lines, or at the line that exceeds so many characters. */
export const PART_LINES = 250;
const PART_CHARACTERS = 1_048_576;

/**
 * Exports memory as the bytes of a `.tar.gz`, or of a `git fast-import` stream ({@link packCommits}).
 * Writes the audit row first.
 *
 * It holds one file and one part of its history in memory at a time. Each file of an archive is
 * exported as of one moment, but not all of them as of the same one. Files are in the order of their
 * scopes and paths, so the same memory gives the same bytes.
 */
export async function exportMemory(
  { storage, ids, revisions }: ExportDependencies,
  selection: ExportSelection,
  caller: AuditCaller | null,
): Promise<Readable> {
  const { history, format = 'archive' } = selection;
  const selected = toScopeSelection(selection);
  const { scope } = selected;
  if (format === 'git' && !history) {
    throw new MemoryError(
      'INVALID_REQUEST',
      'A git repository has the history: leave history out.',
    );
  }
  const inspection = requireInspection(storage);
  await writeAudit(
    { storage, ids },
    {
      action: 'memory.export',
      target: scope === null ? (selection.prefix ?? 'all') : labelOf(scope),
      details: { history, format },
      ...(caller ?? NOBODY),
    },
  );
  return format === 'git'
    ? toStream(packCommits({ storage, inspection, revisions }, selected))
    : compress(
        packMemory({ storage, inspection, selected }, { ...toManifestOwner(scope), history }),
      );
}

/** Whose memory an archive has. That of no space is not said, as in archives from before. */
function toManifestOwner(scope: ScopeKey | null): Pick<ArchiveManifest, 'userId' | 'spaceId'> {
  if (scope === null) return { userId: null };
  const { userId, spaceId } = toOwner(scope);
  return spaceId === null ? { userId } : { userId, spaceId };
}

/** Compresses the chunks of a tar file. An error of the source destroys the stream. */
export function compress(chunks: AsyncGenerator<Buffer, void>): Readable {
  // The callback is required; the error reaches the reader of the compressed stream.
  return pipeline(toStream(chunks), createGzip(), () => undefined);
}

function toStream(chunks: AsyncGenerator<Buffer, void>): Readable {
  return Readable.from(chunks, { objectMode: false, highWaterMark: 1 });
}

/** A file of an archive without history. */
export interface PlainFile {
  key: FileKey;
  content: Buffer;
}

/** Packs files without history; they come in the order of an export. */
export async function* packFiles(
  files: Iterable<PlainFile> | AsyncIterable<PlainFile>,
  userId: string | null,
): AsyncGenerator<Buffer, void> {
  const totals: ArchiveTotals = { files: 0, deleted: 0, revisions: 0, bytes: 0 };
  yield packManifest({ userId, history: false });
  for await (const { key, content } of files) {
    totals.files += 1;
    totals.bytes += content.length;
    yield packEntry({ path: toPhysicalPath(key), content }, { modifiedAt: 0 });
  }
  yield packJson(ARCHIVE_PATHS.totals, totals);
  yield TAR_END;
}

async function* packMemory(
  {
    storage,
    inspection,
    selected,
  }: { storage: Storage; inspection: InspectionStore; selected: ScopeSelection },
  manifest: Omit<ArchiveManifest, 'format' | 'version'>,
): AsyncGenerator<Buffer, void> {
  const totals: ArchiveTotals = { files: 0, deleted: 0, revisions: 0, bytes: 0 };
  yield packManifest(manifest);
  for await (const each of listScopes(inspection, selected)) {
    const exported: ExportedVersions = new Map();
    for await (const { path } of listScopeFiles(inspection, each)) {
      const file = await storage.files.get({ scope: each, path });
      if (file === null || (file.content === null && !manifest.history)) continue;
      if (file.content !== null) {
        const entry = { path: toPhysicalPath(file), content: Buffer.from(file.content) };
        totals.files += 1;
        totals.bytes += entry.content.length;
        yield packEntry(entry, { modifiedAt: file.updatedAt });
      } else totals.deleted += 1;
      if (manifest.history) yield* packHistory(storage, file, { totals, exported });
    }
    if (exported.size > 0) yield* packChain({ storage, inspection }, each, exported);
  }
  yield packJson(ARCHIVE_PATHS.totals, totals);
  yield TAR_END;
}

/** Packs the history of a file, newest first, in parts of bounded size. */
async function* packHistory(
  storage: Storage,
  file: FileState,
  { totals, exported }: { totals: ArchiveTotals; exported: ExportedVersions },
): AsyncGenerator<Buffer, void> {
  const path = toPhysicalPath(file);
  const { version, createdAt, hash, chainRows, chainBytes, lineageId } = file;
  let part = 1;
  let lines: string[] = [];
  let characters = 0;
  const pack = (last: boolean): Buffer => {
    const head: HistoryHead = {
      path,
      part,
      last,
      ...(part === 1
        ? {
            file: { version, createdAt: toTime(createdAt), hash, chainRows, chainBytes, lineageId },
          }
        : {}),
    };
    const name = `${ARCHIVE_PATHS.history}${path}/${part}.jsonl`;
    const packed = packLines(name, [JSON.stringify(head), ...lines], file.updatedAt);
    part += 1;
    lines = [];
    characters = 0;
    return packed;
  };
  for await (const line of readHistory(storage, file)) {
    // Before the line and not after it: a part must know whether it is the last one.
    if (lines.length >= PART_LINES || characters >= PART_CHARACTERS) yield pack(false);
    const text = JSON.stringify(line);
    lines.push(text);
    characters += text.length;
    totals.revisions += 1;
    exported.set(file.fileNo, { path, newest: file.version, oldest: line.version });
  }
  yield pack(true);
}

/** The versions whose revisions are in an archive, by the number of their file. */
type ExportedVersions = Map<number, { path: string; newest: number; oldest: number }>;

/** Packs the chain of a scope: its head, and the revisions that the histories lack. */
async function* packChain(
  { storage, inspection }: { storage: Storage; inspection: InspectionStore },
  scope: ScopeKey,
  exported: ExportedVersions,
): AsyncGenerator<Buffer, void> {
  const state = await inspection.scope(scope);
  if (state === null) return;
  const path = toPhysicalPath({ scope, path: '' });
  let part = 1;
  let lines: string[] = [];
  const pack = (last: boolean): Buffer => {
    const { chainHead, chainAfter } = state;
    const head: ChainHead = { path, part, last, head: chainHead, after: chainAfter };
    const name = `${ARCHIVE_PATHS.chain}${path}${part}.jsonl`;
    const packed = packLines(name, [JSON.stringify(head), ...lines], state.lastWriteAt ?? 0);
    part += 1;
    lines = [];
    return packed;
  };
  const stores = { revisions: storage.revisions, inspection };
  for await (const { entry, place } of walkChain(stores, scope, toChainStart(state))) {
    // Written after the head was read.
    if (place.hash === state.chainHead) break;
    const versions = exported.get(entry.fileNo);
    const { id, version } = entry;
    // What a prune added is no revision of the file.
    const isBase = entry.type === 'pruned' && entry.contentHash !== null;
    const isExported =
      versions !== undefined && version >= versions.oldest && version <= versions.newest;
    if (isExported && !isBase) continue;
    const rowHash = entry.type === 'kept' ? chainedHash(entry) : entry.rowHash;
    if (lines.length >= PART_LINES) yield pack(false);
    const base = isBase ? toBase(entry, versions) : null;
    const shown = entry.type === 'pruned' ? entry.shown : null;
    const line: ChainLine = {
      id,
      previousHash: place.hash,
      rowHash,
      ...(base && { base }),
      ...(shown && { shown: [...shown] }),
    };
    lines.push(JSON.stringify(line));
  }
  yield pack(true);
}

/** What an entry of a prune says of the content before the oldest exported revision of a file. */
function toBase(
  { version, contentHash, contentSalt }: PrunedRevision,
  file: { path: string; oldest: number } | undefined,
): ChainLine['base'] | null {
  if (contentHash === null || contentSalt === null) return null;
  // Pruned further after the history was read, or not in the archive.
  if (file?.oldest !== version + 1) return null;
  return { path: file.path, version, hash: contentHash, salt: contentSalt };
}

/** The revisions of a file up to its version, newest first, until the oldest that is not pruned. */
async function* readHistory(storage: Storage, file: FileState): AsyncGenerator<HistoryLine, void> {
  const key: FileKey = { scope: file.scope, path: file.path };
  let expected = file.version;
  for (let after: PageRequest['after'] = null; ;) {
    const page = await listNewest(storage, file, after);
    // Written after the file was read.
    const revisions = page.items.filter((revision) => revision.version <= file.version);
    for (const some of chunk(revisions, STEPS_READ)) {
      const [newest, oldest] = [some[0], some.at(-1)] as [RevisionRecord, RevisionRecord];
      const range = { after: oldest.version - 1, upTo: newest.version };
      const steps = new Map(
        (await storage.revisions.steps(key, range)).map((step) => [step.version, step]),
      );
      for (const revision of some) {
        const step = steps.get(revision.version);
        // Pruned in between, with all that are older.
        if (step === undefined || revision.version !== expected) return;
        expected -= 1;
        const {
          path: _path,
          userId: _userId,
          spaceId: _spaceId,
          merged: _merged,
          ...shown
        } = toAdminRevision(revision);
        yield {
          ...shown,
          lineageId: revision.lineageId,
          keyId: revision.keyId,
          commitId: revision.commitId,
          hash: revision.hash,
          contentSalt: revision.contentSalt,
          contentSeal: revision.contentSeal,
          previousHash: revision.previousHash,
          chainHash: revision.chainHash,
          hashFormat: revision.hashFormat as NonNullable<HistoryLine['hashFormat']>,
          rowHash: revision.rowHash,
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

function packManifest({ history, ...owner }: Omit<ArchiveManifest, 'format' | 'version'>): Buffer {
  const version = ARCHIVE_VERSION;
  const manifest: ArchiveManifest = { format: 'memory-service', version, ...owner, history };
  return packJson(ARCHIVE_PATHS.manifest, manifest);
}

function packJson(path: string, value: object): Buffer {
  return packLines(path, [JSON.stringify(value, null, 2)], 0);
}

function packLines(path: string, lines: readonly string[], modifiedAt: number): Buffer {
  return packEntry({ path, content: Buffer.from(`${lines.join('\n')}\n`) }, { modifiedAt });
}
