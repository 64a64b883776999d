// What `npm run bench` runs: installs what the service is compared with, builds the service when it
// is stale, and measures. `npm run bench -- --help` says what there is to measure.
//
// Outside the test command, and nothing in it asserts: a figure that is missed is printed, and the
// exit code tells only whether everything could be measured.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(import.meta.url);
const {
  PrepareError,
  checkNode,
  ensureBuilt,
  ensureInstalled,
  orExplain,
  root,
  run,
  say,
} = require('../../core/cli/prepare.cjs');

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  // Only now: before the install there may be no TypeScript to read the suites with.
  await import('./support/typescript.mjs');
  const { main } = await import('./support/main.ts');
  process.exitCode = await main(process.argv.slice(2), {
    async prepare({ isBuildWanted, arePeersWanted }) {
      if (arePeersWanted) await ensurePeersInstalled();
      if (isBuildWanted) await ensureBuilt();
    },
  });
});

async function ensurePeersInstalled() {
  const wanted = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  const missing = Object.keys(wanted).filter(
    (name) =>
      name !== '' && !wanted[name]?.optional && installed[name]?.version !== wanted[name]?.version,
  );
  if (missing.length === 0) return;
  say(`Installing what the service is compared with: ${missing.length} packages, about 430 MB.`);
  const npm = ['ci', '--prefix', 'test/bench', '--loglevel=error'];
  const script = process.env.npm_execpath;
  const result =
    script && /\.c?js$/.test(script)
      ? await run(process.execPath, [script, ...npm], 'still installing')
      : await run(process.platform === 'win32' ? 'npm.cmd' : 'npm', npm, 'still installing');
  if (result.code === 0) return;
  process.stderr.write(result.output);
  throw new PrepareError('npm ci failed in test/bench; what it said stands above.');
}

/**
 * @param {string} relative
 * @returns {Record<string, { version?: string, optional?: boolean } | undefined>}
 */
function readPackages(relative) {
  const file = path.join(root, 'test', 'bench', relative);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}
