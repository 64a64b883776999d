// What the processes have in common that kill themselves in the middle of their work.

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);

/**
 * Opens the service on a database, without HTTP.
 *
 * @param {string} database a file name, or the URL of a MySQL database
 * @param {{ driver?: string }} [options] of SQLite
 */
export async function openService(database, options = {}) {
  const { createCore } = await load('core/service.js');
  const { createStorage } = await load('core/storage/storage.js');
  const isMysql = database.startsWith('mysql:');
  const plugin = await load(`plugins/storage-${isMysql ? 'mysql' : 'sqlite'}/index.js`);
  const storage = createStorage(
    isMysql ? plugin.mysql({ url: database }) : plugin.sqlite({ filename: database, ...options }),
  );
  // No other instance has to see an erasure before it goes on.
  const core = createCore({ storage }, { erasureLookMs: 1 });
  await core.ready();
  return { core, storage };
}

/**
 * Kills the process when methods of a store were called so many times.
 *
 * @param {Record<string, (...args: unknown[]) => Promise<unknown>>} store
 * @param {string[]} names
 * @param {number} calls
 */
export function killAfter(store, names, calls) {
  let left = calls;
  for (const name of names) {
    const method = store[name];
    store[name] = async (...args) => {
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      left -= 1;
      return await method?.(...args);
    };
  }
}
