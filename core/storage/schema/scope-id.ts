import { createHash } from 'node:crypto';
import type { ScopeKey } from '../../contracts/records.ts';
import { MemoryError } from '../../errors.ts';

/** Scopes whose number is cached: a busy instance sees the same few repeatedly. */
const REMEMBERED = 10_000;
const remembered = new Map<string, number>();

/**
 * The number of a scope in the tables: the first 53 bits of SHA-256 over its UTF-8, which every
 * driver passes to JavaScript exactly. Never 0, which stands for all scopes together.
 *
 * Two scopes can have the same number (a chance of 1 in 18,000 among a million users), so every
 * read of a row of `svc_scope` also compares the text.
 */
export function toScopeId(scope: ScopeKey): number {
  const known = remembered.get(scope);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(scope, 'utf8').digest();
  const scopeId = digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3) || 1;
  if (remembered.size >= REMEMBERED) remembered.clear();
  remembered.set(scope, scopeId);
  return scopeId;
}

/** The error for a scope whose number another scope has. */
export function sameNumber(): MemoryError {
  return new MemoryError(
    'INTERNAL',
    'Two scopes have the same number in the database, so one of them can not be used.',
  );
}
