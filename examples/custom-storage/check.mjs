// Checks the driver against every rule of the storage contract.
//
//   node examples/custom-storage/check.mjs

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalStorage } from './journal-storage.mjs';

// #region check
import { checkStorage, formatResults } from 'memory-service/testing';

const directory = await mkdtemp(join(tmpdir(), 'memory-'));
const results = await checkStorage((place) =>
  journalStorage({ filename: join(directory, `${place}.jsonl`) }),
);
console.log(formatResults(results));
process.exitCode = results.some(({ status }) => status === 'failed') ? 1 : 0;
// #endregion

await rm(directory, { recursive: true });
