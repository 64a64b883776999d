import { createHmac } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { readInstallationKey } from './installation-key.ts';

const DIGITS = 32;

/**
 * Creates the hash that replaces user ids in exports: the first 32 hex digits of HMAC-SHA-256. All
 * instances make the same hash, and nobody without the database can guess user ids. Rejects with
 * `INTERNAL` if the stored key is invalid.
 */
export async function createUserHash(config: ConfigStore): Promise<(userId: string) => string> {
  const key = await readInstallationKey(config, 'service_trace_user_key');
  return (userId) => createHmac('sha256', key).update(userId).digest('hex').slice(0, DIGITS);
}
