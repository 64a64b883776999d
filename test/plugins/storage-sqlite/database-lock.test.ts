import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SqliteModule } from '../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { claimOwner, readOwner } from '../../../plugins/storage-sqlite/index.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { write } from '../../support/rows.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

const PLUGIN = fileURLToPath(
  new URL('../../../dist/plugins/storage-sqlite/index.js', import.meta.url),
);
const address = 'http://127.0.0.1:8787';

async function databaseFile(): Promise<string> {
  return join(await temporaryDirectory(), 'memory.db');
}

describe.each(sqliteDrivers)('the owner of a file (%s)', (driver) => {
  it('is the one server that claimed it, until it lets go', async () => {
    const filename = await databaseFile();
    expect(await readOwner(filename, { driver })).toBeNull();
    const owner = await claimOwner(filename, { address, driver });
    expect(await readOwner(filename, { driver })).toEqual({ address, pid: process.pid });
    const error = await rejection(claimOwner(filename, { address: 'http://127.0.0.1:1', driver }));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain(address);
    expect(error.details).toEqual({ address });
    // The refused one has left no trace.
    expect(await readOwner(filename, { driver })).toEqual({ address, pid: process.pid });
    await owner.release();
    expect(await readOwner(filename, { driver })).toBeNull();
    const next = await claimOwner(filename, { address: 'http://127.0.0.1:2', driver });
    expect(await readOwner(filename, { driver })).toMatchObject({ address: 'http://127.0.0.1:2' });
    await next.release();
  });

  it('is one claim by all names that lead to the file, which need not exist', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'real'));
    await symlink('real', join(directory, 'folder'));
    await symlink('folder/memory.db', join(directory, 'link.db'));
    await symlink('link.db', join(directory, 'chain.db'));
    const names = ['real/memory.db', 'folder/memory.db', 'link.db', 'chain.db'];
    for (const claimed of names) {
      const owner = await claimOwner(join(directory, claimed), { address, driver });
      for (const name of names) {
        const filename = join(directory, name);
        expect(await readOwner(filename, { driver })).toMatchObject({ address });
        const error = await rejection(claimOwner(filename, { address: 'x', driver }));
        expect(error.details).toEqual({ address });
      }
      await owner.release();
    }
    expect((await readdir(directory)).sort()).toEqual(['chain.db', 'folder', 'link.db', 'real']);
  });

  it('can announce another address without letting go for others', async () => {
    const filename = await databaseFile();
    const owner = await claimOwner(filename, { address: 'http://127.0.0.1:0', driver });
    await owner.announce(address);
    expect(await readOwner(filename, { driver })).toMatchObject({ address });
    expect((await rejection(claimOwner(filename, { address: 'x', driver }))).details).toEqual({
      address,
    });
    await owner.release();
  });

  it('is one of several that claim it at once, and its address is the one that is read', async () => {
    const filename = await databaseFile();
    const claims = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) =>
        claimOwner(filename, { address: `http://server-${index}`, driver }),
      ),
    );
    const winners = claims.flatMap((claim, index) =>
      claim.status === 'fulfilled' ? [{ index, owner: claim.value }] : [],
    );
    expect(winners).toHaveLength(1);
    const [winner] = winners;
    expect(await readOwner(filename, { driver })).toMatchObject({
      address: `http://server-${winner?.index}`,
    });
    await winner?.owner.release();
  });

  it('waits for whoever makes the file of owners, however long that takes', async () => {
    const filename = await databaseFile();
    const other = await (
      await loadSqliteModule(driver)
    ).open(`${filename}.owner`, { busyTimeoutMs: 0 });
    await other.exec('begin exclusive');
    const claiming = claimOwner(filename, { address, driver });
    await sleep(500);
    await other.exec('rollback');
    await other.close();
    const owner = await claiming;
    expect(await readOwner(filename, { driver })).toMatchObject({ address });
    await owner.release();
  });

  it('is starting where its address is not written yet', async () => {
    const filename = await databaseFile();
    await (await claimOwner(filename, { address, driver })).release();
    const other = await (
      await loadSqliteModule(driver)
    ).open(`${filename}.owner`, { busyTimeoutMs: 0 });
    await other.exec('begin immediate');
    const error = await rejection(claimOwner(filename, { address, driver }));
    expect([error.code, error.details]).toEqual(['STORAGE_UNAVAILABLE', { address: 'starting' }]);
    await other.exec('rollback');
    await other.close();
  });

  it('is not taken for another that came between', async () => {
    const filename = await databaseFile();
    const real = await loadSqliteModule(driver);
    let begun = 0;
    const module: SqliteModule = {
      ...real,
      async open(file, options) {
        const connection = await real.open(file, options);
        return {
          ...connection,
          async exec(sql) {
            // Our row is committed; before we hold the lock for good, another server claims and dies.
            if (sql === 'begin immediate' && (begun += 1) === 2) {
              const other = await real.open(file, options);
              await other.run("update owner set token = 'other', address = 'http://other'", []);
              await other.close();
            }
            await connection.exec(sql);
          },
        };
      },
    };
    const owner = await claimOwner(filename, { address, driver: module });
    expect(begun).toBeGreaterThan(2);
    expect(await readOwner(filename, { driver })).toMatchObject({ address });
    await owner.release();
  });

  it('loses its claim to another that comes while it announces, and can still be let go', async () => {
    const filename = await databaseFile();
    const real = await loadSqliteModule(driver);
    let onRollback: (() => Promise<void>) | null = null;
    const module: SqliteModule = {
      ...real,
      async open(...args) {
        const connection = await real.open(...args);
        return {
          ...connection,
          async exec(sql) {
            await connection.exec(sql);
            if (sql === 'rollback') await onRollback?.();
          },
        };
      },
    };
    const first = await claimOwner(filename, { address: 'starting', driver: module });
    let second: Awaited<ReturnType<typeof claimOwner>> | null = null;
    onRollback = async () => {
      onRollback = null;
      second = await claimOwner(filename, { address, driver });
    };
    const error = await rejection(first.announce('http://127.0.0.1:1'));
    expect([error.code, error.details]).toEqual(['STORAGE_UNAVAILABLE', { address }]);
    await first.release();
    expect(await readOwner(filename, { driver })).toEqual({ address, pid: process.pid });
    await (second as unknown as Awaited<ReturnType<typeof claimOwner>>).release();
  });

  it('keeps nobody in process from using the file', async () => {
    const filename = await databaseFile();
    const owner = await claimOwner(filename, { address, driver });
    const storage = sqlite({ filename, driver });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });
    await write(storage, { scope: 's', path: 'f' }, 'text');
    expect((await storage.files.get({ scope: 's', path: 'f' }))?.content).toBe('text');
    await owner.release();
  });
});

it('frees the file of a server that was killed', async () => {
  if (!existsSync(PLUGIN)) throw new Error('The plugin is not built: npm run build');
  const filename = await databaseFile();
  const program =
    `const { claimOwner } = await import(${JSON.stringify(pathToFileURL(PLUGIN).href)});` +
    `await claimOwner(${JSON.stringify(filename)}, { address: 'http://killed' });` +
    `process.stdout.write('claimed'); setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  expect(await readOwner(filename)).toEqual({ address: 'http://killed', pid: child.pid });
  expect((await rejection(claimOwner(filename, { address }))).message).toContain('http://killed');
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  expect(await readOwner(filename)).toBeNull();
  const owner = await claimOwner(filename, { address });
  await owner.release();
});
