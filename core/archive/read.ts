import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FileKey, FileState, NewRevision } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';
import { parseHostActor } from '../files/actor.ts';
import { checkContent, checkReason, hashText, NO_CONTENT } from '../files/content.ts';
import { parsePhysicalPath, toFilteredScope, toPhysicalPath } from '../files/paths.ts';
import { ForeignJsonError, foreignJsonSteps, type JsonLimits } from '../encoding/foreign-json.ts';
import { HistoryCheck, type HistoryProblem } from '../history/check-history.ts';
import { encodeDelta } from '../history/delta/codec.ts';
import { toIdMs } from '../ids/id-time.ts';
import { isUuid, isUuid7 } from '../ids/ids.ts';
import { createPause, inSlices, type Pause } from '../time/pause.ts';
import {
  ARCHIVE_VERSION,
  ArchiveManifest,
  ArchiveTotals,
  ChainHead,
  ChainLine,
  HistoryHead,
  HistoryLine,
  MAX_WRITES_PER_MS,
  type SkippedItem,
} from '../schemas/archive.ts';
import { compileSchema } from '../schemas/validate.ts';
import { parseTime } from '../time/time.ts';
import { ARCHIVE_PATHS, PART_LINES } from './export.ts';
import { invalidArchive } from './invalid-archive.ts';
import { type ArchivedChain, ChainReader } from './read-chain.ts';
import { decodeText, quote, readTar, type TarEntry } from './tar.ts';
import { takeStart } from '../encoding/take-text.ts';

/** What bounds the work on an archive, whatever it holds. */
export const ARCHIVE_LIMITS = {
  /** Bytes as they are sent. */
  packedBytes: 8 * 1024 ** 3,
  /** Bytes when unpacked. */
  bytes: 64 * 1024 ** 3,
  entries: 10_000_000,
  /** Unpacked bytes for each packed one, above the first 64 MB. Text has 3 to 40. */
  ratio: 250,
  ratioFloor: 64 * 1024 ** 2,
  /** Bytes of one part of a history, or eight times a file's limit if that is more. */
  partBytes: 16 * 1024 ** 2,
  /** Bytes of a file of a folder: the most that the setting of a file's limit can be. */
  fileBytes: 64 * 1024 ** 2,
} as const;

/** How far the clock of another service may be ahead. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

/** A revision without the number of its file, which belongs to one database. */
export type ArchivedRevision = Omit<NewRevision, 'fileNo'>;

/** The row of an archived file, as far as it does not belong to one database. */
export type ArchivedState = Omit<FileState, 'fileNo'>;

/** A file of an archive. */
export interface ArchivedFile {
  type: 'file';
  key: FileKey;
  /** `null` for a deleted file. */
  content: string | null;
  /** `null` in an archive without history. */
  state: ArchivedState | null;
  /** The newest revisions first; more may follow as {@link OlderRevisions}. */
  revisions: readonly ArchivedRevision[];
}

/** Older revisions of the file before, newest first. */
export interface OlderRevisions {
  type: 'older';
  key: FileKey;
  revisions: readonly ArchivedRevision[];
}

/** Reads the compressed bytes from their start; called for each pass. */
export type OpenArchive = () => Readable;

const checkManifest = compileSchema<ArchiveManifest>(ArchiveManifest);
const checkTotals = compileSchema<ArchiveTotals>(ArchiveTotals);
const checkHead = compileSchema<HistoryHead>(HistoryHead);
const checkChainHead = compileSchema<ChainHead>(ChainHead);
const checkChainLine = compileSchema<ChainLine>(ChainLine);
const checkLine = compileSchema<HistoryLine>(HistoryLine);

/** How an archive is read. */
export interface ReadOptions {
  maxFileBytes: number;
  now: number;
  /**
   * For a folder that was packed, and for what was made of an export of another program: is told of a file
   * that memory does not take, which is left out. Without it, the archive is refused as a whole.
   */
  onBadFile?: ((file: SkippedItem) => void) | undefined;
}

