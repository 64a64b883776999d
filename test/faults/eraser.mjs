// A process that erases a user and kills itself after so many transactions of the erasure.
//
//   node eraser.mjs <database> <user> <transactions>

const [database = '', userId = '', transactions = ''] = process.argv.slice(2);

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { createCore } = await load('core/service.js');
const isMysql = database.startsWith('mysql:');
const plugin = await load(`plugins/storage-${isMysql ? 'mysql' : 'sqlite'}/index.js`);
const storage = isMysql ? plugin.mysql({ url: database }) : plugin.sqlite({ filename: database });

const core = createCore({ storage });
await core.ready();
let left = Number(transactions);
for (const name of ['begin', 'erase', 'end']) {
  const method = storage.erasure[name];
  /** @param {unknown[]} args */
  storage.erasure[name] = async (...args) => {
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    left -= 1;
    return await method(...args);
  };
}
await core.erasures.erase(userId, { confirm: userId }, { address: null, traceId: null });
process.kill(process.pid, 'SIGKILL');
