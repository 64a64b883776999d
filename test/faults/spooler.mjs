// A process that spools an archive and imports it, and kills itself on the way.
//
//   node spooler.mjs <database> <file> <point>
//
// The point is a part of the archive's bytes (0 to 1), or the number of transactions after 1.

import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { killAfter, openService } from './doomed.mjs';

const [database = '', file = '', point = ''] = process.argv.slice(2);
/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { spoolArchive } = await load('core/archive/spool.js');
const { core, storage } = await openService(database);

const archive = await readFile(file);
async function* read() {
  for (let at = 0; at < 100; at += 1) {
    if (Number(point) <= 1 && at === Math.floor(100 * Number(point))) {
      process.kill(process.pid, 'SIGKILL');
    }
    const toByte = (/** @type {number} */ part) => Math.floor((part * archive.length) / 100);
    yield archive.subarray(toByte(at), toByte(at + 1));
    // The bytes before are in the file.
    await nextTurn();
  }
}

const spool = await spoolArchive(read());
killAfter(storage, ['mutate'], Number(point) - 1);
const options = { onExisting: 'refuse', dryRun: false, caller: null };
const imported = await core.archive.import(spool.open, options);
while ((await imported.next()).done !== true);
process.kill(process.pid, 'SIGKILL');
