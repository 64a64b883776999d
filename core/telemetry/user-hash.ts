import { createHmac, randomBytes } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

const KEY = 'service_trace_user_key';
const KEY_BYTES = 32;
const DIGITS = 32;

/**
 * Creates the hash that replaces user ids in exports: the first 32 hex digits of HMAC-SHA-256. The key
 * is created once and stored in `svc_config`, so that all instances make the same hash, and nobody
 * without the database can guess user ids. Rejects with `INTERNAL` if the stored key is invalid.
 */
export async function createUserHash(config: ConfigStore): Promise<(userId: string) => string> {
  const kept = await config.setIfAbsent(KEY, randomBytes(KEY_BYTES).toString('base64url'));
  const key = Buffer.from(typeof kept === 'string' ? kept : '', 'base64url');
  // A short key could be guessed, and the user ids with it.
  if (key.byteLength < KEY_BYTES) {
    throw new MemoryError('INTERNAL', `${KEY} in svc_config is no key of ${KEY_BYTES} bytes.`);
  }
  return (userId) => createHmac('sha256', key).update(userId).digest('hex').slice(0, DIGITS);
}