/**
 * Reads an archive of this service and checks all of it: the order and the paths of its entries,
 * contents against hashes, each revision against the one before it, the totals at its end. Throws
 * `INVALID_ARCHIVE` at the first thing that is wrong, and `PAYLOAD_TOO_LARGE` for a file or an
 * archive above the limits. It holds one file and one part of a history in memory at a time.
 */
export async function* readArchive(
  open: OpenArchive,
  { maxFileBytes, now, onBadFile }: ReadOptions,
): AsyncGenerator<ArchivedFile | OlderRevisions | ArchivedChain, ArchiveManifest> {
  const entries = readTar(decompress(open()), {
    entries: ARCHIVE_LIMITS.entries,
    entryBytes(path) {
      const isFile = path.startsWith('users/') || path.startsWith('shared/');
      // A file above its limit is read in part at most, and gets an error of its own.
      const most = onBadFile === undefined ? ARCHIVE_LIMITS.partBytes : ARCHIVE_LIMITS.fileBytes;
      if (isFile) return Math.max(maxFileBytes, most);
      return Math.max(8 * maxFileBytes, ARCHIVE_LIMITS.partBytes);
    },
  });
  const first = await entries.next();
  if (first.done === true || first.value.path !== ARCHIVE_PATHS.manifest) {
    throw invalidArchive(`The archive does not start with ${ARCHIVE_PATHS.manifest}.`);
  }
  const manifest = await parseManifest(first.value.content);
  const pause = createPause();
  const reader = new EntryReader(manifest, { maxFileBytes, now, onBadFile, pause });
  for await (const entry of entries) {
    await pause();
    if (entry.path === ARCHIVE_PATHS.totals) {
      await reader.readTotals(entry);
      const more = await entries.next();
      if (more.done !== true) {
        throw invalidArchive(`${quote(more.value.path)} stands after ${ARCHIVE_PATHS.totals}.`);
      }
      return manifest;
    }
    const item = await reader.read(entry);
    if (item !== null) yield item;
  }
  throw invalidArchive(`The archive is cut off: ${ARCHIVE_PATHS.totals} is missing.`);
}

/** Reads the entries of an archive after its manifest, in their order, and counts what they hold. */
class EntryReader {
  readonly #manifest: ArchiveManifest;
  readonly #options: Omit<ReadOptions, 'now'>;
  readonly #context: { latest: number; pause: Pause };
  readonly #order: PathOrder;
  readonly #totals: ArchiveTotals = { files: 0, deleted: 0, revisions: 0, bytes: 0 };
  /** A file whose history comes next. */
  #content: { key: FileKey; text: string } | null = null;
  #history: HistoryReader | null = null;
  #chain: ChainReader | null = null;

  constructor(
    manifest: ArchiveManifest,
    { now, pause, ...options }: ReadOptions & { pause: Pause },
  ) {
    this.#manifest = manifest;
    this.#options = options;
    this.#context = { latest: now + CLOCK_SKEW_MS, pause };
    this.#order = new PathOrder(manifest);
  }

  /** `null` for an entry that gives no item by itself, or that was left out. */
  async read(entry: TarEntry): Promise<ArchivedFile | OlderRevisions | ArchivedChain | null> {
    if (entry.path.startsWith(ARCHIVE_PATHS.history)) return await this.#readHistory(entry);
    this.#checkHistoryEnded();
    if (entry.path.startsWith(ARCHIVE_PATHS.chain)) return await this.#readChain(entry);
    return this.#readFile(entry);
  }

