import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { newCommand } from '../../core/cli/new.ts';
import { databaseCases } from '../../core/testing/index.ts';
import { root, temporaryDirectory } from './run-example.ts';

/** What `memory-service new` makes in an empty folder, with what `npm install` would put there. */
async function make(kind: string, flags: Record<string, string> = {}): Promise<string> {
  const cwd = await temporaryDirectory();
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const context = {
      argv: [],
      flags: new Map(Object.entries(flags)),
      argument: kind,
      env: {},
      cwd,
    };
    await newCommand.run(context);
  } finally {
    write.mockRestore();
  }
  const folder = join(cwd, flags['name'] ?? `my-${kind}`);
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['typescript', '@types/node', 'sqlite3']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir');
  }
  await symlink(root, join(folder, 'node_modules/memory-service'), 'dir');
  return folder;
}

interface Manifest {
  scripts: { test: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

async function runTest(folder: string): Promise<string> {
  const { scripts } = await readManifest(folder);
  const PATH = `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`;
  const shell = promisify(execFile)('sh', ['-c', scripts.test], { cwd: folder, env: { PATH } });
  return (await shell).stdout;
}

it('makes a plugin in TypeScript whose test passes as it is', async () => {
  const folder = await make('plugin', { name: 'count-words' });
  expect(await readdir(folder)).toEqual(
    expect.arrayContaining(['package.json', 'plugin.test.ts', 'plugin.ts', 'tsconfig.json']),
  );
  expect(await runTest(folder)).toMatch(/pass 2\n/);
});

it('makes a driver of a database in TypeScript that keeps every rule as it is', async () => {
  const folder = await make('database');
  expect((await readdir(folder)).toSorted()).toEqual([
    'README.md',
    'database.test.ts',
    'database.ts',
    'node_modules',
    'package.json',
    'tsconfig.json',
  ]);
  const { optionalDependencies = {} } = await readManifest(root);
  const { dependencies } = await readManifest(folder);
  expect(dependencies).toEqual({ sqlite3: optionalDependencies['sqlite3'] });
  const output = await runTest(folder);
  expect(output).toMatch(/pass 2\n/);
  // A full disk, a database that only reads and a lost COMMIT.
  const skipped = databaseCases.filter(({ fault }) => fault !== undefined).length;
  const passed = databaseCases.length - skipped;
  expect(output).toContain(`${passed} passed, 0 failed of ${databaseCases.length} rules`);
});

it('refuses another kind, a name that is none, and a folder that is there', async () => {
  await expect(make('tool')).rejects.toThrow('new takes plugin or database, as in');
  await expect(make('plugin', { name: '../up' })).rejects.toThrow('--name is not valid');
  const cwd = await temporaryDirectory();
  await mkdir(join(cwd, 'my-plugin'));
  const context = { argv: [], flags: new Map(), argument: 'plugin', env: {}, cwd };
  await expect(newCommand.run(context)).rejects.toThrow('my-plugin exists already');
});
