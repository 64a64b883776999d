import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../../support/service.ts';
import { sqliteDrivers } from '../../../support/sqlite-drivers.ts';

const execute = promisify(execFile);
const toPath = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const COMMAND = toPath('dist/core/cli/main.js');
const PLUGIN = toPath('dist/plugins/storage-sqlite/index.js');
const STORES = toPath('dist/core/storage/storage.js');
const hook = toPath('test/support/without-packages.cjs');
const hasNodeSqlite = sqliteDrivers.includes('node:sqlite');

/** Writes and reads a file in a process where these packages are not installed. */
const PROGRAM = `
const { sqlite } = await import(process.argv[1]);
const { createStorage } = await import(${JSON.stringify(STORES)});
const said = [];
const log = new Proxy({}, { get: (_, level) => (...line) => said.push([level, ...line]) });
const storage = createStorage(sqlite({ filename: process.argv[2] }));
try {
  await storage.init({ log, now: Date.now });
  await storage.config.set({ key: 1 }, null);
  const { driver } = await storage.describe();
  console.log(JSON.stringify({ driver, said, kept: await storage.config.getAll?.() }));
  await storage.close();
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
`;

async function runWithout(packages: string[]): Promise<{ driver?: string; error?: string }> {
  if (!existsSync(PLUGIN)) throw new Error('The plugin is not built: npm run build');
  const filename = join(await temporaryDirectory(), 'memory.db');
  const args = ['--require', hook, '--input-type=module', '--eval', PROGRAM, PLUGIN, filename];
  const env = { ...process.env, WITHOUT: packages.join(',') };
  const { stdout, stderr } = await execute(process.execPath, args, { env });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as { driver?: string; error?: string };
}

it('uses sqlite3, and says so in the debug log', async () => {
  expect(await runWithout([])).toMatchObject({
    driver: expect.stringMatching(/^sqlite3 /),
    said: [['debug', { driver: expect.stringMatching(/^sqlite3 /) }, 'the database is open']],
  });
});

it('uses better-sqlite3 where sqlite3 is not installed', async () => {
  expect((await runWithout(['sqlite3'])).driver).toMatch(/^better-sqlite3 /);
});

it('uses the SQLite of Node where nothing is installed, or says what to install', async () => {
  const { driver, error } = await runWithout(['sqlite3', 'better-sqlite3']);
  if (hasNodeSqlite) expect(driver).toBe(`node:sqlite of Node ${process.versions.node}`);
  else
    expect(error).toMatch(/npm rebuild sqlite3\. Or npm install better-sqlite3, or use Node 24\./);
});

it('shows in --print-config the driver that is used', async () => {
  const cwd = await temporaryDirectory();
  const env = { ...process.env, WITHOUT: 'sqlite3' };
  const program = `const { runCommand } = await import(${JSON.stringify(COMMAND)}); await runCommand();`;
  const args = [
    '--require',
    hook,
    '--input-type=module',
    '--eval',
    program,
    '--',
    'start',
    '--print-config',
  ];
  const { stdout } = await execute(process.execPath, args, { env, cwd });
  expect(stdout).toMatch(/^storage +sqlite, driver better-sqlite3 [\d.]+, /m);
});
