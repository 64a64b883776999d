// What the processes have in common that kill themselves in the middle of their work.

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);

/**
 * Opens the service on a database, without HTTP.
 *
 * @param {string} database a file name, or the URL of a MySQL or PostgreSQL database
 * @param {{ driver?: string }} [options] of SQLite
 */
export async function openService(database, options = {}) {
  const { createCore } = await load('core/service.js');
  const { createStorage } = await load('core/storage/storage.js');
  const server = ['mysql', 'postgres'].find((name) => database.startsWith(name));
  const plugin = await load(`plugins/storage-${server ?? 'sqlite'}/index.js`);
  const storage = createStorage(
    server === undefined
      ? plugin.sqlite({ filename: database, ...options })
      : plugin[server]({ url: database }),
  );
  // No other instance has to see an erasure before it goes on.
  const core = createCore({ storage }, { erasureLookMs: 1 });
  await core.ready();
  return { core, storage };
}

/**
 * Kills the process when methods of a store were called so many times, or so many milliseconds into the
 * call after these.
 *
 * @param {Record<string, (...args: unknown[]) => Promise<unknown>>} store
 * @param {string[]} names
 * @param {number} calls
 * @param {number} [delay]
 */
export function killAfter(store, names, calls, delay = 0) {
  let left = calls;
  for (const name of names) {
    const method = store[name];
    store[name] = async (...args) => {
      const kill = () => process.kill(process.pid, 'SIGKILL');
      if (left === 0 && delay === 0) kill();
      if (left === 0) setTimeout(kill, delay);
      left -= 1;
      return await method?.(...args);
    };
  }
}
