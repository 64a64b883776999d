import type { FileKey, ScopeKey } from '../../contracts/records.ts';

/** A row as it was read, and its state after the mutations so far. */
export interface Slot<T> {
  before: T | null;
  now: T | null;
}

/** The key of a file in a `WriteSet`. */
export function fileSlotKey({ scope, path }: FileKey): string {
  return `${scope}\n${path}`;
}

/** The key of an idempotency row in a `WriteSet`. */
export function idempotencySlotKey(key: { scope: ScopeKey; keyHash: string }): string {
  return `${key.scope}\n${key.keyHash}`;
}