  /** Checks the last entry. */
  async readTotals(entry: TarEntry): Promise<void> {
    this.#checkHistoryEnded();
    this.#checkHasHistory();
    this.#checkChainEnded();
    const written = await parseJson(entry.content, checkTotals, entry.path);
    for (const name of Object.keys(this.#totals) as (keyof ArchiveTotals)[]) {
      if (this.#totals[name] === written[name]) continue;
      throw invalidArchive(
        `${ARCHIVE_PATHS.totals} says ${written[name]} ${name}; the archive holds ${this.#totals[name]}.`,
      );
    }
  }

  #readFile(entry: TarEntry): ArchivedFile | null {
    this.#checkHasHistory();
    const { maxFileBytes, onBadFile } = this.#options;
    const hasHistory = this.#manifest.history;
    this.#totals.files += 1;
    this.#totals.bytes += entry.content.length;
    const fault = onBadFile === undefined || hasHistory ? null : findFault(entry, maxFileBytes);
    if (fault !== null) {
      onBadFile?.({ item: entry.path, reason: fault });
      return null;
    }
    const key = this.#order.next(entry.path);
    const text = decodeText(entry.content, quote(entry.path));
    named(entry.path, () => checkContent(text, maxFileBytes));
    if (!hasHistory) return { type: 'file', key, content: text, state: null, revisions: [] };
    this.#content = { key, text };
    return null;
  }

  async #readHistory(entry: TarEntry): Promise<ArchivedFile | OlderRevisions> {
    if (!this.#manifest.history) {
      throw invalidArchive(`${quote(entry.path)} is a history; the manifest says there is none.`);
    }
    const [headLine = '', ...lines] = splitLines(entry);
    if (lines.length > PART_LINES) {
      throw invalidArchive(`${quote(entry.path)} has more than ${PART_LINES} revisions.`);
    }
    const head = await parseJson(headLine, checkHead, entry.path);
    if (entry.path !== `${ARCHIVE_PATHS.history}${head.path}/${head.part}.jsonl`) {
      throw invalidArchive(`${quote(entry.path)} names another file or part.`);
    }
    const file = head.file === undefined ? null : this.#beginHistory(head.path, head.file);
    const history = this.#history;
    if (history === null) throw invalidArchive(`${quote(entry.path)} lacks the part before it.`);
    const maxText = Math.max(8 * this.#options.maxFileBytes, entry.content.length);
    const revisions = await history.read(head, lines, { maxText });
    this.#totals.revisions += revisions.length;
    for (const revision of revisions) this.#chain?.add(revision, history.path);
    const base = history.base();
    if (base !== null) this.#chain?.addOldest(history.path, base.version, base.content);
    if (file === null) return { type: 'older', key: history.key, revisions };
    return { ...file, state: history.toState(), revisions };
  }

  /** Begins the history of the file before it, or of a deleted one. */
  #beginHistory(
    path: string,
    facts: NonNullable<HistoryHead['file']>,
  ): Omit<ArchivedFile, 'revisions'> {
    this.#checkHistoryEnded();
    const given = this.#content;
    if (given !== null && toPhysicalPath(given.key) !== path) throw lacksHistory(given.key);
    const key = given?.key ?? this.#order.next(path);
    if (given === null) this.#totals.deleted += 1;
    if (this.#chain?.scope !== key.scope) {
      this.#checkChainEnded();
      const scopePath = toPhysicalPath({ scope: key.scope, path: '' });
      this.#chain = new ChainReader(key.scope, { path: scopePath, ...this.#context });
    }
    const content = given?.text ?? null;
    this.#history = new HistoryReader(key, content, { ...this.#context, ...facts });
    this.#content = null;
    return { type: 'file', key, content, state: null };
  }

  async #readChain(entry: TarEntry): Promise<ArchivedChain> {
    const [headLine = '', ...lines] = splitLines(entry);
    const head = await parseJson(headLine, checkChainHead, entry.path);
    this.#checkHasHistory();
    const isNamed = entry.path === `${ARCHIVE_PATHS.chain}${head.path}${head.part}.jsonl`;
    if (this.#chain === null || !isNamed || lines.length > PART_LINES) {
      throw invalidArchive(`${quote(entry.path)} is out of place, or names another scope.`);
    }
    const parsed: ChainLine[] = [];
    for (const line of lines) parsed.push(await parseJson(line, checkChainLine, entry.path));
    return await this.#chain.read(head, parsed);
  }

  #checkHasHistory(): void {
    if (this.#content !== null) throw lacksHistory(this.#content.key);
  }

  #checkHistoryEnded(): void {
    if (this.#history?.isOpen !== true) return;
    throw invalidArchive(`The history of ${quote(this.#history.path)} is not complete.`);
  }

  #checkChainEnded(): void {
    if (this.#chain?.isOpen !== true) return;
    throw invalidArchive(`The chain of ${quote(this.#chain.path)} is missing.`);
  }
}

