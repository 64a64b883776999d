// A service whose index goes on beside its writes, in a process that can be killed. Takes tool calls
// as JSON lines on standard input, all at once, and answers each with a line on standard output once
// it is acknowledged or refused; `{"tool":"drain"}` brings the index up to date.
//
//   node indexing-writer.mjs <database> [<driver>]
//
// The database is an SQLite file, or the URL of a server's.

import { createInterface } from 'node:readline';

const [database = '', driver] = process.argv.slice(2);

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);

const { createCore } = await load('core/service.js');
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const core = createCore({
  storage: await openStorage(),
  sharedWrites: true,
  tools: { delete: true, move: true },
  log: quiet,
});
await core.ready();
process.stdout.write('ready\n');

async function openStorage() {
  if (database.startsWith('mysql:')) {
    return (await load('plugins/storage-mysql/index.js')).mysql({ url: database });
  }
  if (database.startsWith('postgres:')) {
    return (await load('plugins/storage-postgres/index.js')).postgres({ url: database });
  }
  const { sqlite } = await load('plugins/storage-sqlite/index.js');
  return sqlite({ filename: database, driver, synchronous: 'normal' });
}

/** @param {{ userId: string, tool: string, args: object }} call */
async function execute({ userId, tool, args }) {
  let outcome = 'done';
  try {
    if (tool === 'drain') await core.indexer.drain();
    else await core.tools.execute(tool, { context: { userId }, arguments: args });
  } catch (error) {
    outcome = /** @type {{ code?: string }} */ (error).code ?? 'failed';
  }
  process.stdout.write(`${outcome}\n`);
}

for await (const line of createInterface({ input: process.stdin })) void execute(JSON.parse(line));
