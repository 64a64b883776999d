import type { RedactAnswer, RedactRequest } from '../contracts/admin.ts';
import { toAuditRecord } from '../audit.ts';
import type { ErasureStore, RedactCurrent } from '../contracts/erasure.ts';
import type { FileKey, NewRevision, RevisionRecord } from '../contracts/records.ts';
import type { RevisionFilter, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { memoryHeld } from '../files/hold.ts';
import type { AdminAuthor } from '../files/admin-files.ts';
import { toPhysicalPath } from '../files/paths.ts';
import type { IdSource } from '../ids.ts';
import { sealContent } from './chain.ts';
import { type Delta, diffTexts } from './delta.ts';
import { decodeDelta, encodeDelta } from './delta/codec.ts';
import { countLines, hashText } from '../files/content.ts';

/** The most versions with one content that a redaction takes out at once. */
const MAX_VERSIONS = 100;
/** The most revisions of a file that are searched for the same content. */
const MAX_EXAMINED = 20_000;
/** How often a redaction is planned again because the history changed meanwhile. */
const TRIES = 5;

const MAY_REMAIN = [
  'Other versions of the file, and other files, that have parts of the text: redact those revisions too.',
  'Reasons of revisions, and operations of dream runs that quote lines.',
  'Free pages of the database, its own logs, backups, exports, traces that were sent, and the provider of the model.',
];

interface Dependencies {
  storage: Storage;
  ids: IdSource;
  /** What the rows lead to, also for a version that is redacted. */
  storedTextAt(key: FileKey, version: number): Promise<string | null>;
}

/** What a redaction writes, and the rows that it was made from. */
interface RedactPlan {
  redacted: ReadonlySet<number>;
  from: readonly NewRevision[];
  to: readonly NewRevision[];
}

/**
 * Takes the content after a revision out of the history, with that of the file's other versions that
 * have the same content:
 *
 * - the row of a redacted version loses salt and hash, and gets the content before it as a keyframe;
 * - the step of the next version tells only which lines changed: blame goes on, and the text is gone.
 *
 * All other versions keep their exact content. Throws `REVISION_NOT_REDACTABLE` while the file has
 * this content, and for a revision that deleted the file.
 */
export async function redactRevision(
  deps: Dependencies,
  revision: RevisionRecord,
  { reason, dryRun = false, caller }: RedactRequest & { caller: AdminAuthor },
): Promise<RedactAnswer> {
  const erasure = requireErasure(deps.storage);
  const key: FileKey = { scope: revision.scope, path: revision.path };
  if (!revision.existsAfter) throw notRedactable('no_content', key);
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planRedaction(deps, revision);
    const answer = await toAnswer(deps.storage, plan, { key, dryRun });
    if (dryRun || answer.unchanged) return answer;
    const audit = toAuditRecord(deps.ids, {
      action: 'revisions.redact',
      target: revision.id,
      details: { path: answer.path, versions: [...plan.redacted], reason },
      ...caller,
    });
    const versions = plan.from.map(({ version }) => version);
    const isDone = await erasure.redact(key, versions, (current) => {
      if (current.hold !== null) throw memoryHeld(current.hold);
      checkNotCurrent(current.file, revision);
      if (!isSame(current.rows, plan.from)) return { result: false, rows: [], audit: null };
      return { result: true, rows: plan.to, audit };
    });
    if (isDone) {
      await erasure.settle?.();
      return answer;
    }
    if (attempt === TRIES) throw new MemoryError('STORAGE_UNAVAILABLE');
  }
}

/** The store that redacts and erases. Throws for a driver without one. */
export function requireErasure({ erasure, name }: Storage): ErasureStore {
  if (erasure !== undefined) return erasure;
  throw new MemoryError(
    'INVALID_REQUEST',
    `Nothing can be redacted or erased in a ${name} storage: its driver has no erasure store.`,
  );
}

async function planRedaction(deps: Dependencies, revision: RevisionRecord): Promise<RedactPlan> {
  const { storage, storedTextAt } = deps;
  const key: FileKey = { scope: revision.scope, path: revision.path };
  let redacted: ReadonlySet<number>;
  if (revision.redacted) {
    // A row that an import joined on may stand before a step that still leads to its content.
    const next = await storage.revisions.ofVersion(key, revision.version + 1);
    if (next?.redactedBefore !== false) return { redacted: new Set(), from: [], to: [] };
    redacted = new Set([revision.version]);
  } else {
    checkNotCurrent(await storage.files.get(key), revision);
    redacted = await findSame(deps, revision);
  }
  const from = new Map<number, NewRevision>();
  const to = new Map<number, NewRevision>();
  for (const version of redacted) {
    for (const each of [version, version + 1]) {
      const row = from.get(each) ?? (await readRow(storage, key, each));
      // Only the next row has what is left of a pruned version.
      if (row === null && each === version && version !== revision.version) continue;
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
      ...{ hash: null, contentSalt: null, contentSeal },
    });
  }
  return { redacted, from: inOrder(from), to: inOrder(to) };
}

