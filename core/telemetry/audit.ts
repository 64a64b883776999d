import type { AuditCaller } from '../contracts/plugin.ts';
import type { AuditRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import { toTime } from '../time/time.ts';

/** The caller of work that no request waits for. */
export const NOBODY: AuditCaller = { operator: null, address: null, traceId: null };

/** What was done, and who asked for it; `null` for nobody. */
export type AuditEntry = Omit<AuditRecord, 'id' | 'at' | 'operator'> &
  Pick<AuditCaller, 'operator'>;

/** Makes the audit row of an entry, with the id and the time of now. */
export function toAuditRecord(ids: IdSource, entry: AuditEntry): AuditRecord {
  const id = ids.next();
  return { ...entry, operator: entry.operator ?? null, id, at: ids.lastMs };
}

/** Writes the audit row of something that changes no memory file. */
export async function writeAudit(
  { storage, ids }: { storage: Pick<Storage, 'mutate'>; ids: IdSource },
  entry: AuditEntry,
): Promise<void> {
  const changes = { audit: [toAuditRecord(ids, entry)] };
  await storage.mutate({ scopes: [], files: [] }, () => ({ result: null, writes: 0, changes }));
}

/** Audit rows of each action that are looked through for the last change of something. */
const ROWS_READ = 200;

/**
 * Changes something. To a `VERSION_CONFLICT` it adds who made the last change of it, and when, as the
 * newest audit rows with these actions tell: `changedBy` and `changedAt`, both `null` where none has the
 * target.
 */
export async function withLastChange<T>(
  audit: Storage['audit'],
  what: { actions: readonly string[]; target?: string },
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code !== 'VERSION_CONFLICT') throw error;
    const details = { ...error.details, ...(await findLastChange(audit, what)) };
    throw new MemoryError('VERSION_CONFLICT', error.message, {
      details,
      situation: 'setting',
      cause: error,
    });
  }
}

async function findLastChange(
  audit: Storage['audit'],
  { actions, target }: { actions: readonly string[]; target?: string },
): Promise<{ changedBy: string | null; changedAt: string | null }> {
  const page = { limit: ROWS_READ, order: 'desc', after: null } as const;
  const found = await Promise.all(actions.map((action) => audit.list({ action }, page)));
  const [newest] = found
    .flatMap(({ items }) => items)
    .filter((row) => target === undefined || row.target === target)
    .sort((one, other) => (one.id > other.id ? -1 : 1));
  return {
    changedBy: newest?.operator ?? null,
    changedAt: newest === undefined ? null : toTime(newest.at),
  };
}
