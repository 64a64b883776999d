import { setTimeout as sleep } from 'node:timers/promises';
import type {
  FileKey,
  FileState,
  PrunedRevision,
  RevisionRecord,
  RevisionStep,
  ScopeKey,
} from '../contracts/records.ts';
import type { IndexText, IndexView, Storage } from '../contracts/storage.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import { chunk } from '../lists/group-by.ts';
import { indexFile } from '../search/index/index-file.ts';
import { encodeFile, LENGTHS_TERM } from '../search/index/postings.ts';
import { openSegments, visitTerms } from '../search/index/read-segments.ts';
import { createSearchCaches } from '../search/search-caches.ts';
import { TOKENISER_VERSION } from '../search/text/tokenise.ts';
import { hashBase } from '../history/chain.ts';
import { HistoryCheck, type HistoryProblem } from '../history/check-history.ts';
import { hashText } from '../files/content.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { toIdMs } from '../ids/id-time.ts';
import { DOUBT_MS } from './look-again.ts';
import { assertGoesOn, readRows } from '../lists/page.ts';
import { createPause, inSlices } from '../time/pause.ts';
import type { Finding, Verification } from '../schemas/jobs.ts';
import { toTime } from '../time/time.ts';
import { verifyChain } from './verify-chain.ts';

/** Options of {@link verifyMemory}. */
interface VerifyOptions {
  /** Retention may have removed write rows of the access log from before this time. */
  accessLogSince?: number | null;
  /** Called with the number of verified files, and the number at the start. */
  progress?: (done: number, files: number) => void;
  /** Stops between two files with `SHUTTING_DOWN`. */
  signal?: AbortSignal;
}

const PAGE_ROWS = 500;
const MOST_FINDINGS = 1_000;
/** The most contents in memory at once. */
const CONTENTS_READ = 16;
/** Findings of these kinds mean that stored data is not what was written. */
const DAMAGE: ReadonlySet<Finding['invariant']> = new Set(['I1', 'I3', 'chain']);

/**
 * Verifies a memory scope by scope without changing it, even while it is in use. A problem must show
 * again in a second read, since a concurrent write may have caused it, and the first damage after some
 * seconds, since a disk may have failed for a moment. Unreadable data is a finding, and the rest is still
 * verified. Damage is noted with the storage, which is not ready from then on. Where there is none, the
 * storage is told to forget what it noted before.
 */
export async function verifyMemory(
  storage: Storage,
  options: VerifyOptions = {},
): Promise<Verification> {
  const verifier = new Verifier(storage, options);
  await verifier.countFiles();
  for await (const { scope } of listScopes(storage, verifier.onScopes)) {
    await verifier.verifyScope(scope);
  }
  await verifier.verifyDatabase();
  return verifier.end();
}

