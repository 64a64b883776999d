import { dreamCases } from './storage/dreams.ts';
import { erasureCases } from './storage/erasure.ts';
import { fileCases } from './storage/files.ts';
import { guardCases } from './storage/guards.ts';
import { listCases } from './storage/lists.ts';
import { logCases } from './storage/log.ts';
import { mutationCases } from './storage/mutations.ts';
import { observationCases } from './storage/observations.ts';
import { revisionCases } from './storage/revisions.ts';
import { searchIndexCases } from './storage/search-index.ts';
import { settingCases } from './storage/settings.ts';
import { vectorCases } from './storage/vectors.ts';
import type { StorageCase } from './storage-case.ts';

/**
 * Every rule of the storage contract, as named cases for any test runner. Each takes a function that
 * opens storages, and rejects with a `node:assert` error that says what is wrong. A case opens its
 * own storage, so cases can run in any order, and in parallel if the driver allows several open
 * storages.
 *
 * @example
 * // With node:test.
 * import { test } from 'node:test';
 * import { runStorageCase, storageCases } from 'memory-service/testing';
 *
 * for (const storageCase of storageCases) {
 *   test(storageCase.name, () => runStorageCase(storageCase, makeStorage));
 * }
 */
export const storageCases: readonly StorageCase[] = [
  ...fileCases(),
  ...mutationCases(),
  ...guardCases(),
  ...listCases(),
  ...revisionCases(),
  ...logCases(),
  ...observationCases(),
  ...dreamCases(),
  ...settingCases(),
  ...erasureCases(),
  ...searchIndexCases(),
  ...vectorCases(),
];
