import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { write } from '../../support/rows.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';
import type { SqliteDriver } from '../../../plugins/storage-sqlite/connection.ts';
import { sampledDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

const PLUGIN = fileURLToPath(
  new URL('../../../dist/plugins/storage-sqlite/index.js', import.meta.url),
);
const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const OPEN_ELSEWHERE = {
  code: 'STORAGE_UNAVAILABLE',
  message: expect.stringContaining('open by another path') as string,
};

beforeAll(() => {
  if (!existsSync(PLUGIN)) throw new Error('The plugin is not built: npm run build');
});

/** Another process that opens the file and keeps it open. Returns how to end it. */
async function openElsewhere(filename: string): Promise<() => Promise<void>> {
  const program =
    `const { sqlite } = await import(${JSON.stringify(pathToFileURL(PLUGIN).href)});` +
    `const storage = sqlite({ filename: ${JSON.stringify(filename)} });` +
    `const log = { debug() {}, info() {}, warn() {}, error() {} };` +
    `const damage = { note: (error) => error, confirm: (work) => work() };` +
    `await storage.open({ log, now: Date.now, damage });` +
    // Whatever nobody refers to is closed by the garbage collector.
    `process.stdout.write('open'); setInterval(() => storage, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return async () => {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
  };
}

async function open(filename: string, driver: SqliteDriver): Promise<Storage> {
  const storage = sqlite({ filename, driver });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

describe.each(sampledDrivers)('a file that another process has open (%s)', (driver) => {
  it('is refused by another path until that process ends', async () => {
    const directory = await temporaryDirectory();
    const filename = join(directory, 'memory.db');
    const first = await open(filename, driver);
    await write(first, alice, 'kept');
    await first.close();
    const end = await openElsewhere(filename);
    const renamed = join(directory, 'renamed.db');
    await rename(filename, renamed);
    expect(await rejection(open(renamed, driver))).toMatchObject(OPEN_ELSEWHERE);
    // A process that crashed has left its index there.
    await writeFile(`${renamed}-shm`, Buffer.alloc(32_768));
    expect(await rejection(open(renamed, driver))).toMatchObject(OPEN_ELSEWHERE);
    await end();
    expect(await (await open(renamed, driver)).files.get(alice)).toMatchObject({ content: 'kept' });
  });

  it('is opened by the same path', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    const end = await openElsewhere(filename);
    const storage = await open(filename, driver);
    await write(storage, alice, 'written');
    expect(await (await open(filename, driver)).files.get(alice)).toMatchObject({
      content: 'written',
    });
    await end();
  });
});
