import type { RevertAnswer } from '../contracts/admin.ts';
import type { RevisionRecord } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { AdminWritten, Restoration } from '../files/admin-files.ts';
import { versionConflict } from '../files/draft.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { unifiedDiff } from './delta/unified-diff.ts';
import type { HistoryParts } from './history-parts.ts';
import { describeLaterWrites } from './revert-writes.ts';
import { revisionNotFound } from './texts.ts';
import { TRIES } from './write-batches.ts';

/** What a revert of one revision is to make of a path. */
interface RevertPlan extends Restoration {
  ifVersion: number;
  present: string | null;
  outcome: 'reverted' | 'unchanged' | 'changed_since';
  /** Who wrote the path since; `null` if it is as the revision left it. */
  since: string | null;
}

/** How a revision is reverted. */
interface RevertOptions {
  dryRun?: boolean | undefined;
  /** The version of the file that the caller has seen. */
  ifVersion?: number | undefined;
  knownErasure: number;
  caller: AuditCaller;
}

/**
 * Writes the content from before a revision as a new revision:
 *
 * 1. Finds the other path of a move: both are reverted, or neither.
 * 2. `planRevert` says what the revert makes of each path.
 * 3. Writes all of them, unless one was written since. If a write comes in between, it plans again.
 */
export async function revertRevision(
  parts: HistoryParts,
  revision: RevisionRecord,
  { dryRun = false, ifVersion, knownErasure, caller }: RevertOptions,
): Promise<RevertAnswer> {
  const { storage, files } = parts;
  const peer = revision.peerId === null ? null : await storage.revisions.get(revision.peerId);
  // To revert one path of a move alone would lose the content that was moved.
  if (revision.peerId !== null && peer === null) throw revisionNotFound(revision.peerId);
  const both = peer === null ? [revision] : [revision, peer];
  for (let tries = 1; ; tries += 1) {
    const plans: RevertPlan[] = [];
    for (const one of both) {
      const expected = one === revision ? ifVersion : undefined;
      plans.push(await planRevert(parts, one, { expected, isInsisting: ifVersion !== undefined }));
    }
    // To revert one path of a move alone would lose the content that was moved.
    const isLeft = plans.some(({ outcome }) => outcome === 'changed_since');
    const writeOptions = {
      reason: `Reverts revision ${revision.id}.`,
      target: revision.id,
      knownErasure,
      // Reverting a dream must not trigger another dream.
      qualifies: revision.actor !== 'dream-agent',
    };
    try {
      const written = dryRun || isLeft ? [] : await files.restore(plans, writeOptions, caller);
      const answered = plans.map((plan, index) => toReverted(plan, written[index], { isLeft }));
      return { dryRun, unchanged: answered.every((file) => file.unchanged), files: answered };
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || ifVersion !== undefined || tries === TRIES) throw error;
    }
  }
}

/**
 * What a revert makes of a path. With a precondition, the caller has seen what was written since
 * (`isInsisting`), and a move is reverted only while its other path is as the move left it.
 */
async function planRevert(
  parts: HistoryParts,
  revision: RevisionRecord,
  { expected, isInsisting }: { expected: number | undefined; isInsisting: boolean },
): Promise<RevertPlan> {
  const key = { scope: revision.scope, path: revision.path };
  if (revision.redactedBefore) throw redactedBefore(revision);
  const { storage, textsOf } = parts;
  const { before } = await textsOf(revision);
  const head = await storage.files.get(key);
  const present = head?.content ?? null;
  const version = present === null ? 0 : (head?.version ?? 0);
  const since = await describeLaterWrites(parts, revision, head);
  const isOther = isInsisting && expected === undefined;
  const wanted =
    isOther && since !== null ? (revision.existsAfter ? revision.version : 0) : expected;
  if (wanted !== undefined && wanted !== version) {
    throw versionConflict(toPhysicalPath(key), { expected: wanted, actual: version });
  }
  const outcome =
    present === before ? 'unchanged' : since === null || isInsisting ? 'reverted' : 'changed_since';
  return { key, content: before, ifVersion: version, present, outcome, since };
}

function redactedBefore({ id }: RevisionRecord): MemoryError {
  return new MemoryError('REVISION_NOT_FOUND', 'The content before this revision is redacted.', {
    details: { id, reason: 'redacted' },
  });
}

/** What became of a path of a reverted revision. `isLeft`: it or the other path was written since. */
function toReverted(
  { key, content, present, outcome, since, ifVersion }: RevertPlan,
  written: AdminWritten | undefined,
  { isLeft }: { isLeft: boolean },
): RevertAnswer['files'][number] {
  const path = toPhysicalPath(key);
  const isWritten = written !== undefined && written.revisionId !== '';
  const planned = isLeft && outcome === 'reverted' ? 'changed_since' : outcome;
  const why = {
    unchanged: null,
    reverted: since === null ? null : `${since} The revert takes that out, too.`,
    changed_since: since ?? 'The other path of the move was written since.',
  }[planned];
  return {
    path,
    outcome: planned,
    version: isWritten ? written.version : null,
    revisionId: isWritten ? written.revisionId : null,
    why,
    diff: planned === 'reverted' ? unifiedDiff(present, content, { path }) : '',
    diffOmitted: false,
    unchanged: planned === 'unchanged',
    fromVersion: ifVersion === 0 ? null : ifVersion,
  };
}
