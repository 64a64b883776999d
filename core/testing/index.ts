/** What the author of a database, an embedder or a model provider checks it with. */

export type { CheckProviderOptions, ProviderCase, ProviderSetup } from './check-provider.ts';
export { checkDatabase, databaseCases } from './database.ts';
export type {
  CheckDatabaseOptions,
  DatabaseBench,
  DatabaseCase,
  DatabaseFaults,
  Fault,
  MakeDatabase,
} from './database.ts';
export { checkEmbedder, embedderCases } from './embedder.ts';
export type { EmbedderSetup } from './embedder.ts';
export { checkModelProvider, modelProviderCases } from './model-provider.ts';
export type { ModelProviderSetup } from './model-provider.ts';
export { countResults, formatResults } from './report.ts';
export type { CaseResult, FailedCase, PassedCase, SkippedCase } from './report.ts';
