import { randomUUID } from 'node:crypto';
import type { ErasedReader } from '../../contracts/admin.ts';
import type { AuditCaller } from '../../contracts/plugin.ts';
import type { AuditRecord, FileKey, FileState, NewRevision } from '../../contracts/records.ts';
import type { Changes, Current } from '../../contracts/storage.ts';
import { listCopies, removeCopies } from '../../erase/copies.ts';
import { findImports, LONGEST_IMPORT_MS } from '../../archive/import-audit.ts';
import { toPendingSetting } from '../../erase/pending-receipt.ts';
import { DATABASE_FILE } from '../../erase/rewriter.ts';
import { takeStart } from '../../encoding/take-text.ts';
import { MemoryError } from '../../errors.ts';
import { pastHasMoved } from '../../files/admin-files.ts';
import { labelOf, toFilteredScope, toOwner, toPhysicalPath } from '../../files/paths.ts';
import { parsePage, readRows, toCursor } from '../../lists/page.ts';
import { nameLeftovers } from '../../maintenance/leftovers.ts';
import type { RedactedFile, RedactTextAnswer, RedactTextRequest } from '../../schemas/revisions.ts';
import type { Indexer } from '../../search/index/indexer.ts';
import type { AccessQueue } from '../../telemetry/access-queue.ts';
import { toAuditRecord } from '../../telemetry/audit.ts';
import { hashRow, sealBases, sealRedaction } from '../chain.ts';
import type { HistoryParts } from '../history-parts.ts';
import { isSamePast, requireErasure } from '../redact.ts';
import { findText } from '../text-search.ts';
import { walkFiles } from '../walk-files.ts';
import { isChangedRow, planPart, type RedactionPart } from './plan-part.ts';
import { createLeftNames, type LeftNames } from './left-names.ts';
import { findPlaces } from './places.ts';
import { addReaders } from './readers.ts';
import { redactRecords } from './redact-records.ts';
import { type Replacer } from './replacer.ts';
import { covers, type RedactionTarget, toTarget } from './target.ts';
import {
  type Begun,
  readBegun,
  toCheck,
  toRedactionKey,
  toRedactionSetting,
} from './unfinished.ts';

/** How long a page works before it answers; a file is never cut. */
const PAGE_MS = 4_000;
/** How often a part is planned again because the history changed meanwhile. */
const TRIES = 20;
/** How often what was written meanwhile is looked through. */
const LOOKS = 10;
/** How far the clocks of instances may differ. */
const SKEW_MS = 60_000;
const LINES_SHOWN = 5;
const LINE_CHARACTERS = 300;

const MAY_REMAIN = [
  'Backups, exports, copies in a git export, and folders that memory was exported to or is mounted in.',
  'Traces that were sent to an exporter, and logs.',
  'The providers of the model and of the embedder.',
  'Files that others wrote after they had read the files: the receipt lists them.',
  'For 24 hours, a hash of the arguments of the call that wrote it, if it had an idempotency key.',
  'Parts of the text that stand alone, as in a file that quotes half of it.',
];

const OPEN_IMPORT =
  'What an import writes that has not ended: ask for the redaction again once it has.';

/** What redacting a text needs. */
export interface RedactTextParts extends HistoryParts {
  accessQueue: Pick<AccessQueue, 'flush'>;
  indexer: Pick<Indexer, 'purge'>;
}

/** One page under way. */
interface Page {
  target: RedactionTarget;
  replacer: Replacer | null;
  begun: Begun | null;
  caller: AuditCaller;
  files: RedactedFile[];
  reasons: number;
  left: LeftNames;
  readers: Map<string, ErasedReader>;
  readersComplete: boolean;
}

/**
 * Replaces a text in present contents, in all past versions and in records, a page of files at a time.
 *
 * 1. The first page records that the redaction begins, without its text.
 * 2. Each page goes through files, and redacts each in transactions of up to 1,000 versions. An import that
 *    ends meanwhile has written versions of an earlier time, so it goes through all files once more.
 * 3. The last page redacts the records, looks through what was written since the beginning, redacts the
 *    revision that named the lines, waits for the index, and gives the receipt.
 */
