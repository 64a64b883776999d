import type {
  FileKey,
  PrunedRevision,
  RevisionRecord,
  ScopeKey,
  ScopeState,
  ShownRow,
} from '../contracts/records.ts';
import type { PruneOptions } from '../contracts/storage.ts';
import { hashText } from '../files/content.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { createScopeIds, randomHex } from '../ids/ids.ts';

/**
 * The chain of a scope's revisions. All hashes are SHA-256 in lower-case hex:
 *
 * - the seal of a content: over its salt and its hash. It outlives both, and says nothing without them;
 * - the row hash of a revision: over the JSON of its fields and the seal, in the format that the
 *   revision names: 1 is an array of all fields; 2 an object of those that are not `null`, its keys in
 *   the order of their bytes, so that later fields need no other format;
 * - its chain hash: over the chain hash of the revision before it in the scope, and its row hash.
 *
 * A redaction that replaces a text in past versions changes their rows. Each keeps its first row hash, from
 * which its chain hash is made. The redaction is an entry of the chain of its own: its row hash is over its
 * id and the row hashes of the rows as they are shown since. The row names the last such redaction.
 *
 * What is pruned leaves its row hash and chain hash. Each prune adds a base for the text that is now
 * the oldest of a file, so that this text is under a hash, too.
 *
 * The order is that of the ids. The hash before the first revision is made of the scope and of its
 * newest unchained revision.
 */

/** The format of the row hash that new revisions get. Those of earlier formats are verified as before. */
export const HASH_FORMAT = 2;

/** The fields that a row hash covers. Contents are covered by their hash. */
type HashedRow = Omit<RevisionRecord, 'fileNo' | 'redacted' | 'redactionId' | 'rowHash'>;

/** Seals a revision's content under a new salt, and links the revision to the newest of its scope. */
export function appendToChain(state: ScopeState, revision: RevisionRecord): void {
  revision.contentSalt = randomHex(16);
  revision.previousHash = chainHeadOf(state);
  revision.chainHash = linkHash(revision.previousHash, hashRow(revision));
  state.chainHead = revision.chainHash;
}

/** The chain hash of the newest revision of a scope, or the hash before its first one. */
export function chainHeadOf(state: Pick<ScopeState, 'scope' | 'chainHead' | 'chainAfter'>): string {
  return state.chainHead ?? chainStart(state.scope, state.chainAfter);
}

/** The hash before the first chained revision of a scope. `after` is the newest unchained revision. */
export function chainStart(scope: ScopeKey, after: string | null): string {
  return hashText(JSON.stringify(['memory-service history', scope, after]));
}

/** The chain hash of a revision. */
export function linkHash(previousHash: string, rowHash: string): string {
  return hashText(previousHash + rowHash);
}

/**
 * The seal of a revision's content: what a redaction stores as `contentSeal` when it removes the
 * salt and the hash. `null` if one of them is there without the other.
 */
export function sealContent({
  contentSalt,
  hash: contentHash,
  contentSeal,
}: Pick<RevisionRecord, 'contentSalt' | 'hash' | 'contentSeal'>): string | null {
  if (contentSalt !== null && contentHash !== null) return hashText(contentSalt + contentHash);
  return contentSalt === null && contentHash === null ? contentSeal : null;
}

/** The hash of a revision's fields and seal, in the revision's own format. */
export function hashRow(revision: HashedRow): string {
  return revision.hashFormat === 1 ? hashArray(revision) : hashObject(revision);
}

/** The row hash from which a revision's chain hash is made. */
export function chainedHash(revision: HashedRow & Pick<RevisionRecord, 'rowHash'>): string {
  return revision.rowHash ?? hashRow(revision);
}

/** Its keys stand in the order of their bytes, and JSON leaves out what is undefined. */
function hashObject(revision: HashedRow): string {
  const fields = {
    action: revision.action,
    actor: revision.actor,
    addedLines: revision.addedLines,
    at: revision.at,
    existedBefore: revision.existedBefore,
    existsAfter: revision.existsAfter,
    hashFormat: revision.hashFormat,
    id: revision.id,
    operator: revision.operator ?? undefined,
    path: toPhysicalPath(revision),
    peerId: revision.peerId ?? undefined,
    reason: revision.reason ?? undefined,
    removedLines: revision.removedLines,
    reverts: revision.reverts ?? undefined,
    runId: revision.runId ?? undefined,
    seal: sealContent(revision) ?? undefined,
    size: revision.size,
    tool: revision.tool ?? undefined,
    toolCallId: revision.toolCallId ?? undefined,
    traceId: revision.traceId ?? undefined,
    version: revision.version,
  };
  return hashText(JSON.stringify(fields));
}

function hashArray(revision: HashedRow): string {
  const { id, version, action, actor, reason, tool, toolCallId, traceId, runId, at } = revision;
  const { size, addedLines, removedLines, peerId, existedBefore, existsAfter } = revision;
  return hashText(
    JSON.stringify([
      id,
      toPhysicalPath(revision),
      version,
      action,
      actor,
      reason,
      tool,
      toolCallId,
      traceId,
      runId,
      at,
      size,
      addedLines,
      removedLines,
      peerId,
      existedBefore,
      existsAfter,
      sealContent(revision),
    ]),
  );
}

/**
 * What is wrong with a chained revision by itself: "has other fields …"; `null` for nothing. A row that a
 * redaction changed must also be one that the redaction lists: see {@link isListed}. `verify` and the
 * import use it.
 */
