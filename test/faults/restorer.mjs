// A process that restores a memory to an earlier time and kills itself after so many transactions.
//
//   node restorer.mjs <database> <user> <time> <transactions>

import { randomUUID } from 'node:crypto';

const [database = '', userId = '', at = '', transactions = ''] = process.argv.slice(2);

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
const caller = { address: null, traceId: randomUUID().replaceAll('-', '') };
await core.restores.restore(userId, { at }, caller);
process.kill(process.pid, 'SIGKILL');