export async function redactText(
  parts: RedactTextParts,
  request: RedactTextRequest,
  caller: AuditCaller,
): Promise<RedactTextAnswer> {
  const { storage } = parts;
  const erasure = requireErasure(storage);
  const { dryRun = false, removeCopies: goCopies = false } = request;
  const target = await toTarget(parts, request);
  const identity = {
    list: 'redact',
    sort: 'path',
    defaultOrder: 'asc' as const,
    // Without the text, as everywhere.
    filters: {
      in: target.in,
      path: target.path,
      userId: target.userId,
      spaceId: target.spaceId,
      lines: target.lines,
      dryRun,
    },
  };
  const place = parsePage(request, identity).after as Place | null;
  const [id = '', done = 0, scope = '', path = '', importsSince = toImportsSince(parts)] =
    place ?? [];
  const importsBefore = place?.[5] ?? (await findImports(storage, importsSince)).ended;
  const page: Page = {
    target,
    replacer: target.replacer,
    begun: dryRun
      ? null
      : await (place === null
          ? begin(parts, target, { request, caller })
          : find(parts, id, target)),
    caller,
    files: [],
    reasons: 0,
    left: createLeftNames(target.replacer?.isIn ?? (() => false)),
    readers: new Map(),
    readersComplete: true,
  };
  const from = scope === '' ? null : ({ scope, path } as FileKey);
  const { count, next } = await redactFiles(parts, page, { from });
  const files = done + count;
  const answer: RedactTextAnswer = {
    dryRun,
    id: page.begun?.id ?? null,
    files: page.files,
    records: { reasons: page.reasons, runs: 0, events: 0, answers: 0, audit: 0, notes: 0 },
    left: page.left.list(),
    readers: [...page.readers.values()],
    readersComplete: page.readersComplete,
    pending: [],
    copies: [],
    mayRemain: [],
    progress: { files },
    nextCursor: null,
  };
  const goOn = (from: FileKey | null, ended: number): RedactTextAnswer => {
    const id = page.begun?.id ?? '';
    const at: Place = [id, files, from?.scope ?? '', from?.path ?? '', importsSince, ended];
    return { ...answer, nextCursor: toCursor(at, request, identity) };
  };
  if (next !== null) return goOn(next, importsBefore);
  const imports = await findImports(storage, importsSince);
  // A preview that went through them twice would list each file twice.
  if (!dryRun && imports.ended > importsBefore) return goOn(null, imports.ended);
  await parts.accessQueue.flush();
  const records = await redactRecords(storage, erasure, page);
  if (page.begun !== null) {
    await lookAgain(parts, page, page.begun);
    if (target.kept !== null) await redactFile(parts, page, { key: target.kept, keep: null });
    await purgeIndex(parts, page.begun);
    await end(parts, page, { ...records, reasons: page.reasons });
  }
  const copies = goCopies && !dryRun ? await removeCopies(storage) : await listCopies(storage);
  return {
    ...answer,
    records: { ...records, reasons: page.reasons },
    left: page.left.list(),
    copies,
    pending: dryRun ? [] : await parts.rewriter.settle(),
    mayRemain: [
      ...(erasure.mayRemain ?? []),
      ...MAY_REMAIN,
      ...(imports.isOpen ? [OPEN_IMPORT] : []),
      ...(await nameLeftovers()),
    ],
  };
}

/**
 * Where a redaction goes on. `scope` and `path` name the next file; both are empty if it begins with the first one.
 * `importsEnded` is the number of imports since `importsSince` that had ended when it began with the first file.
 */
type Place = [
  id: string,
  files: number,
  scope: string,
  path: string,
  importsSince: number,
  importsEnded: number,
];

function toImportsSince({ now }: RedactTextParts): number {
  return now() - LONGEST_IMPORT_MS;
}

/** How far the clocks of those who write may differ: several instances do, unless the database is a file. */
function toSkew({ filename }: RedactTextParts['storage']): number {
  return filename === undefined ? SKEW_MS : 0;
}

