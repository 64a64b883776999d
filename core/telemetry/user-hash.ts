import { createHmac } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { readInstallationKey } from '../installation-key.ts';

const DIGITS = 32;

/**
 * Makes the hash that stands for a user in what is exported: HMAC-SHA-256, its first 32 hex digits.
 * A user has the same hash in every instance, and nobody without the database can try user ids.
 * Rejects with `INTERNAL` when what is kept as the key is none.
 */
export async function createUserHash(config: ConfigStore): Promise<(userId: string) => string> {
  const key = await readInstallationKey(config, 'service_trace_user_key');
  return (userId) => createHmac('sha256', key).update(userId).digest('hex').slice(0, DIGITS);
}