/** One verification: what it has found, and how much it has seen. */
class Verifier {
  readonly #storage: Storage;
  readonly #options: VerifyOptions;
  readonly #startedAt = performance.now();
  readonly #findings: Finding[] = [];
  readonly #result: Verification = {
    scopes: 0,
    files: 0,
    revisions: 0,
    unchained: 0,
    chainedSince: null,
    uncovered: 0,
    coveredSince: null,
    findings: this.#findings,
    found: 0,
  };
  #total = 0;
  #chainedAfter: string | null = null;
  #coveredLate: string | null = null;
  /** Whether there was neither damage nor unreadable data so far. */
  #isSound = true;

  constructor(storage: Storage, options: VerifyOptions) {
    this.#storage = storage;
    this.#options = options;
  }

  /** Counts the files for the progress; what can't be listed is reported later. */
  async countFiles(): Promise<void> {
    const scopes = listScopes(this.#storage, (error) => void unreadable(error, ''));
    for await (const { files } of scopes) this.#total += files;
    this.#options.progress?.(0, this.#total);
  }

  readonly onScopes: OnGap = (error, after) => {
    this.#addUnreadable(error, `scopes after ${after ?? 'the first'} cannot be listed`);
  };

  /** Verifies the files of a scope, then what must hold of all of them together. */
  async verifyScope(scope: ScopeKey): Promise<void> {
    const storage = this.#storage;
    this.#result.scopes += 1;
    const written = await this.#verifyFiles(scope);
    await this.#attempt(`the access log of ${scope} cannot be read`, () =>
      verifyAccess(storage, scope, { written, since: this.#options.accessLogSince ?? null }),
    );
    await this.#attempt(`the moves of ${scope} cannot be read`, () =>
      verifyMoves(storage, written),
    );
    await this.#attempt(`the history of ${scope} cannot be read`, () => this.#verifyChain(scope));
    await this.#attempt(`the files of ${scope} cannot be counted`, () =>
      this.#checkAgain(() => verifyCounts(storage, scope)),
    );
    await this.#attempt(`the search index of ${scope} cannot be read`, () =>
      this.#checkAgain(() => storage.index.snapshot((view) => verifyIndex(view, scope))),
    );
  }

  /** Looks for rows without an owner, and lets the database check itself. */
  async verifyDatabase(): Promise<void> {
    const { inspection } = this.#storage;
    const toFindings = (invariant: Finding['invariant'], messages: readonly string[] = []) =>
      messages.map((message) => ({ invariant, path: null, message }));
    await this.#attempt('rows without an owner cannot be looked for', async () =>
      toFindings('I5', await inspection?.orphans(MOST_FINDINGS)),
    );
    await this.#attempt('the database cannot be checked', async () =>
      toFindings('storage', await inspection?.problems?.()),
    );
  }

  end(): Verification {
    if (this.#isSound) this.#storage.liftDamage?.(this.#startedAt);
    this.#result.coveredSince = toIdTime(this.#coveredLate);
    this.#result.chainedSince = toIdTime(this.#chainedAfter);
    return this.#result;
  }

  /** The revisions of a scope by id, once each file was verified with its own. */
  async #verifyFiles(scope: ScopeKey): Promise<Map<string, RevisionRecord>> {
    const { signal, progress } = this.#options;
    const written = new Map<string, RevisionRecord>();
    const onFiles: OnGap = (error, after) => {
      const last = after === null ? 'the first' : toPhysicalPath({ scope, path: after });
      this.#addUnreadable(error, `files of ${scope} after ${last} cannot be listed`);
    };
    for await (const path of listPaths(this.#storage, scope, onFiles)) {
      if (signal?.aborted === true) throw new MemoryError('SHUTTING_DOWN');
      const key = { scope, path };
      const look = () => this.#verifyFile(key, written);
      await this.#attempt('cannot be read', look, toPhysicalPath(key));
      this.#result.files += 1;
      progress?.(Math.min(this.#result.files, this.#total), this.#total);
    }
    return written;
  }

  /** Adds the revisions of the file to `written`. */
  async #verifyFile(
    key: FileKey,
    written: Map<string, RevisionRecord>,
  ): Promise<readonly Finding[]> {
    let revisions: readonly RevisionRecord[] = [];
    let base: BaseFacts = NO_BASE;
    const found = await this.#checkAgain(async () => {
      const history = await readHistory(this.#storage, key);
      revisions = history?.revisions ?? [];
      if (history === null) return [];
      const checked = await checkHistory(history);
      base = checked.base;
      return checked.findings;
    });
    if (base.isUncovered) this.#result.uncovered += 1;
    if ((base.lateId ?? '') > (this.#coveredLate ?? '')) this.#coveredLate = base.lateId;
    for (const revision of revisions) written.set(revision.id, revision);
    this.#result.revisions += revisions.length;
    return found;
  }

  async #verifyChain(scope: ScopeKey): Promise<readonly Finding[]> {
    const chains: Awaited<ReturnType<typeof verifyChain>>[] = [];
    const found = await this.#checkAgain(async () => {
      chains.push(await verifyChain(this.#storage, scope));
      return chains.at(-1)?.found ?? [];
    });
    const { unchained = 0, after = null } = chains.at(-1) ?? {};
    this.#result.unchained += unchained;
    if ((after ?? '') > (this.#chainedAfter ?? '')) this.#chainedAfter = after;
    return found;
  }

  /** Adds what `look` finds; if it can't read, adds that. */
  async #attempt(
    what: string,
    look: () => Promise<readonly Finding[]>,
    path?: string,
  ): Promise<void> {
    try {
      this.#add(await look());
    } catch (error) {
      this.#addUnreadable(error, what, path);
    }
  }

  /** Looks again; after the first damage, once more after the seconds in which a disk may recover. */
  async #checkAgain(look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
    const found = await repeatCheck(look);
    if (!this.#isSound || !found.some(isDamage)) return found;
    await sleep(this.#storage.doubtMs?.() ?? DOUBT_MS);
    return await repeatCheck(look);
  }

  #addUnreadable(error: unknown, what: string, path?: string): void {
    this.#add([unreadable(error, what, path)]);
    this.#storage.noteDamage?.(toMemoryError(error));
  }

  #add(more: readonly Finding[]): void {
    this.#result.found += more.length;
    this.#findings.push(...more.slice(0, MOST_FINDINGS - this.#findings.length));
    if (more.some(isDamage)) this.#storage.noteDamage?.(dataDamaged());
    if (more.some((finding) => isDamage(finding) || finding.invariant === 'storage')) {
      this.#isSound = false;
    }
  }
}

/** When a UUID of version 7 was made. */
function toIdTime(id: string | null): string | null {
  return id === null ? null : toTime(toIdMs(id));
}

function isDamage({ invariant }: Finding): boolean {
  return DAMAGE.has(invariant);
}

function dataDamaged(): MemoryError {
  return new MemoryError('STORAGE_DAMAGED', 'Stored data is not what was written.');
}

/** The finding for unreadable data. Throws retryable errors, which don't mean damage. */
function unreadable(thrown: unknown, what: string, path: string | null = null): Finding {
  const error = toMemoryError(thrown);
  if (error.retryable) throw error;
  return { invariant: 'storage', path, message: `${what}: ${error.message}` };
}

/** A file and its history, oldest first, from one snapshot. */
interface FileHistory {
  file: FileState;
  revisions: readonly RevisionRecord[];
  steps: readonly RevisionStep[];
  /** What prunes left, read after the rest. */
  bases: readonly PrunedRevision[];
}

/** What is known of the text before the oldest revision of a file. */
interface BaseFacts {
  /** It is there, and under no hash. */
  isUncovered: boolean;
  /** The id of its hash, where that was made some time after the prune. */
  lateId: string | null;
}

const NO_BASE: BaseFacts = { isUncovered: false, lateId: null };

/** Checks I1, I2, I3 and I8 for a file, back to its oldest revision. */
async function checkHistory(
  history: FileHistory,
): Promise<{ findings: Finding[]; base: BaseFacts }> {
  const { file, revisions, steps } = history;
  const path = toPhysicalPath(file);
  const findings: Finding[] = [];
  const add = (invariant: Finding['invariant'], message: string) =>
    findings.push({ invariant, path, message });
  const newest = revisions.at(-1);
  if (file.writes !== file.version) {
    add('I2', `is at version ${file.version} after ${file.writes} writes`);
  }
  if (newest === undefined) add('I2', `is at version ${file.version}, and has no revision`);
  if (revisions.length !== file.revisions) {
    add('I2', `counts ${file.revisions} revisions of ${revisions.length}`);
  }
  if (newest !== undefined && newest.id !== file.latestRevisionId) {
    add('I8', 'names another revision than its newest');
  }
  if (newest !== undefined && newest.actor !== file.latestActor) add('I8', 'names another actor');
  if ((file.content === null) !== (file.deletedAt !== null)) {
    add('I1', 'is deleted and has content, or neither');
  }
  if (hashText(file.content ?? '') !== file.hash) add('I1', 'does not hold what was written last');
  const pause = createPause();
  const stepsByVersion = new Map(steps.map((step) => [step.version, step]));
  const check = new HistoryCheck(file);
  const addAll = (problems: readonly HistoryProblem[]) => {
    for (const { invariant, version, what } of problems)
      add(invariant, `version ${version} ${what}`);
  };
  for (const row of revisions.toReversed()) {
    await pause();
    addAll(check.next(row, stepsByVersion.get(row.version)));
  }
  addAll(check.end());
  return { findings, base: checkBases(history, check.before, add) };
}

/** Compares the texts of versions whose hashes prunes left with these hashes. */
function checkBases(
  { file, revisions, bases }: FileHistory,
  before: string | null | undefined,
  add: (invariant: Finding['invariant'], message: string) => void,
): BaseFacts {
  const [oldest] = revisions;
  if (oldest === undefined) return NO_BASE;
  const facts: BaseFacts = {
    isUncovered: oldest.version > 1 && oldest.existedBefore && !oldest.redactedBefore,
    lateId: null,
  };
  const byVersion = new Map(revisions.map((row) => [row.version, row]));
  for (const base of bases) {
    const { id, version, contentHash, rowHash } = base;
    const row = byVersion.get(version);
    const isOldest = version === oldest.version - 1;
    // Pruned further by a service of before.
    if (row === undefined && !isOldest) continue;
    const [isOwn, isLate] = [false, true].map(
      (late) => hashBase({ ...base, path: file.path }, { isLate: late }) === rowHash,
    );
    if (isOwn !== true && isLate !== true) {
      add('chain', `has another hash for version ${version} than a prune left`);
    }
    const isRedacted = row === undefined ? oldest.redactedBefore : row.redacted;
    const found = row === undefined && typeof before === 'string' ? hashText(before) : row?.hash;
    if (isRedacted || found !== contentHash) {
      add('I3', `has another content at version ${version} than when older ones were pruned`);
    }
    if (isOldest) Object.assign(facts, { isUncovered: false, lateId: isLate === true ? id : null });
  }
  return facts;
}

/** Repeats a check and keeps only findings that persist: a write may come between two reads. */
async function repeatCheck(look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  let last = await look();
  for (let again = 0; again < 3 && last.length > 0; again += 1) {
    const next = await look();
    const messages = new Set(next.map(({ message }) => message));
    const found = last.filter(({ message }) => messages.has(message));
    if (found.length === last.length) return next;
    last = found;
  }
  return last;
}

/** The history of a file; `null` if the file was erased after it was listed. */
async function readHistory(storage: Storage, key: FileKey): Promise<FileHistory | null> {
  const first = await storage.revisions.chain(key, 0);
  if (first === null) return null;
  const { file } = first;
  const steps = [...first.steps];
  for (let last = steps.at(-1); last !== undefined && last.version < file.version;) {
    const more = (await storage.revisions.chain(key, last.version))?.steps ?? [];
    steps.push(...more);
    last = more.at(-1);
  }
  const revisions: RevisionRecord[] = [];
  const filter = { scope: key.scope, path: key };
  for await (const revision of readRows((page) => storage.revisions.list(filter, page))) {
    if (revision.version <= file.version) revisions.push(revision);
  }
  revisions.sort((left, right) => left.version - right.version);
  const bases = (await storage.inspection?.bases?.(key)) ?? [];
  return { file, revisions, steps, bases };
}

async function verifyAccess(
  storage: Storage,
  scope: ScopeKey,
  { written, since }: { written: ReadonlyMap<string, RevisionRecord>; since: number | null },
): Promise<Finding[]> {
  const lacking = new Map([...written].filter(([, { at }]) => since === null || at >= since));
  // Read after the revisions, so that each has its row by now.
  const filter = { scope, action: 'write' } as const;
  for await (const row of readRows((page) => storage.log.listAccess(filter, page))) {
    if (row.outcome === 'ok' && row.revisionId !== null) lacking.delete(row.revisionId);
  }
  return [...lacking.values()].map((revision) => ({
    invariant: 'I6',
    path: toPhysicalPath(revision),
    message: `has no access row of the write of version ${revision.version}`,
  }));
}

async function verifyMoves(
  storage: Storage,
  written: ReadonlyMap<string, RevisionRecord>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const revision of written.values()) {
    if (revision.peerId === null) continue;
    const peer = written.get(revision.peerId) ?? (await storage.revisions.get(revision.peerId));
    // The other path's history may have been pruned.
    if (peer === null || peer.peerId === revision.id) continue;
    const message = `at version ${revision.version} lacks the other half of its move`;
    findings.push({ invariant: 'whole', path: toPhysicalPath(revision), message });
  }
  return findings;
}