/** Records that a redaction begins; finds the one that was cut off, if it is asked for again. */
async function begin(
  { storage, ids, now }: RedactTextParts,
  { in: where, path, userId, spaceId, lines, text }: RedactionTarget,
  { request, caller }: { request: RedactTextRequest; caller: AuditCaller },
): Promise<Begun> {
  const same = (await readBegun(storage)).find(
    (one) =>
      one.in === where &&
      one.path === path &&
      one.userId === userId &&
      (one.spaceId ?? null) === spaceId &&
      one.lines === lines &&
      (text === null || one.check === toCheck(one.id, text)),
  );
  if (same !== undefined) return same;
  const id = randomUUID();
  const begun: Begun = {
    id,
    in: where,
    path,
    userId,
    spaceId,
    lines,
    reason: request.reason,
    startedAt: now(),
    check: toCheck(id, text ?? ''),
    versions: 0,
    parts: 0,
  };
  const audit = toAuditRecord(ids, {
    action: 'memory.redact',
    target: toTargetName({ path, userId, spaceId }),
    details: { step: 'begin', id, in: where, reason: request.reason },
    ...caller,
  });
  const setting = toRedactionSetting(begun);
  await storage.mutate({ scopes: [], files: [], settings: [setting.key] }, () => ({
    result: null,
    writes: 0,
    changes: { audit: [audit], settings: [setting] },
  }));
  return begun;
}

/** What the audit calls the memory of a redaction. */
function toTargetName({ path, ...owner }: Pick<Begun, 'path' | 'userId' | 'spaceId'>): string {
  const scope = toFilteredScope(owner);
  return path ?? (scope === null ? 'all' : labelOf(scope));
}

/** The redaction that a cursor goes on with. It would end without its text if it went on with another one. */
async function find(
  { storage }: RedactTextParts,
  id: string,
  { text }: RedactionTarget,
): Promise<Begun> {
  const begun = (await readBegun(storage)).find((one) => one.id === id);
  if (begun === undefined) {
    throw new MemoryError(
      'INVALID_CURSOR',
      'This redaction has ended: ask for it without a cursor.',
    );
  }
  if (text === null || begun.check === toCheck(id, text)) return begun;
  throw new MemoryError('INVALID_CURSOR', 'The cursor is of the redaction of another text.');
}

/** Goes through files until the time of the page is over. */
async function redactFiles(
  parts: RedactTextParts,
  page: Page,
  { from }: { from: FileKey | null },
): Promise<{ count: number; next: FileKey | null }> {
  const { kept } = page.target;
  // The lines of the revision are redacted: only the end of the redaction was cut off.
  if (page.replacer === null) return { count: 0, next: null };
  const start = performance.now();
  let count = 0;
  for await (const file of walkTarget(parts, page.target, from)) {
    if (count > 0 && performance.now() - start > PAGE_MS) {
      return { count, next: { scope: file.scope, path: file.path } };
    }
    count += 1;
    const isKept = kept?.scope === file.scope && kept.path === file.path;
    const keep = isKept && page.begun !== null ? kept.version : null;
    await redactFile(parts, page, { key: file, keep });
  }
  return { count, next: null };
}

/** Goes through the files to redact; `from` is the file to go on with. */
async function* walkTarget(
  { storage }: RedactTextParts,
  { selection, places }: RedactionTarget,
  from: FileKey | null,
): AsyncGenerator<FileKey, void> {
  if (places === null) {
    yield* walkFiles(storage, selection, from);
    return;
  }
  const at = places.findIndex((one) => from?.scope === one.scope && from.path === one.path);
  yield* places.slice(Math.max(at, 0));
}

/** Redacts a file, part by part; in a dry run it only looks. */
async function redactFile(
  parts: RedactTextParts,
  page: Page,
  { key, keep }: { key: FileKey; keep: number | null },
): Promise<boolean> {
  const { replacer, begun } = page;
  if (replacer === null) return false;
  const found = toFoundFile(key);
  let hasFound = false;
  for (let tries = 0; ;) {
    const file = await parts.storage.files.get(key);
    if (file === null) break;
    page.left.note('paths', toPhysicalPath(file));
    const part = await planPart(parts, file, {
      replacer,
      keep,
      onlyLooks: begun === null,
      onFound: (one) => noteVersion(found, file, { ...one, replacer, target: page.target }),
      onRow({ actor, operator }) {
        page.left.note('actors', actor);
        page.left.note('operators', operator);
      },
    });
    if (part === null) break;
    if (begun === null) {
      page.reasons += part.reasons;
      hasFound = true;
      break;
    }
    try {
      found.version = (await writePart(parts, page, part)) ?? found.version;
      page.reasons += part.reasons;
      hasFound = true;
      tries = 0;
      // The transaction has seen that nothing came in between.
      if (part.isLast) break;
    } catch (error) {
      tries += 1;
      if (!isMoved(error) || tries === TRIES) throw error;
    }
  }
  if (!hasFound) return false;
  if (found.versions.size > 0) addFile(page, found);
  page.readersComplete =
    (await addReaders(parts.storage, key, page.readers)) && page.readersComplete;
  return true;
}

