import type { PrunedRevision, RevisionRecord, ScopeKey, ScopeState } from '../contracts/records.ts';
import { hashText } from '../files/content.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { randomHex } from '../ids.ts';

/**
 * The chain of a scope's revisions. All hashes are SHA-256 in lower-case hex:
 *
 * - the seal of a content: over its salt and its hash. It outlives both, and says nothing without them;
 * - the row hash of a revision: over the JSON of its fields and the seal;
 * - its chain hash: over the chain hash of the revision before it in the scope, and its row hash.
 *
 * The order is that of the ids. The hash before the first revision is made of the scope and of its
 * newest unchained revision.
 */

/** The fields that a row hash covers. Contents are covered by their hash. */
type HashedRow = Omit<RevisionRecord, 'fileNo' | 'redacted'>;

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

/** The hash of a revision's fields and seal. */
export function hashRow(revision: HashedRow): string {
  const { id, version, action, actor, reason, tool, toolCallId, traceId, runId, at } = revision;
  const { size, addedLines, removedLines, peerId, existedBefore, existsAfter } = revision;
  return hashText(
    JSON.stringify([
      ...[id, toPhysicalPath(revision), version, action, actor, reason, tool, toolCallId, traceId],
      ...[runId, at, size, addedLines, removedLines, peerId, existedBefore, existsAfter],
      sealContent(revision),
    ]),
  );
}

/**
 * What is wrong with a chained revision by itself: "has other fields …"; `null` for nothing.
 * `verify` and the import use it.
 */
export function checkChained(
  revision: HashedRow & Pick<RevisionRecord, 'redacted' | 'previousHash' | 'chainHash'>,
): string | null {
  const { redacted, hash: contentHash, contentSeal, previousHash, chainHash } = revision;
  const isSealed =
    redacted === (contentHash === null) &&
    redacted === (contentSeal !== null) &&
    sealContent(revision) !== null;
  if (!isSealed) return 'lacks the hash or the salt of its content';
  if (linkHash(previousHash ?? '', hashRow(revision)) === chainHash) return null;
  return 'has other fields, or another content, than when it was written';
}

/** What a prune keeps of a revision, so that the chain can still be recomputed; `null` for nothing. */
export function toPruned(revision: RevisionRecord): PrunedRevision | null {
  const { scope, id, fileNo, version, chainHash } = revision;
  if (chainHash === null) return null;
  return { scope, id, fileNo, version, rowHash: hashRow(revision), chainHash };
}