async function verifyCounts({ inspection }: Storage, scope: ScopeKey): Promise<Finding[]> {
  const state = (await inspection?.scope(scope)) ?? null;
  if (inspection === undefined || state === null) return [];
  const counted = { files: 0, bytes: 0, revisions: 0 };
  const files = listByKey((after, limit) => inspection.files(scope, { after, limit }), {
    keyOf: ({ path }) => path,
    onGap(error) {
      throw error;
    },
  });
  for await (const file of files) {
    counted.revisions += file.revisions;
    if (file.deletedAt !== null) continue;
    counted.files += 1;
    counted.bytes += file.size;
  }
  return (['files', 'bytes', 'revisions'] as const)
    .filter((what) => state[what] !== counted[what])
    .map((what) => {
      const message = `${scope} counts ${state[what]} ${what} of ${counted[what]}`;
      return { invariant: 'whole', path: null, message };
    });
}

async function verifyIndex(view: IndexView, scope: ScopeKey): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add = (path: string | null, message: string) =>
    findings.push({ invariant: 'I4', path, message });
  const [opened] = await view.open([scope]);
  // An index of another tokeniser version is rebuilt in the background, old postings are copied.
  const { format, copiedTo } = opened?.state ?? { format: null, copiedTo: null };
  const isOld = copiedTo !== null && copiedTo >= 0;
  if (opened === undefined || isOld || (format !== null && format !== TOKENISER_VERSION)) return [];
  const pause = createPause();
  const stale = new Set(opened.stale.map(({ fileNo }) => fileNo));
  const options = { caches: createSearchCaches(), pause };
  const segments = await openSegments(view, { scope, opened, known: null }, options).catch(
    (error: unknown) => {
      findings.push(unreadable(error, `the segments of ${scope} cannot be read`));
    },
  );
  if (segments === undefined) return findings;
  if (segments === null) {
    add(null, `a segment of ${scope} is damaged`);
    return findings;
  }
  // Files with unreadable text, whose expected postings are unknown.
  const damaged = new Set<number>();
  const paths = new Map<number, string>();
  /** By file and term, until they are found. */
  const expected = new Map<number, Map<string, Uint8Array>>();
  const files = await view.listFiles(scope, '');
  const fileNos = files.map(({ fileNo }) => fileNo).filter((fileNo) => !stale.has(fileNo));
  for (const some of chunk(fileNos, CONTENTS_READ)) {
    for (const text of await readTexts(view, scope, { fileNos: some, damaged })) {
      const path = toPhysicalPath(text);
      paths.set(text.fileNo, path);
      const version = segments.lengths.versionOf(text.fileNo);
      if (version === null) add(path, 'is neither indexed nor behind');
      else if (version !== text.version) add(path, 'is indexed at another version');
      const indexed = await inSlices(indexFile(text.content ?? '', text.path), pause);
      const payloads = await inSlices(encodeFile(indexed), pause);
      expected.set(text.fileNo, payloads);
    }
  }
  const check = (fileNo: number, term: string, found: Uint8Array): void => {
    if (stale.has(fileNo) || damaged.has(fileNo)) return;
    const payload = expected.get(fileNo)?.get(term);
    expected.get(fileNo)?.delete(term);
    if (payload !== undefined && Buffer.compare(found, payload) === 0) return;
    add(paths.get(fileNo) ?? null, 'has other postings of a term than its text');
  };
  for (const [part, segment] of segments.segments.entries()) {
    for (const [place, fileNo] of segment.files.entries()) {
      const lengths = segment.lengthsAt(place);
      if (lengths !== null && segments.lengths.counts(part, place)) {
        check(fileNo, LENGTHS_TERM, lengths);
      }
    }
    await pause();
  }
  const all = { prefix: '', ...options };
  const isIntact = await visitTerms(view, segments, all, (term, row) => {
    const frames = row.frames();
    if (frames === null) add(null, `the postings of a term of ${scope} are damaged`);
    for (const { file, start, end } of frames ?? []) {
      check(file, term, row.bytes.subarray(start, end));
    }
  }).catch((error: unknown) => {
    findings.push(unreadable(error, `postings of ${scope} cannot be read`));
    return null;
  });
  if (isIntact === false) add(null, `a segment of ${scope} is damaged`);
  if (isIntact !== true) return findings;
  for (const [fileNo, payloads] of expected) {
    if (payloads.size > 0) add(paths.get(fileNo) ?? null, 'lacks postings of its text');
  }
  return findings;
}