/** A file that is being looked through. */
interface FoundFile {
  path: string;
  userId: string | null;
  spaceId: string | null;
  versions: Set<number>;
  current: boolean;
  version: number | null;
  lines: RedactedFile['lines'];
}

function toFoundFile(key: FileKey): FoundFile {
  const facts = { path: toPhysicalPath(key), ...toOwner(key.scope) };
  return { ...facts, versions: new Set(), current: false, version: null, lines: [] };
}

/** Notes a version that has the text. A part that is planned again finds it again. */
function noteVersion(
  found: FoundFile,
  file: FileState,
  {
    version,
    content,
    replacer,
    target,
  }: { version: number; content: string | null; replacer: Replacer; target: RedactionTarget },
): void {
  if (content === null || target.text === null || found.versions.has(version)) return;
  found.versions.add(version);
  found.current ||= version === file.version;
  if (found.lines.length >= LINES_SHOWN) return;
  const masked = replacer.inContent(content).split('\n');
  for (const { line } of findText(content, target.text).lines) {
    if (found.lines.length >= LINES_SHOWN) return;
    const shown = (masked[line - 1] ?? '').replace(/\r$/, '');
    found.lines.push({ version, line, text: takeStart(shown, LINE_CHARACTERS) });
  }
}

function addFile(page: Page, { versions, ...file }: FoundFile): void {
  const all = [...versions];
  const known = page.files.find(({ path }) => path === file.path);
  const counts = {
    versions: all.length + (known?.versions ?? 0),
    fromVersion: Math.min(...all, known?.fromVersion ?? Infinity),
    toVersion: Math.max(...all, known?.toVersion ?? 0),
  };
  if (known === undefined) page.files.push({ ...file, ...counts });
  else Object.assign(known, counts, { version: file.version ?? known.version });
}

/** Writes a part in one transaction. Throws `RUN_STATE` if the history has moved since it was planned. */
async function writePart(
  { files, now }: RedactTextParts,
  { begun, caller }: Page,
  part: RedactionPart,
): Promise<number | null> {
  const { file, content } = part;
  const key = toRedactionKey(begun?.id ?? '');
  const { scope, path } = file;
  return await files.redact(
    { scope, path },
    {
      content,
      reason: begun?.reason ?? '',
      version: file.version,
      past: {
        versions: part.from.map(({ version }) => version),
        settings: [key],
        change: (current, own) => changePast(current, own, { part, key, now: now() }),
      },
    },
    caller,
  );
}

function changePast(
  current: Current,
  own: Changes,
  { part, key, now }: { part: RedactionPart; key: string; now: number },
): Changes {
  const { file, from, to, base } = part;
  const begun = current.setting(key)?.value as Begun | undefined;
  if (begun === undefined || !isSamePast(current.past(), from)) throw pastHasMoved();
  const { version, ...state } = current.scope(file.scope);
  const given = own.scopes?.[0] ?? { ...state, version: version + 1 };
  const isListed = (row: NewRevision, index: number) =>
    row.chainHash !== null && isChangedRow(from[index] as NewRevision, row);
  const listed = to.filter(isListed);
  const sealed = listed.length === 0 ? null : sealRedaction(given, listed, { now });
  const bases = base === null ? [] : [base];
  const based = sealBases(sealed?.scope ?? given, bases, { now, isLate: false });
  const redactionId = sealed?.redaction.id ?? null;
  const ids = new Set(listed.map(({ id }) => id));
  const past = to.map((row, index): NewRevision => {
    if (!ids.has(row.id)) return row;
    const rowHash = row.rowHash ?? hashRow(from[index] as NewRevision);
    return { ...row, rowHash, redactionId };
  });
  const changed = to.filter((row, index) => row.hash !== from[index]?.hash);
  const versions = [...changed.map((row) => row.version), ...bases.map((one) => one.version)];
  const range = { from: Math.min(...versions), upTo: Math.max(...versions) };
  return {
    ...own,
    scopes: [{ ...based.scope, redactions: based.scope.redactions + 1 }],
    past,
    pruned: [...(sealed === null ? [] : [sealed.redaction]), ...based.pruned],
    uncovered: versions.length === 0 ? [] : [{ scope: file.scope, fileNo: file.fileNo, ...range }],
    settings: [
      toRedactionSetting({
        ...begun,
        versions: begun.versions + part.found,
        parts: begun.parts + 1,
      }),
    ],
  };
}

