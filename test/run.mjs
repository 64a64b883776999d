// What `npm test` runs: prepares everything that the tests need, runs them, and ends with one line,
// `N passed, N failed`. Directly before it stands a `failed` line for each test that failed. A test
// that failed only under load, and passed when its file was run alone, is an `unsteady` line. Nothing
// is skipped in silence: each skipped test is a `not run` line, with the command that would run it.
// Before these stand what a test annotates and the slowest files.
//
//   npm test                       everything
//   npm test -- test/core/files    the files whose path contains that
//   npm test -- --node=26          everything on that version of Node, in a copy of the repository
//   npm run test:rules             all rules of the product on SQLite: no browser, no kills, no commands
//   npm run test:release           the long samples of the same tests, and `npm test` on other Nodes
//   npm run test:cluster           instances on three Galera nodes, which are killed and come back

import { createRequire } from 'node:module';
import { OTHER_NODES, runOnEachNode } from './support/each-node.mjs';
import { prepareParts } from './support/prepare-parts.mjs';
import { printAndExit } from './support/print-and-exit.mjs';
import { runSuite, summarize } from './support/run-suite.mjs';

const require = createRequire(import.meta.url);
const {
  checkNode,
  ensureBuilt,
  ensureInstalled,
  orExplain,
  root,
} = require('../core/build/prepare.cjs');

const args = process.argv.slice(2);
const isRelease = args.includes('--release');
if (isRelease) process.env.MEMORY_TEST_RELEASE = '1';
const isRules = args.includes('--rules');
if (isRules) process.env.MEMORY_TEST_RULES = '1';
const isCluster = args.includes('--cluster');
if (isCluster) process.env.MEMORY_TEST_CLUSTER = '1';
const filters = args.filter((arg) => !arg.startsWith('--'));
const majors = args.flatMap((arg) => (/^--node=(\d+)$/.exec(arg) ?? []).slice(1).map(Number));
if (isCluster && filters.length === 0) filters.push('test/cluster');
const isWhole = filters.length === 0 && !isRules;
if (isWhole) process.env.MEMORY_TEST_WHOLE = '1';

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  if (majors.length > 0) await runOnNodes(majors);
  await ensureBuilt();
  await prepareParts({ isCluster, isRules });
});

const { lines, isPassed } = summarize(await runSuite({ root, filters }));
const otherNodes = isRelease ? await runOnEachNode(root, { majors: OTHER_NODES, filters }) : [];
const notRun = isRelease || !isWhole ? [] : ['not run: the release samples (npm run test:release)'];
const output = [...notRun, ...otherNodes.map(({ line }) => line), ...lines];
const code = isPassed && otherNodes.every((node) => node.isPassed) ? 0 : 1;
await printAndExit(`\n${output.join('\n')}\n`, code);

/**
 * Runs the tests on these versions of Node instead, and ends.
 *
 * @param {number[]} majors
 */
async function runOnNodes(majors) {
  const results = await runOnEachNode(root, { majors, filters });
  const lines = results.map(({ line }) => line);
  const code = results.every(({ isPassed }) => isPassed) ? 0 : 1;
  await printAndExit(`\n${lines.join('\n')}\n`, code);
}
