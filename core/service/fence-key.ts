import { randomBytes } from 'node:crypto';
import type { ConfigStore } from '../contracts/storage.ts';
import { toMemoryError } from '../errors.ts';
import { readInstallationKey } from '../telemetry/installation-key.ts';

/** Creates the reader of the key by which prompts mark what comes from memory. It is read once. */
export function createFenceKey(config: ConfigStore): () => Promise<Buffer> {
  let readKey: Promise<Buffer> | null = null;
  return () =>
    (readKey ??= readInstallationKey(config, 'service_fence_key').catch((error: unknown) => {
      readKey = null;
      const { code } = toMemoryError(error);
      if (code !== 'STORAGE_FULL' && code !== 'STORAGE_UNAVAILABLE') throw error;
      // Reads go on while nothing can be written. Marks of a key for one call are as safe, but no
      // provider has cached a prompt with them.
      return randomBytes(32);
    }));
}