/** Whether a write, a prune or another redaction came between the plan and its transaction. */
function isMoved(error: unknown): boolean {
  return (
    error instanceof MemoryError &&
    error.code === 'RUN_STATE' &&
    error.details?.['reason'] === 'past_moved'
  );
}

/** Looks through the files that somebody wrote since the redaction began, until none has the text. */
async function lookAgain(parts: RedactTextParts, page: Page, begun: Begun): Promise<void> {
  const { storage, now } = parts;
  const { selection, places, kept } = page.target;
  // A file may have been moved from one scope to another.
  const scope = places === null ? selection.scope : null;
  const skewMs = toSkew(storage);
  let since = begun.startedAt - skewMs;
  for (let look = 0; look < LOOKS; look += 1) {
    const next = now() - skewMs;
    const written = new Map<string, FileKey>();
    const filter = { since, scope };
    const target = { selection, places: await findPlacesNow(parts, places) };
    for await (const row of readRows((one) => storage.revisions.list(filter, one))) {
      if (row.action !== 'redact' && covers(target, row)) written.set(toPhysicalPath(row), row);
    }
    let isClean = true;
    for (const key of written.values()) {
      const isKept = kept?.scope === key.scope && kept.path === key.path;
      const keep = isKept ? kept.version : null;
      if (await redactFile(parts, page, { key, keep })) isClean = false;
    }
    if (isClean) return;
    since = next;
  }
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    'Somebody writes the text again and again: stop that, then ask for the redaction again.',
  );
}

/** Where the file is that had these places: somebody may move it meanwhile. */
async function findPlacesNow(
  { storage }: RedactTextParts,
  places: RedactionTarget['places'],
): Promise<RedactionTarget['places']> {
  const [own] = places ?? [];
  return own === undefined ? null : await findPlaces(storage, own);
}

/** Waits until the index and the vectors have nothing of what present contents lost. */
async function purgeIndex(
  { storage, indexer }: RedactTextParts,
  { startedAt }: Begun,
): Promise<void> {
  const filter = { action: 'redact', since: startedAt - SKEW_MS } as const;
  const scopes = new Set<FileKey['scope']>();
  for await (const row of readRows((page) => storage.revisions.list(filter, page))) {
    scopes.add(row.scope);
  }
  for (const scope of scopes) await indexer.purge(scope);
}

/** Ends a redaction: the receipt is in the audit, and the database file waits for its rewriting. */
async function end(
  { storage, ids }: RedactTextParts,
  { begun, caller }: Page,
  records: RedactTextAnswer['records'],
): Promise<void> {
  if (begun === null) return;
  const isFile = storage.erasure?.file !== undefined;
  const key = toRedactionKey(begun.id);
  const make = (versions: number): AuditRecord =>
    toAuditRecord(ids, {
      action: 'memory.redact',
      target: toTargetName(begun),
      details: {
        step: 'end',
        id: begun.id,
        in: begun.in,
        reason: begun.reason,
        versions,
        records,
        ...(isFile ? { pending: [DATABASE_FILE] } : {}),
      },
      ...caller,
    });
  const versions = (await readBegun(storage)).find(({ id }) => id === begun.id)?.versions ?? 0;
  const audit = make(versions);
  const pending = isFile ? [toPendingSetting(audit)] : [];
  const settings = [{ key, setting: null }, ...pending];
  await storage.mutate({ scopes: [], files: [], settings: settings.map((one) => one.key) }, () => ({
    result: null,
    writes: 0,
    changes: { audit: [audit], settings },
  }));
}
