/** What the author of a storage driver or of a provider checks it with: `memory-service/testing`. */

export { checkStorage, runStorageCase } from './check-storage.ts';
export type { CheckStorageOptions, MakeStorage, StorageCaseResult } from './check-storage.ts';
export type { OpenStorage, StorageCase } from './storage-case.ts';
export { storageCases } from './storage-cases.ts';
export type { ProviderCase, ProviderCaseResult } from './check-provider.ts';
export { checkEmbedder, embedderCases } from './embedder.ts';
export type { EmbedderSetup } from './embedder.ts';
export { checkModelProvider, modelProviderCases } from './model-provider.ts';
export type { ModelProviderSetup } from './model-provider.ts';