/** Reads the texts of files and adds unreadable files to `damaged`. */
async function readTexts(
  view: IndexView,
  scope: ScopeKey,
  { fileNos, damaged }: { fileNos: readonly number[]; damaged: Set<number> },
): Promise<readonly IndexText[]> {
  try {
    return await view.readFiles(fileNos.map((fileNo) => ({ scope, fileNo })));
  } catch (error) {
    unreadable(error, '');
    const [only, ...others] = fileNos;
    if (only === undefined) return [];
    if (others.length === 0) {
      damaged.add(only);
      return [];
    }
  }
  const texts: IndexText[] = [];
  for (const fileNo of fileNos)
    texts.push(...(await readTexts(view, scope, { fileNos: [fileNo], damaged })));
  return texts;
}

/** Called when the rows after a key can't be read; rethrows errors that don't mean damage. */
type OnGap = (error: unknown, after: string | null) => void;

function listScopes(
  storage: Storage,
  onGap: OnGap,
): AsyncGenerator<{ scope: ScopeKey; files: number }, void> {
  return listByKey(
    (after, limit): Promise<readonly { scope: ScopeKey; files: number }[]> =>
      storage.inspection === undefined
        ? storage.index.listScopes(after as ScopeKey | null, limit)
        : storage.inspection.scopes(after as ScopeKey | null, limit),
    { keyOf: ({ scope }) => scope, onGap },
  );
}

