import type { PruneAnswer, PruneRequest } from '../contracts/admin.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import type { PruneFilter } from '../contracts/storage.ts';
import { invalidField } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import { labelOf, parsePhysicalPath, toFilteredScope } from '../files/paths.ts';
import { parseTimeOrNull } from '../time/time.ts';
import { sealPruned } from './chain.ts';
import type { HistoryParts } from './history-parts.ts';

/** Removes old revisions, at the request of an operator; the newest one of each file stays. */
export async function pruneRevisions(
  { storage, ids, now }: Pick<HistoryParts, 'storage' | 'ids' | 'now'>,
  request: PruneRequest,
  caller: AuditCaller,
): Promise<PruneAnswer> {
  const { olderThan, keepLast, path, dryRun = false } = request;
  if (olderThan === undefined && keepLast === undefined) {
    throw invalidField('', 'needs olderThan, keepLast or both', 'A prune');
  }
  if (keepLast !== undefined && !(Number.isSafeInteger(keepLast) && keepLast >= 1)) {
    const rule = 'must be a whole number from 1: the newest revision stays';
    throw invalidField('/keepLast', rule, 'keepLast');
  }
  const scope = toFilteredScope(request);
  const filter: PruneFilter = {
    scope,
    path: path === undefined ? null : parsePhysicalPath(path),
    olderThan: parseTimeOrNull(olderThan, 'olderThan'),
    keepLast: keepLast ?? 1,
  };
  const count = await storage.revisions.prune(filter, {
    dryRun,
    seal: sealPruned(now),
    audit: ({ pruned, bytes }) =>
      toAuditRecord(ids, {
        action: 'revisions.prune',
        target: path ?? (scope === null ? 'all' : labelOf(scope)),
        details: { olderThan: olderThan ?? null, keepLast: filter.keepLast, pruned, bytes },
        ...caller,
      }),
  });
  return { ...count, dryRun };
}
