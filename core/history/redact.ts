import type { RedactAnswer, RedactRequest } from '../contracts/admin.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import type {
  AuditRecord,
  FileKey,
  FileState,
  NewRevision,
  RevisionRecord,
} from '../contracts/records.ts';
import type { RevisionFilter, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { listCopies, removeCopies } from '../erase/copies.ts';
import { toPendingSetting } from '../erase/pending-receipt.ts';
import { DATABASE_FILE } from '../erase/rewriter.ts';
import { memoryHeld } from '../files/hold.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { readRows } from '../lists/page.ts';
import { sealContent } from './chain.ts';
import { blankDelta, diffTexts } from './delta.ts';
import { decodeDelta, encodeDelta } from './delta/codec.ts';
import type { HistoryParts } from './history-parts.ts';
import { countLines, hashText } from '../files/content.ts';
import { walkVersions } from './walk-versions.ts';
import { nameLeftovers } from '../maintenance/leftovers.ts';

/** The most versions with one content that a redaction takes out at once. */
const MAX_VERSIONS = 100;
/** The most revisions of a file that are searched for the same content. */
const MAX_EXAMINED = 20_000;
/** Shorter lines stand anywhere. */
const LINE_LEAST = 4;
/** How often a redaction is planned again because the history changed meanwhile. */
const TRIES = 5;

const MAY_REMAIN = [
  'Other versions of the file, and other files, that have parts of the text: redact those revisions too.',
  'For 24 hours, a hash of the arguments of the call that wrote it, if it had an idempotency key.',
  'Reasons of revisions, and operations of dream runs that quote lines.',
  'Backups, exports, traces that were sent, and the provider of the model.',
];

/** What a redaction writes, and the rows that it was made from. */
interface RedactPlan {
  target: Target;
  redacted: ReadonlySet<number>;
  from: readonly NewRevision[];
  to: readonly NewRevision[];
}

/** The version of a file that loses its content. */
type Target = Pick<NewRevision, 'scope' | 'path' | 'version' | 'hash' | 'redacted'>;

/**
 * Takes the content after a revision out of the history, or with `before` that before it, with that
 * of the file's other versions that have the same content:
 *
 * - the row of a redacted version loses salt and hash, and gets the content before it as a keyframe;
 * - the step of the next version tells only which lines changed: blame goes on, and the text is gone.
 *
 * All other versions keep their exact content. Throws `REVISION_NOT_REDACTABLE` while the file has
 * this content, and for a revision that deleted the file.
 */
export async function redactRevision(
  deps: HistoryParts,
  revision: RevisionRecord,
  {
    reason,
    before = false,
    dryRun = false,
    removeCopies: goCopies = false,
    caller,
  }: RedactRequest & { caller: AuditCaller },
): Promise<RedactAnswer> {
  const erasure = requireErasure(deps.storage);
  const key: FileKey = { scope: revision.scope, path: revision.path };
  if (!(before ? revision.existedBefore : revision.existsAfter)) {
    throw notRedactable('no_content', key);
  }
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planRedaction(deps, before ? await targetBefore(deps, revision) : revision);
    const alsoIn = await countAlsoIn(deps, plan);
    const answer = { ...(await toAnswer(deps.storage, plan, { key, dryRun })), alsoIn };
    if (dryRun) return { ...answer, copies: await listCopies(deps.storage) };
    if (answer.unchanged) return await withFile(deps, answer, goCopies);
    const audit = toAuditRecord(deps.ids, {
      action: 'revisions.redact',
      target: revision.id,
      details: {
        path: answer.path,
        versions: [...plan.redacted],
        reason,
        ...(erasure.file === undefined ? {} : { pending: [DATABASE_FILE] }),
      },
      ...caller,
    });
    const isDone = await writeRedaction(deps.storage, plan, { key, audit });
    if (isDone) return await withFile(deps, answer, goCopies);
    if (attempt === TRIES) throw new MemoryError('STORAGE_UNAVAILABLE');
  }
}

/**
 * Replaces the rows of a plan, and counts the redaction in the scope's row: plans that were made from the
 * past versions are off. Returns `false` if the rows are no longer those of the plan.
 */
async function writeRedaction(
  storage: Storage,
  plan: RedactPlan,
  { key, audit }: { key: FileKey; audit: AuditRecord },
): Promise<boolean> {
  const { scope } = key;
  const pending = storage.erasure?.file === undefined ? [] : [toPendingSetting(audit)];
  const request = {
    scopes: [scope],
    files: [key],
    past: { key, versions: plan.from.map(({ version }) => version) },
    settings: pending.map((setting) => setting.key),
  };
  return await storage.mutate(request, (current) => {
    const hold = current.hold(scope);
    if (hold !== null) throw memoryHeld(hold);
    checkNotCurrent(current.file(key), plan.target);
    if (!isSamePast(current.past(), plan.from)) return { result: false, writes: 0, changes: {} };
    const { version, redactions, ...state } = current.scope(scope);
    return {
      result: true,
      writes: 0,
      changes: {
        scopes: [{ ...state, version: version + 1, redactions: redactions + 1 }],
        past: plan.to,
        uncovered: toUncovered(plan),
        audit: [audit],
        settings: pending,
      },
    };
  });
}

