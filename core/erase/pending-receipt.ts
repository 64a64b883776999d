import type { PendingReceipt } from '../contracts/erasure.ts';
import type { Changes } from '../contracts/storage.ts';

/** A setting for each receipt, so that adding one costs the same however many wait. */
export const PENDING_PREFIX = 'database_file_pending:';

export function toPendingKey(id: string): string {
  return `${PENDING_PREFIX}${id}`;
}

/** Says, from the transaction of a receipt on, that the database file may still have its content. */
export function toPendingSetting({
  id,
  at,
}: PendingReceipt): NonNullable<Changes['settings']>[number] {
  return { key: toPendingKey(id), setting: { value: { at } } };
}
