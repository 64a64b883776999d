import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { quiet } from '../../support/quiet-log.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const PLUGIN = fileURLToPath(
  new URL('../../../dist/plugins/storage-sqlite/index.js', import.meta.url),
);
const PROGRAM = fileURLToPath(new URL('../../support/append-process.mjs', import.meta.url));

it.each<[string, string]>([
  ['sqlite3', 'sqlite3'],
  ['sqlite3', 'better-sqlite3'],
  ...sqliteDrivers.slice(2).map((driver): [string, string] => ['sqlite3', driver]),
])(
  'loses none of 200 writes of each of two processes on one file (%s, %s)',
  async (left, right) => {
    if (!existsSync(PLUGIN)) throw new Error('The plugin is not built: npm run build');
    const filename = join(await temporaryDirectory(), 'memory.db');
    // Neither has made the file yet: they also meet in its migration.
    const said = await Promise.all([
      appendLines(filename, left, 'left'),
      appendLines(filename, right, 'right'),
    ]);
    const storage = sqlite({ filename });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });
    const file = await storage.files.get({ scope: 'u:alice', path: 'notes.md' });
    const lines = file?.content?.trimEnd().split('\n') ?? [];
    expect(lines.toSorted()).toEqual(said.flat().toSorted());
    expect(lines).toHaveLength(400);
    expect(file?.version).toBe(400);
  },
);

/** The lines that the process says were written. */
async function appendLines(filename: string, driver: string, label: string): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [PROGRAM, pathToFileURL(PLUGIN).href, filename, driver, label, '200'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill());
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code).toBe(0);
  return output.trimEnd().split('\n');
}
