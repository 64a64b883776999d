// Checks the database against every rule, each on an empty file.
//
//   node examples/custom-database/check.mjs

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// #region check
import { checkDatabase, countResults, formatResults } from 'memory-service/testing';
import { libsql } from './libsql.mjs';

const folder = await mkdtemp(join(tmpdir(), 'memory-'));
const results = await checkDatabase((place) => libsql({ filename: join(folder, `${place}.db`) }));
console.log(formatResults(results));
process.exitCode = countResults(results).failed === 0 ? 0 : 1;
await rm(folder, { recursive: true });
// #endregion
