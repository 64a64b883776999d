/** What the author of a storage driver checks it with: `memory-service/testing`. */

export { checkStorage, runStorageCase } from './check-storage.ts';
export type { CheckStorageOptions, MakeStorage, StorageCaseResult } from './check-storage.ts';
export type { OpenStorage, StorageCase } from './storage-case.ts';
export { storageCases } from './storage-cases.ts';