/** Why memory does not take a file by itself; `null` where it does. */
function findFault({ path, content }: TarEntry, maxFileBytes: number): string | null {
  try {
    parsePhysicalPath(path);
    checkContent(decodeText(content, 'The content'), maxFileBytes);
    return null;
  } catch (error) {
    if (error instanceof MemoryError) return error.message;
    throw error;
  }
}

/** Checks that files come in the order of an export, each once, and of the named memory alone. */
class PathOrder {
  readonly #only: FileKey['scope'] | null;
  #last: FileKey | null = null;

  constructor(manifest: ArchiveManifest) {
    this.#only = toFilteredScope(manifest);
  }

  next(path: string): FileKey {
    let key: FileKey;
    try {
      key = parsePhysicalPath(path);
    } catch (error) {
      const reason = error instanceof MemoryError ? ` ${error.message}` : '';
      throw invalidArchive(`${quote(path)} is not the path of a memory file.${reason}`, error);
    }
    if (this.#only !== null && key.scope !== this.#only) {
      throw invalidArchive(`${quote(path)} belongs to other memory than the manifest says.`);
    }
    const last = this.#last;
    if (last !== null && compareKeys(last, key) >= 0) {
      throw invalidArchive(`${quote(path)} comes twice, or is not in the order of an export.`);
    }
    this.#last = key;
    return key;
  }
}

/** The order of an export: shared memory first, then spaces, then users, each by the bytes of their paths. */
export function compareKeys(one: FileKey, other: FileKey): number {
  if (one.scope !== other.scope) return compareBytes(one.scope, other.scope);
  return compareBytes(one.path, other.path);
}

function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

interface HistoryContext extends NonNullable<HistoryHead['file']> {
  latest: number;
  pause: Pause;
}

/** Follows the history of one file from its content back, part by part. */
class HistoryReader {
  readonly key: FileKey;
  readonly path: string;
  isOpen = true;
  readonly #context: HistoryContext;
  readonly #head: string | null;
  #newest: ArchivedRevision | null = null;
  #parts = 0;
  #rows = 0;
  readonly #check: HistoryCheck;
  #oldest: ArchivedRevision | null = null;
  #maxText = 0;

  constructor(key: FileKey, content: string | null, context: HistoryContext) {
    this.key = key;
    this.path = toPhysicalPath(key);
    this.#context = context;
    this.#head = content;
    this.#check = new HistoryCheck({ content, version: context.version });
    if (hashText(content ?? '') !== context.hash) {
      throw invalidArchive(`${quote(this.path)} does not have the content that its history names.`);
    }
  }

  /**
   * The revisions of a part. `maxText` is the most characters of a content: each line costs work in
   * proportion to it, and small deltas could make it grow from part to part.
   */
  async read(
    head: HistoryHead,
    lines: readonly string[],
    { maxText }: { maxText: number },
  ): Promise<ArchivedRevision[]> {
    this.#parts += 1;
    this.#maxText = maxText;
    this.#checkLength(this.#check.before);
    if (!this.isOpen || head.path !== this.path || head.part !== this.#parts) {
      throw invalidArchive(`Part ${head.part} of ${quote(head.path)} is out of order.`);
    }
    const revisions: ArchivedRevision[] = [];
    for (const line of lines) {
      revisions.push(this.#next(await parseJson(line, checkLine, this.path)));
      await this.#context.pause();
    }
    if (head.last) this.isOpen = false;
    if (this.#newest === null || (revisions.length === 0 && head.part > 1)) {
      throw invalidArchive(`The history of ${quote(this.path)} has an empty part.`);
    }
    if (head.last) this.#finish();
    return revisions;
  }

  /** The row of the file with the revisions so far. */
  toState(): ArchivedState {
    const { version, createdAt, chainRows, chainBytes, lineageId = null } = this.#context;
    const newest = this.#newest as ArchivedRevision;
    const facts = this.#head === null ? NO_CONTENT : checkContent(this.#head, Infinity);
    return {
      ...this.key,
      version,
      size: facts.size,
      lines: facts.lines,
      hash: facts.hash,
      content: this.#head,
      deletedAt: this.#head === null ? newest.at : null,
      createdAt: this.#parseTime(createdAt),
      updatedAt: newest.at,
      revisions: this.#rows,
      writes: version,
      latestActor: newest.actor,
      latestRevisionId: newest.id,
      lineageId,
      chainRows,
      chainBytes,
    };
  }

  #next(line: HistoryLine): ArchivedRevision {
    const revision = this.#toRevision(line);
    if (revision.keyframe !== null) checkText(revision.keyframe, this.path);
    this.#throwFirst(this.#check.next(revision, revision));
    const { before } = this.#check;
    if (typeof before === 'string') checkText(before, this.path);
    this.#checkLength(before);
    this.#newest ??= revision;
    this.#oldest = revision;
    this.#rows += 1;
    return revision;
  }

