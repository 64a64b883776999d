import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

/**
 * The version of the driver contract. Version 2: the search index is made of blobs that only core
 * understands.
 */
const CONTRACT_VERSION: Storage['contractVersion'] = 2;

/** Refuses a driver that was made for another version of the contract, with `INVALID_REQUEST`. */
export function checkStorageContract(storage: Storage): void {
  // From JavaScript, or from a package that was built for another version.
  const found: unknown = storage.contractVersion;
  if (found === CONTRACT_VERSION) return;
  const made = found === undefined ? 'an older version' : `version ${String(found)}`;
  throw new MemoryError(
    'INVALID_REQUEST',
    `The storage driver ${storage.name} was made for ${made} of the driver contract; this service needs version ${CONTRACT_VERSION}. Install a matching version of the driver.`,
  );
}
