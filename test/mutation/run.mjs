// What `npm run mutation` runs: changes the code of a module in one place after the other, and tells
// which changes no test notices.
//
//   npm run mutation                   all modules; takes an hour or more
//   npm run mutation -- paths patch    these
//
// Ends with the score of each module: the share of the changes that a test notices, or that never end.
// Exits with 1 when a score is below 85%.

import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import path from 'node:path';
import { MODULES } from './modules.mjs';

const require = createRequire(import.meta.url);
const {
  checkNode,
  ensureInstalled,
  ensureInstalledIn,
  orExplain,
} = require('../../core/build/prepare.cjs');

const LEAST_SCORE = 85;
/** Changes that a test noticed, and those that it could have noticed. */
const KILLED = ['Killed', 'Timeout'];
const COUNTED = [...KILLED, 'Survived', 'NoCoverage'];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(MODULES, name));
if (unknown.length > 0) {
  const known = Object.keys(MODULES).join(', ');
  process.stderr.write(`There is no module ${unknown.join(', ')}: choose among ${known}.\n`);
  process.exit(1);
}

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  await ensureInstalledIn('test/mutation', 'what changes the code');
});

// Only now: before the install there is none.
const { Stryker } = await import('@stryker-mutator/core');

const rows = [];
for (const name of wanted.length > 0 ? wanted : Object.keys(MODULES))
  rows.push(await measure(name));
const lines = rows.map(
  ({ name, score, noticed, counted }) =>
    `${name.padEnd(16)}${score.toFixed(1).padStart(6)}%  ${noticed} of ${counted} changes noticed`,
);
process.stdout.write(`\n${lines.join('\n')}\n`);
if (rows.some(({ score }) => score < LEAST_SCORE)) process.exitCode = 1;

/**
 * Tries the changes of one module. What survives is printed with its place.
 *
 * @param {string} name
 */
async function measure(name) {
  const { mutate, tests } = MODULES[name];
  process.stdout.write(`\n== ${name}\n`);
  process.env.MUTATION_TESTS = JSON.stringify(tests);
  const stryker = new Stryker({
    testRunner: 'vitest',
    plugins: [require.resolve('@stryker-mutator/vitest-runner')],
    vitest: { configFile: 'test/mutation/vitest.config.mjs', related: false },
    mutate: [...mutate],
    // The tests read the built command and the docs in no module of the table.
    ignorePatterns: ['.cache', 'coverage', 'data', 'dist', 'docs/images'],
    coverageAnalysis: 'perTest',
    concurrency: cpus().length,
    timeoutMS: 20_000,
    reporters: ['progress-append-only', 'clear-text'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    tempDirName: path.join('.cache', 'mutation'),
    cleanTempDir: 'always',
  });
  const results = await stryker.runMutationTest();
  const noticed = results.filter(({ status }) => KILLED.includes(status)).length;
  const counted = results.filter(({ status }) => COUNTED.includes(status)).length;
  return { name, noticed, counted, score: (100 * noticed) / Math.max(1, counted) };
}
