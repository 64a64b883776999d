/** What the author of a storage driver, an embedder or a model provider checks it with. */

export { checkStorage, runStorageCase } from './check-storage.ts';
export type { CheckStorageOptions, MakeStorage, RunStorageCaseOptions } from './check-storage.ts';
export type { OpenStorage, StorageCase } from './storage-case.ts';
export { storageCases } from './storage-cases.ts';
export type { CheckProviderOptions, ProviderCase, ProviderSetup } from './check-provider.ts';
export { checkEmbedder, embedderCases } from './embedder.ts';
export type { EmbedderSetup } from './embedder.ts';
export { checkModelProvider, modelProviderCases } from './model-provider.ts';
export type { ModelProviderSetup } from './model-provider.ts';
export { countResults, formatResults } from './report.ts';
export type {
  AbsentCase,
  FailedCase,
  OptionalStore,
  PassedCase,
  ProviderCaseResult,
  StorageCaseResult,
} from './report.ts';
