// Kills the service by hand as often as one likes, and says what was lost:
//
//   node test/faults/kill.mjs --kills 500          the built command, over HTTP
//   node test/faults/kill.mjs --kills 5000 --bare  the write path on its storage, without HTTP

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
const { ensureBuilt, orExplain, root } = require('../../core/build/prepare.cjs');

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '500' }, bare: { type: 'boolean', default: false } },
});
process.env.MEMORY_TEST_KILLS = values.kills;

await orExplain(ensureBuilt);
const { startVitest } = await import('vitest/node');
const file = values.bare ? 'test/faults/kill-writer.test.ts' : 'test/faults/kill.test.ts';
const testNamePattern = 'loses nothing that it acknowledged';
await startVitest('test', [file], { root, run: true, watch: false, testNamePattern });
