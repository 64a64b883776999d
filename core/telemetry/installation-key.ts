import { randomBytes } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

const KEY_BYTES = 32;

/**
 * A secret key of this installation: made once and kept in `svc_config`, so that every instance has
 * the same one. Rejects with `INTERNAL` where what is kept under the name is too short.
 */
export async function readInstallationKey(config: ConfigStore, name: string): Promise<Buffer> {
  const kept = await config.setIfAbsent(name, randomBytes(KEY_BYTES).toString('base64url'));
  const key = Buffer.from(typeof kept === 'string' ? kept : '', 'base64url');
  // A short one could be found by trial.
  if (key.byteLength < KEY_BYTES) {
    throw new MemoryError('INTERNAL', `${name} in svc_config is no key of ${KEY_BYTES} bytes.`);
  }
  return key;
}
