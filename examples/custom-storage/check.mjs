// Checks the driver against every rule of the storage contract.
//
//   node examples/custom-storage/check.mjs

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalStorage } from './journal-storage.mjs';

// #region check
import { checkStorage } from 'memory-service/testing';

const directory = await mkdtemp(join(tmpdir(), 'memory-'));
const results = await checkStorage((place) =>
  journalStorage({ filename: join(directory, `${place}.jsonl`) }),
);
const broken = results.filter(({ error }) => error !== null);
for (const { name, error } of broken)
  console.error(`It does not hold: ${name}\n${error?.message}\n`);
console.log(`${results.length - broken.length} of ${results.length} rules hold.`);
// #endregion

await rm(directory, { recursive: true });
process.exitCode = broken.length === 0 ? 0 : 1;