/** The versions whose contents a plan takes out. */
function toUncovered({ target, to }: RedactPlan) {
  const { scope } = target;
  return to.flatMap(({ fileNo, version, redactedBefore }) =>
    redactedBefore ? [{ scope, fileNo, from: version - 1, upTo: version - 1 }] : [],
  );
}

/** The answer, with what may still hold the text in and beside the database file. */
async function withFile(
  { storage, rewriter }: Pick<HistoryParts, 'storage' | 'rewriter'>,
  answer: RedactAnswer,
  goCopies: boolean,
): Promise<RedactAnswer> {
  const copies = goCopies ? await removeCopies(storage) : await listCopies(storage);
  return { ...answer, copies, pending: await rewriter.settle() };
}

/** The store that redacts and erases. Throws for a driver without one. */
export function requireErasure({ erasure, name }: Storage): ErasureStore {
  if (erasure !== undefined) return erasure;
  throw new MemoryError(
    'INVALID_REQUEST',
    `Nothing can be redacted or erased in a ${name} storage: its driver has no erasure store.`,
  );
}

/** The version before a revision, whose own row may be pruned. */
async function targetBefore(
  { storage, storedTextAt }: HistoryParts,
  revision: RevisionRecord,
): Promise<Target> {
  const { scope, path, redactedBefore: redacted } = revision;
  const version = revision.version - 1;
  const row = await storage.revisions.ofVersion(revision, version);
  if (row !== null) return row;
  const content = redacted ? null : await storedTextAt(revision, version);
  return { scope, path, version, hash: content === null ? null : hashText(content), redacted };
}

async function planRedaction(deps: HistoryParts, target: Target): Promise<RedactPlan> {
  const { storage, storedTextAt } = deps;
  const key: FileKey = { scope: target.scope, path: target.path };
  let redacted: ReadonlySet<number>;
  if (target.redacted) {
    // An import can add the redacted row alone: the step after it still leads to the content.
    const next = await storage.revisions.ofVersion(key, target.version + 1);
    if (next?.redactedBefore !== false) return { target, redacted: new Set(), from: [], to: [] };
    redacted = new Set([target.version]);
  } else {
    checkNotCurrent(await storage.files.get(key), target);
    redacted = await findSame(deps, target);
  }
  const from = new Map<number, NewRevision>();
  const to = new Map<number, NewRevision>();
  for (const version of redacted) {
    for (const each of [version, version + 1]) {
      const row = from.get(each) ?? (await readRow(storage, key, each));
      // Only the next row has what is left of a pruned version.
      if (row === null && each === version) continue;
      if (row === null) throw new MemoryError('REVISION_NOT_FOUND');
      from.set(each, row);
      to.set(each, to.get(each) ?? row);
    }
  }
  for (const version of redacted) {
    const [row, next] = [to.get(version), to.get(version + 1) as NewRevision];
    const content = await storedTextAt(key, version);
    if (content === null) throw new MemoryError('REVISION_NOT_FOUND');
    const newer = next.existsAfter ? await storedTextAt(key, version + 1) : null;
    to.set(version + 1, { ...next, redactedBefore: true, ...blankStep(next, content, newer) });
    if (row === undefined || row.redacted) continue;
    // A step that tells only lines fits the text without content, too.
    const isKept = !row.existedBefore || row.redactedBefore;
    const before = isKept ? null : await storedTextAt(key, version - 1);
    const step = isKept ? {} : { delta: null, keyframe: before };
    const contentSeal = row.chainHash === null ? null : sealContent(row);
    to.set(version, {
      ...row,
      ...step,
      redacted: true,
      hash: null,
      contentSalt: null,
      contentSeal,
    });
  }
  return { target, redacted, from: inOrder(from), to: inOrder(to) };
}

/** The versions of the file with the content of one; the newest pruned one may be of them. */
async function findSame(
  { storage, storedTextAt }: HistoryParts,
  target: Target,
): Promise<Set<number>> {
  const { scope, path, hash } = target;
  const found = new Set<number>();
  const filter: RevisionFilter = { path: { scope, path } };
  let examined = 0;
  const rows = readRows((page) => storage.revisions.list(filter, page), { order: 'desc' });
  for await (const one of rows) {
    if (one.existsAfter && one.hash !== null && one.hash === hash) found.add(one.version);
    examined += 1;
    if (examined === MAX_EXAMINED) break;
  }
  if (found.size > MAX_VERSIONS) {
    const message = `More than ${MAX_VERSIONS} versions have this content: prune or redact fewer.`;
    throw new MemoryError('WORK_LIMIT_EXCEEDED', message, {
      details: { limit: 'versions', max: MAX_VERSIONS },
    });
  }
  const file = await storage.files.get(target);
  const pruned = file === null ? 0 : file.version - file.revisions;
  const oldest = pruned === 0 ? null : await storage.revisions.ofVersion(target, pruned + 1);
  if (oldest?.existedBefore === true && !oldest.redactedBefore) {
    const before = await storedTextAt(target, pruned);
    if (before !== null && hashText(before) === hash) found.add(pruned);
  }
  return found.add(target.version);
}

