import type { AuditCaller } from '../contracts/plugin.ts';
import type { AuditRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { IdSource } from '../ids/ids.ts';

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