async function* listPaths(
  storage: Storage,
  scope: ScopeKey,
  onGap: OnGap,
): AsyncGenerator<string, void> {
  const { inspection, files } = storage;
  const list = (after: string | null, limit: number): Promise<readonly { path: string }[]> =>
    inspection === undefined
      ? files.list(scope, { prefix: '', after, limit })
      : inspection.files(scope, { after, limit });
  for await (const { path } of listByKey(list, { keyOf: (file) => file.path, onGap })) yield path;
}

type ListByKey<T> = (after: string | null, limit: number) => Promise<readonly T[]>;

/** Yields all rows of a list and skips unreadable ones. */
async function* listByKey<T>(
  list: ListByKey<T>,
  { keyOf, onGap }: { keyOf: (row: T) => string; onGap: OnGap },
): AsyncGenerator<T, void> {
  let limit = PAGE_ROWS;
  for (let after: string | null = null; ;) {
    let page: readonly T[];
    try {
      page = await list(after, limit);
    } catch (error) {
      // Reads row by row up to the gap, then continues after it.
      if (limit === 1) {
        onGap(error, after);
        after = await findReadable(list, after ?? '');
        if (after === null) return;
      }
      limit = limit === 1 ? PAGE_ROWS : 1;
      continue;
    }
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    const next = keyOf(last);
    try {
      assertGoesOn(after, next);
    } catch (error) {
      onGap(error, after);
      return;
    }
    after = next;
  }
}

/**
 * Finds the next key from which a list is readable. Skips all keys that start with `key`, then tries
 * keys with ever shorter common prefixes. `null` if there is none.
 */
async function findReadable<T>(list: ListByKey<T>, key: string): Promise<string | null> {
  for (let length = key.length; length >= 0; length -= 1) {
    const first = key.charCodeAt(length);
    for (let code = Number.isNaN(first) ? FIRST_CODE : first; code <= LAST_CODE; code += 1) {
      const after = `${key.slice(0, length)}${String.fromCharCode(code)}${LAST_CHARACTER}`;
      try {
        await list(after, 1);
        return after;
      } catch (error) {
        unreadable(error, '');
      }
    }
  }
  return null;
}

/** The range of printable ASCII, with which scopes and most paths start. */
const FIRST_CODE = 0x20;
const LAST_CODE = 0x7e;
const LAST_CHARACTER = '\u{10ffff}';
