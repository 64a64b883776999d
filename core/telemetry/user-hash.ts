import { createHmac, randomBytes } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

const KEY = 'service_trace_user_key';
const KEY_BYTES = 32;
const DIGITS = 32;

/**
 * Makes the hash that stands for a user in what is exported: HMAC-SHA-256, its first 32 hex digits.
 * The key is made once and kept in `svc_config`, so that a user has the same hash in every instance
 * and nobody without the database can try user ids. Rejects with `INTERNAL` when what is kept there
 * is no key.
 */
export async function createUserHash(config: ConfigStore): Promise<(userId: string) => string> {
  const kept = await config.setIfAbsent(KEY, randomBytes(KEY_BYTES).toString('base64url'));
  const key = Buffer.from(typeof kept === 'string' ? kept : '', 'base64url');
  // A short one could be found by trial, and with it the users.
  if (key.byteLength < KEY_BYTES) {
    throw new MemoryError('INTERNAL', `${KEY} in svc_config is no key of ${KEY_BYTES} bytes.`);
  }
  return (userId) => createHmac('sha256', key).update(userId).digest('hex').slice(0, DIGITS);
}
