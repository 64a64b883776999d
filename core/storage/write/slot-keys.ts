import type { FileKey, ScopeKey } from '../../contracts/records.ts';

/** The key of a file in a `WriteSet`. */
export function fileSlotKey({ scope, path }: FileKey): string {
  return `${scope}\n${path}`;
}

/** The key of an idempotency row in a `WriteSet`. */
export function idempotencySlotKey(key: { scope: ScopeKey; keyHash: string }): string {
  return `${key.scope}\n${key.keyHash}`;
}