async function readRow(
  { revisions }: Storage,
  key: FileKey,
  version: number,
): Promise<NewRevision | null> {
  const [row = null] = await revisions.rows(key, { after: version - 1, upTo: version });
  return row;
}

/** A step back to a text of as many lines, with nothing in those that changed. */
function blankStep(
  { delta }: NewRevision,
  content: string,
  newer: string | null,
): Pick<NewRevision, 'delta' | 'keyframe'> {
  if (newer === null) return { delta: null, keyframe: '\n'.repeat(countLines(content)) };
  const known = delta === null ? diffTexts(content, newer).delta : decodeDelta(delta);
  return { delta: encodeDelta(blankDelta(known)), keyframe: null };
}

function checkNotCurrent(file: FileState | null, target: Target): void {
  if (file === null) throw new MemoryError('REVISION_NOT_FOUND');
  const isSameText = file.content !== null && file.hash === target.hash;
  if (isSameText || file.version === target.version) throw notRedactable('current', file);
}

function notRedactable(reason: 'current' | 'no_content', key: FileKey): MemoryError {
  const path = toPhysicalPath(key);
  const message =
    reason === 'current'
      ? `${path} has this content now: change or delete the file first, then redact the revision.`
      : `There is no content of ${path} on this side of the revision: it created or deleted the file.`;
  return new MemoryError('REVISION_NOT_REDACTABLE', message, { details: { path, reason } });
}

async function toAnswer(
  storage: Storage,
  { redacted, to }: RedactPlan,
  { key, dryRun }: { key: FileKey; dryRun: boolean },
): Promise<Omit<RedactAnswer, 'alsoIn'>> {
  const peers: string[] = [];
  for (const { version, peerId, existsAfter, existedBefore } of to) {
    const isDeparture = !existsAfter && redacted.has(version - 1);
    const isArrival = !existedBefore && redacted.has(version);
    if (peerId === null || (!isDeparture && !isArrival)) continue;
    const peer = await storage.revisions.get(peerId);
    // The content at the old path was written by the revision before its departure.
    const made =
      peer === null || isDeparture
        ? peer
        : await storage.revisions.ofVersion(peer, peer.version - 1);
    if (made?.redacted === false) peers.push(made.id);
  }
  return {
    dryRun,
    unchanged: redacted.size === 0,
    path: toPhysicalPath(key),
    revisions: to.map(({ id, version }) => ({
      id,
      version,
      loses: !redacted.has(version) ? 'before' : redacted.has(version - 1) ? 'both' : 'after',
    })),
    peers,
    pending: [],
    copies: [],
    mayRemain: [...(storage.erasure?.mayRemain ?? []), ...MAY_REMAIN, ...(await nameLeftovers())],
  };
}

/** How many other versions have lines that a redacted version had got: the redaction leaves those. */
async function countAlsoIn(deps: HistoryParts, { target, redacted }: RedactPlan): Promise<number> {
  const file = redacted.size === 0 ? null : await deps.storage.files.get(target);
  if (file === null) return 0;
  const linesOf = (text: string | null) =>
    new Set((text ?? '').split(/\r?\n/).filter((line) => line.trim().length >= LINE_LEAST));
  const own = linesOf(await deps.storedTextAt(file, target.version));
  for (const line of linesOf(await deps.storedTextAt(file, target.version - 1))) own.delete(line);
  if (own.size === 0) return 0;
  let [count, examined] = [0, 0];
  for await (const { version, text, isShown } of walkVersions(deps, file)) {
    examined += 1;
    if (examined > MAX_EXAMINED) break;
    if (!isShown || redacted.has(version)) continue;
    if ([...linesOf(text)].some((line) => own.has(line))) count += 1;
  }
  return count;
}

function inOrder(rows: ReadonlyMap<number, NewRevision>): NewRevision[] {
  return [...rows.values()].sort((one, other) => one.version - other.version);
}

/** Whether the rows are those that a plan was made from. */
export function isSamePast(rows: readonly NewRevision[], planned: readonly NewRevision[]): boolean {
  return (
    rows.length === planned.length &&
    rows.every((row, index) => {
      const other = planned[index];
      return (
        row.id === other?.id &&
        row.redacted === other.redacted &&
        row.redactedBefore === other.redactedBefore &&
        row.hash === other.hash &&
        row.contentSalt === other.contentSalt &&
        row.reason === other.reason &&
        row.keyframe === other.keyframe &&
        Buffer.compare(row.delta ?? NO_BYTES, other.delta ?? NO_BYTES) === 0
      );
    })
  );
}

const NO_BYTES = new Uint8Array();
