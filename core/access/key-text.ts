import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '../contracts/access.ts';

/** The setting with the number of the last change of keys. */
export const KEYS_GENERATION = 'service_keys_generation';

/** What a key starts with, so that one is found by scanners of secrets, and says what it opens. */
const STARTS: Record<KeyRecord['kind'], string> = { tools: 'msk', admin: 'mso' };
const KEY = /^ms[ko]_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

/** A new key: the text that its owner gets, and what is kept of it. */
export function makeKey(kind: KeyRecord['kind']): {
  text: string;
  kept: Pick<KeyRecord, 'prefix' | 'hash'>;
} {
  const prefix = randomBytes(8).toString('hex');
  const text = `${STARTS[kind]}_${prefix}_${randomBytes(32).toString('base64url')}`;
  return { text, kept: { prefix, hash: hash('sha256', text, 'hex') } };
}

/** The part of a presented text by which a key of the kind is looked up; `null` if it is no such key. */
export function toPrefix(kind: KeyRecord['kind'], presented: string): string | null {
  if (!presented.startsWith(STARTS[kind])) return null;
  return KEY.exec(presented)?.[1] ?? null;
}

/** Compares a presented text with a kept hash, in constant time. */
export function isKey(presented: string, kept: string): boolean {
  return timingSafeEqual(hash('sha256', presented, 'buffer'), Buffer.from(kept, 'hex'));
}
