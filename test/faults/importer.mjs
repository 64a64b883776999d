// A process that imports a file and kills itself after so many transactions.
//
//   node importer.mjs <database> <file> <transactions>

import { createReadStream } from 'node:fs';

const [database = '', file = '', transactions = ''] = process.argv.slice(2);

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { createCore } = await load('core/service.js');
const isMysql = database.startsWith('mysql:');
const plugin = await load(`plugins/storage-${isMysql ? 'mysql' : 'sqlite'}/index.js`);
const storage = isMysql ? plugin.mysql({ url: database }) : plugin.sqlite({ filename: database });

const core = createCore({ storage });
await core.ready();
const mutate = storage.mutate;
let left = Number(transactions);
/** @param {unknown[]} args */
storage.mutate = async (...args) => {
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  left -= 1;
  return await mutate(...args);
};
const options = { onExisting: 'refuse', dryRun: false, caller: null };
const imported = await core.archive.import(() => createReadStream(file), options);
while ((await imported.next()).done !== true);
process.kill(process.pid, 'SIGKILL');
