// What `npm test` runs: prepares everything that the tests need, runs them, and ends with one line,
// `N passed, N failed`. Nothing is skipped in silence: each skipped test is a `not run` line before
// it, with the command that would run it. Before these stand what a test annotates and the slowest
// files.
//
//   npm test                       everything
//   npm test -- test/core/files    the files whose path contains that
//   npm test -- --node=26          everything on that version of Node, in a copy of the repository
//   npm run test:release           the long samples of the same tests, and `npm test` on other Nodes
//   npm run test:cluster           instances on three Galera nodes, which are killed and come back

import { createRequire } from 'node:module';
import { OTHER_NODES, runOnEachNode } from './support/each-node.mjs';
import { prepareParts } from './support/prepare-parts.mjs';
import { printAndExit } from './support/print-and-exit.mjs';

const require = createRequire(import.meta.url);
const {
  checkNode,
  ensureBuilt,
  ensureInstalled,
  orExplain,
  root,
} = require('../core/build/prepare.cjs');

/** The files that took longest are named, so that who shortens the run knows where to look. */
const SLOW_FILES = 20;
const SLOW_MS = 20_000;

const args = process.argv.slice(2);
const isRelease = args.includes('--release');
if (isRelease) process.env.MEMORY_TEST_RELEASE = '1';
const isCluster = args.includes('--cluster');
if (isCluster) process.env.MEMORY_TEST_CLUSTER = '1';
const filters = args.filter((arg) => !arg.startsWith('--'));
const majors = args.flatMap((arg) => (/^--node=(\d+)$/.exec(arg) ?? []).slice(1).map(Number));
if (isCluster && filters.length === 0) filters.push('test/cluster');
if (filters.length === 0) process.env.MEMORY_TEST_WHOLE = '1';

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  if (majors.length > 0) await runOnNodes(majors);
  await ensureBuilt();
  await prepareParts({ isCluster });
});

// Only now: before the install there may be no vitest.
const { startVitest } = await import('vitest/node');
const vitest = await startVitest('test', filters, { root, run: true, watch: false });
const modules = vitest.state.getTestModules();
const unhandled = vitest.state.getUnhandledErrors();
await vitest.close();

const count = { passed: 0, failed: 0 };
const notRun = [];
const notes = [];
const slow = modules
  .map((module) => ({ file: module.relativeModuleId, ms: module.diagnostic().duration }))
  .filter(({ ms }) => ms >= SLOW_MS)
  .sort((a, b) => b.ms - a.ms)
  .slice(0, SLOW_FILES);
for (const module of modules) {
  let failedHere = 0;
  for (const test of module.children.allTests()) {
    notes.push(...test.annotations().map(({ message }) => message));
    const result = test.result();
    if (result.state === 'passed') count.passed += 1;
    else if (result.state === 'failed') failedHere += 1;
    else {
      const note = result.state === 'skipped' ? result.note : undefined;
      notRun.push(`${test.fullName} (${note ?? `npx vitest run ${module.relativeModuleId}`})`);
    }
  }
  // A file that does not even load has no tests to fail: it counts as one.
  if (failedHere === 0 && module.state() === 'failed') failedHere = 1;
  count.failed += failedHere;
}
if (count.failed === 0 && unhandled.length > 0) count.failed = unhandled.length;
if (count.passed + count.failed === 0) {
  count.failed = 1;
  notRun.push('everything (no test file was found)');
}
if (process.env.MEMORY_TEST_RELEASE === undefined && filters.length === 0) {
  notRun.push('the release samples (npm run test:release)');
}

const otherNodes = isRelease ? await runOnEachNode(root, { majors: OTHER_NODES, filters }) : [];

const lines = [
  ...notes,
  ...slow.map(({ file, ms }) => `slow: ${file} (${Math.round(ms / 1_000)} s)`),
  ...notRun.map((line) => `not run: ${line}`),
  ...otherNodes.map(({ line }) => line),
  `${count.passed} passed, ${count.failed} failed`,
];
const code = count.failed === 0 && otherNodes.every(({ isPassed }) => isPassed) ? 0 : 1;
await printAndExit(`\n${lines.join('\n')}\n`, code);

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