/** The versions of the file with the content of a revision; the newest pruned one may be of them. */
async function findSame(
  { storage, storedTextAt }: Dependencies,
  revision: RevisionRecord,
): Promise<Set<number>> {
  const { scope, path, hash } = revision;
  const found = new Set<number>();
  const filter: RevisionFilter = { path: { scope, path } };
  let after: readonly (string | number)[] | null = null;
  for (let examined = 0; examined < MAX_EXAMINED;) {
    const page = await storage.revisions.list(filter, { limit: 500, order: 'desc', after });
    for (const one of page.items) {
      if (one.existsAfter && one.hash !== null && one.hash === hash) found.add(one.version);
    }
    examined += page.items.length;
    after = page.next;
    if (after === null) break;
  }
  if (found.size > MAX_VERSIONS) {
    const message = `More than ${MAX_VERSIONS} versions have this content: prune or redact fewer.`;
    throw new MemoryError('WORK_LIMIT_EXCEEDED', message, {
      details: { limit: 'versions', max: MAX_VERSIONS },
    });
  }
  const file = await storage.files.get(revision);
  const pruned = file === null ? 0 : file.version - file.revisions;
  const oldest = pruned === 0 ? null : await storage.revisions.ofVersion(revision, pruned + 1);
  if (oldest?.existedBefore === true && !oldest.redactedBefore) {
    const before = await storedTextAt(revision, pruned);
    if (before !== null && hashText(before) === hash) found.add(pruned);
  }
  return found.add(revision.version);
}

async function readRow(
  { revisions }: Storage,
  key: FileKey,
  version: number,
): Promise<NewRevision | null> {
  const record = await revisions.ofVersion(key, version);
  const [step] = await revisions.steps(key, { after: version - 1, upTo: version });
  if (record === null || step === undefined) return null;
  return { ...record, delta: step.delta, keyframe: step.keyframe };
}

/** A step back to a text of as many lines, with nothing in those that changed. */
function blankStep(
  { delta }: NewRevision,
  content: string,
  newer: string | null,
): Pick<NewRevision, 'delta' | 'keyframe'> {
  if (newer === null) return { delta: null, keyframe: '\n'.repeat(countLines(content)) };
  const known = delta === null ? diffTexts(content, newer).delta : decodeDelta(delta);
  return { delta: encodeDelta(blank(known)), keyframe: null };
}

function blank({ hunks }: Delta): Delta {
  return {
    hunks: hunks.map(({ start, removed, addedLines }) => ({
      ...{ start, removed, addedLines, prefix: 0, suffix: 0 },
      text: '\n'.repeat(addedLines),
    })),
  };
}

function checkNotCurrent(file: RedactCurrent['file'], revision: RevisionRecord): void {
  if (file === null) throw new MemoryError('REVISION_NOT_FOUND');
  const isSameText = file.content !== null && file.hash === revision.hash;
  if (isSameText || file.version === revision.version) throw notRedactable('current', file);
}

function notRedactable(reason: 'current' | 'no_content', key: FileKey): MemoryError {
  const path = toPhysicalPath(key);
  const message =
    reason === 'current'
      ? `${path} has this content now: change or delete the file first, then redact the revision.`
      : `This revision deleted ${path}, so it has no content; redact the one before it.`;
  return new MemoryError('REVISION_NOT_REDACTABLE', message, { details: { path, reason } });
}

async function toAnswer(
  storage: Storage,
  { redacted, to }: RedactPlan,
  { key, dryRun }: { key: FileKey; dryRun: boolean },
): Promise<RedactAnswer> {
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
      ...{ id, version },
      loses: !redacted.has(version) ? 'before' : redacted.has(version - 1) ? 'both' : 'after',
    })),
    peers,
    mayRemain: MAY_REMAIN,
  };
}

function inOrder(rows: ReadonlyMap<number, NewRevision>): NewRevision[] {
  return [...rows.values()].sort((one, other) => one.version - other.version);
}

/** Whether the rows are those that a plan was made from. */
function isSame(rows: readonly NewRevision[], planned: readonly NewRevision[]): boolean {
  return (
    rows.length === planned.length &&
    rows.every((row, index) => {
      const other = planned[index];
      return (
        row.id === other?.id &&
        row.redacted === other.redacted &&
        row.redactedBefore === other.redactedBefore &&
        row.keyframe === other.keyframe &&
        Buffer.compare(row.delta ?? NO_BYTES, other.delta ?? NO_BYTES) === 0
      );
    })
  );
}

const NO_BYTES = new Uint8Array();
