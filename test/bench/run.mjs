// What `npm run bench` runs: installs what the service is compared with, builds the service when it
// is stale, and measures. `npm run bench -- --help` says what there is to measure.
//
// Outside the test command, and nothing in it asserts: a figure that is missed is printed, and the
// exit code tells only whether everything could be measured.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const {
  checkNode,
  ensureBuilt,
  ensureInstalled,
  ensureInstalledIn,
  orExplain,
} = require('../../core/build/prepare.cjs');

await orExplain(async () => {
  checkNode();
  await ensureInstalled();
  // Only now: before the install there may be no TypeScript to read the suites with.
  await import('./support/typescript.mjs');
  const { main } = await import('./support/main.ts');
  process.exitCode = await main(process.argv.slice(2), {
    async prepare({ isBuildWanted, arePeersWanted }) {
      if (arePeersWanted)
        await ensureInstalledIn('test/bench', 'what the service is compared with (430 MB)');
      if (isBuildWanted) await ensureBuilt();
    },
  });
});