  /** The content before the oldest revision, once all are read; `null` where there is none. */
  base(): { version: number; content: string } | null {
    const { before } = this.#check;
    const oldest = this.#oldest;
    if (this.isOpen || oldest === null || oldest.redactedBefore) return null;
    return typeof before === 'string' ? { version: oldest.version - 1, content: before } : null;
  }

  #finish(): void {
    this.#throwFirst(this.#check.end());
    const createdAt = this.#parseTime(this.#context.createdAt);
    if (createdAt > (this.#oldest?.at ?? createdAt)) {
      throw invalidArchive(`${quote(this.path)} was created after its oldest revision.`);
    }
  }

  #throwFirst([first]: readonly HistoryProblem[]): void {
    if (first !== undefined) throw this.#wrong(first.version, first.what);
  }

  #checkLength(text: string | null | undefined): void {
    if ((text?.length ?? 0) > this.#maxText) throw unpacksToTooMuch();
  }

  #toRevision(line: HistoryLine): ArchivedRevision {
    const { version, id, actor, reason, tool, delta, at } = line;
    try {
      parseHostActor(actor);
      checkReason(reason ?? undefined);
    } catch (error) {
      throw invalidArchive(`Version ${version} of ${quote(this.path)} is not valid.`, error);
    }
    const ids = [id, line.toolCallId, line.runId, line.peerId];
    const hasIds = ids.every((each) => each === null || isUuid(each));
    const hasTrace = line.traceId === null || /^[0-9a-f]{32}$/.test(line.traceId);
    if (!hasIds || !isUuid7(id) || !hasTrace) {
      throw this.#wrong(version, 'has a malformed id');
    }
    if (toIdMs(id) > this.#context.latest) throw this.#wrong(version, 'is from the future');
    if (tool !== null && !/^[\w.:-]{1,128}$/.test(tool)) {
      throw this.#wrong(version, 'has a malformed tool');
    }
    const ms = this.#parseTime(at);
    if (version > MAX_WRITES_PER_MS * (ms + 1)) {
      throw this.#wrong(version, 'is greater than a file can have by then');
    }
    return {
      ...this.key,
      ...line,
      redactedBefore: line.redactedBefore ?? false,
      redactionId: line.redactionId ?? null,
      rowHash: line.rowHash ?? null,
      reverts: line.reverts ?? null,
      operator: line.operator ?? null,
      lineageId: line.lineageId ?? null,
      keyId: line.keyId ?? null,
      commitId: line.commitId ?? null,
      hashFormat: line.hashFormat ?? 1,
      at: ms,
      delta: delta === null ? null : this.#orBroken(version, () => encodeDelta(delta)),
    };
  }

  #orBroken<T>(version: number, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw invalidArchive(`Version ${version} of ${quote(this.path)} has a broken delta.`, error);
    }
  }

  #parseTime(text: string): number {
    const ms = parseTime(text, 'at');
    if (ms < 0) throw invalidArchive(`${quote(this.path)} has a time before 1970: ${text}.`);
    if (ms <= this.#context.latest) return ms;
    throw invalidArchive(`${quote(this.path)} has a time in the future: ${text}.`);
  }

  #wrong(version: number, what: string): MemoryError {
    return invalidArchive(`Version ${version} of ${quote(this.path)} ${what}.`);
  }
}