export function checkChained(
  revision: HashedRow &
    Pick<RevisionRecord, 'redacted' | 'redactionId' | 'rowHash' | 'previousHash' | 'chainHash'>,
): string | null {
  const { redacted, hash: contentHash, contentSeal, previousHash, chainHash } = revision;
  const isSealed =
    redacted === (contentHash === null) &&
    redacted === (contentSeal !== null) &&
    sealContent(revision) !== null;
  if (!isSealed) return 'lacks the hash or the salt of its content';
  const { hashFormat } = revision;
  if (hashFormat !== 1 && hashFormat !== HASH_FORMAT) {
    return `has a hash of format ${hashFormat}, which this version does not know`;
  }
  const isChanged = (revision.redactionId === null) !== (revision.rowHash === null);
  const hash = chainedHash(revision);
  if (!isChanged && linkHash(previousHash ?? '', hash) === chainHash) return null;
  return 'has other fields, or another content, than when it was written';
}

/** Why a row that a redaction changed is not as the redaction left it. */
export const NOT_LISTED = 'is not as the redaction that changed it has left it';

/** Whether a redaction lists a row as it is now. */
export function isListed(revision: HashedRow, shown: readonly ShownRow[] | null): boolean {
  const listed = shown?.find(({ id }) => id === revision.id);
  return listed !== undefined && listed.rowHash === hashRow(revision);
}

/** The row hash of a redaction: over its id and the rows that it lists. */
export function hashRedaction(id: string, shown: readonly ShownRow[]): string {
  const rows = shown.map((row) => [row.id, row.rowHash]);
  return hashText(JSON.stringify(['memory-service redaction', id, rows]));
}

/** Links a redaction to the newest entry of a scope. Its id is made of `now`, like that of a base. */
export function sealRedaction(
  given: ScopeState,
  rows: readonly HashedRow[],
  { now }: { now: number },
): { scope: ScopeState; redaction: PrunedRevision } {
  const scope = { ...given };
  const ids = createScopeIds(scope, now, { lastMs: 0, idCounter: 0 });
  const id = ids.next();
  const shown = rows.map((row): ShownRow => ({ id: row.id, rowHash: hashRow(row) }));
  const rowHash = hashRedaction(id, shown);
  const chainHash = linkHash(chainHeadOf(scope), rowHash);
  Object.assign(scope, { chainHead: chainHash, lastMs: ids.lastMs, idCounter: ids.idCounter });
  const place = { scope: scope.scope, id, fileNo: 0, version: 0 };
  const redaction = { ...place, rowHash, chainHash, contentHash: null, contentSalt: null, shown };
  return { scope, redaction };
}

/** What a prune keeps of a revision, so that the chain can still be recomputed; `null` for nothing. */
export function toPruned(revision: RevisionRecord): PrunedRevision | null {
  const { scope, id, fileNo, version, chainHash } = revision;
  if (chainHash === null) return null;
  const rowHash = chainedHash(revision);
  const gone = { contentHash: null, contentSalt: null, shown: null };
  return { scope, id, fileNo, version, rowHash, chainHash, ...gone };
}

/** A text that stays although the revision that wrote it is pruned. */
export interface Base extends FileKey, Pick<RevisionRecord, 'fileNo' | 'version'> {
  contentHash: string;
}

/**
 * The hash of a base: over its id, path, version and seal. It stands in the chain like the row hash
 * of a pruned revision. A late one was made some time after the prune, by a service that found the
 * text without a hash: it shows no change from before.
 */
export function hashBase(
  base: FileKey & Pick<PrunedRevision, 'id' | 'version' | 'contentHash' | 'contentSalt'>,
  { isLate }: { isLate: boolean },
): string {
  const { id, version, contentHash, contentSalt } = base;
  const seal = sealContent({ hash: contentHash, contentSalt, contentSeal: null });
  const kind = isLate ? 'memory-service late base' : 'memory-service base';
  return hashText(JSON.stringify([kind, id, toPhysicalPath(base), version, seal]));
}

/** Links bases to the newest revision of their scope. `now` gives their ids, which are UUIDv7. */
export function sealBases(
  given: ScopeState,
  bases: readonly Base[],
  { now, isLate }: { now: number; isLate: boolean },
): { scope: ScopeState; pruned: PrunedRevision[] } {
  const scope = { ...given };
  const ids = createScopeIds(scope, now, { lastMs: 0, idCounter: 0 });
  const pruned = bases.map(({ path, fileNo, version, contentHash }): PrunedRevision => {
    const id = ids.next();
    const contentSalt = randomHex(16);
    const row = { scope: scope.scope, id, fileNo, version, contentHash, contentSalt, shown: null };
    const rowHash = hashBase({ ...row, path }, { isLate });
    scope.chainHead = linkHash(chainHeadOf(scope), rowHash);
    return { ...row, rowHash, chainHash: scope.chainHead };
  });
  if (bases.length > 0) Object.assign(scope, { lastMs: ids.lastMs, idCounter: ids.idCounter });
  return { scope, pruned };
}

/** What a prune leaves of the rows that it removes: their hashes, and a base for each file. */
export function sealPruned(now: () => number): PruneOptions['seal'] {
  return (scope, removed) => {
    const newest = new Map(removed.map((revision) => [revision.fileNo, revision]));
    const bases = [...newest.values()].flatMap((revision): Base[] =>
      revision.existsAfter && revision.hash !== null
        ? [{ ...revision, contentHash: revision.hash }]
        : [],
    );
    const sealed = sealBases(scope, bases, { now: now(), isLate: false });
    const kept = removed.flatMap((revision) => toPruned(revision) ?? []);
    return { scope: sealed.scope, pruned: [...kept, ...sealed.pruned] };
  };
}
