import { dreamCases } from './dreams.ts';
import { erasureCases } from './erasure.ts';
import { fileCases } from './files.ts';
import { guardCases } from './guards.ts';
import { listCases } from './lists.ts';
import { logCases } from './log.ts';
import { mutationCases } from './mutations.ts';
import { observationCases } from './observations.ts';
import { revisionCases } from './revisions.ts';
import { searchIndexCases } from './search-index.ts';
import { settingCases } from './settings.ts';
import { vectorCases } from './vectors.ts';
import type { StorageCase } from './storage-case.ts';

/** Every rule of the stores, for the databases that they run on. */
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