function checkText(text: string, path: string): void {
  if (text.isWellFormed() && !text.includes('\0')) return;
  throw invalidArchive(`The history of ${quote(path)} holds malformed text.`);
}

async function parseManifest(content: Buffer): Promise<ArchiveManifest> {
  const { format, version } = (await parseJson(
    content,
    (value) => value,
    ARCHIVE_PATHS.manifest,
  )) as {
    format?: unknown;
    version?: unknown;
  };
  if (format !== 'memory-service') {
    throw invalidArchive('The manifest is not one of a memory-service archive.');
  }
  if (version !== 1 && version !== ARCHIVE_VERSION) {
    throw invalidArchive(
      `The archive has the format version ${takeStart(JSON.stringify(version ?? null), 20)}; this service reads the versions 1 and ${ARCHIVE_VERSION}.`,
    );
  }
  return await parseJson(content, checkManifest, ARCHIVE_PATHS.manifest);
}

/** A delta of a file of many short lines has the most: its hunks are 70 characters each. */
const LINE_LIMITS: Partial<JsonLimits> = {
  // The parts of an archive have a limit of their own.
  chars: Infinity,
  depth: 8,
  containers: 300_000,
  keys: 2_000_000,
  values: 2_000_000,
};

async function parseJson<T>(
  text: Buffer | string,
  check: (value: unknown) => T,
  path: string,
): Promise<T> {
  try {
    const json = typeof text === 'string' ? text : decodeText(text, quote(path));
    const value = await inSlices(foreignJsonSteps(json, LINE_LIMITS));
    return check(value);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'INVALID_ARCHIVE') throw error;
    const isKnown = error instanceof MemoryError || error instanceof ForeignJsonError;
    const reason = isKnown ? error.message : 'It is not JSON.';
    throw invalidArchive(`${quote(path)} is not valid. ${reason}`, error);
  }
}

function splitLines({ path, content }: { path: string; content: Buffer }): string[] {
  const text = decodeText(content, quote(path));
  if (!text.endsWith('\n')) throw invalidArchive(`${quote(path)} is cut off.`);
  return text.slice(0, -1).split('\n');
}

/** Adds the path to an error about a content. */
function named<T>(path: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    throw new MemoryError(error.code, `${quote(path)}: ${error.message}`, {
      details: { ...error.details, path: takeStart(path, 700) },
    });
  }
}

function lacksHistory(key: FileKey): MemoryError {
  return invalidArchive(`${quote(toPhysicalPath(key))} is not followed by its history.`);
}

function unpacksToTooMuch(): MemoryError {
  return invalidArchive('The archive unpacks to too much: it is not one of an export.');
}

/** Unpacks a stream and stops at the limits, so that a small archive cannot become a huge one. */
export function decompress(packed: Readable): AsyncIterable<Buffer> {
  let packedBytes = 0;
  let bytes = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      packedBytes += chunk.length;
      done(null, chunk);
    },
  });
  const unpacked = pipeline(packed, counter, createGunzip(), () => undefined);
  return (async function* () {
    try {
      for await (const chunk of unpacked as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        const isBomb =
          bytes > ARCHIVE_LIMITS.ratioFloor && bytes > ARCHIVE_LIMITS.ratio * packedBytes;
        if (isBomb || bytes > ARCHIVE_LIMITS.bytes) {
          throw unpacksToTooMuch();
        }
        yield chunk;
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'Z_BUF_ERROR') throw invalidArchive('The archive is cut off.', error);
      if (code?.startsWith('Z_') === true) {
        throw invalidArchive('The archive is not gzip, or is damaged.', error);
      }
      throw error;
    }
  })();
}
