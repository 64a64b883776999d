import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { root, run, temporaryDirectory } from './run-example.ts';

const folder = 'examples/custom-database';

it('keeps every rule of a database that needs no fault', async () => {
  const { code, stdout, stderr } = await run([`${folder}/check.mjs`]);
  expect(stdout).toMatch(/^(?:not checked: .+\n){3}\d+ passed, 0 failed of \d+ rules\n$/);
  expect([code, stderr]).toEqual([0, '']);
});

it('has what was written after a restart, and prints what its README shows', async () => {
  const database = join(await temporaryDirectory(), 'new folder', 'memory.db');
  const { code, stdout, stderr } = await run([`${folder}/main.mjs`, database]);
  expect([code, stderr]).toEqual([0, '']);
  expect(readFileSync(join(root, folder, 'README.md'), 'utf8')).toContain(stdout.trimEnd());
  expect(await runScript(TELL, database)).toBe('# Profile\n\n- Prefers green tea.\n');
});

it('backs up what was written, while the service goes on', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  const copy = `${database}.backup`;
  await runScript(BACK_UP, database, copy);
  expect(await runScript(TELL, copy)).toBe('# Profile\n\nversion 1\n');
  expect(await runScript(TELL, database)).toBe('# Profile\n\nversion 2\n');
});

it('looks at a database before it is opened, and makes no file', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  expect(await runScript(EXAMINE, database)).toBe('none none');
});

it('says that a file is no database', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  await writeFile(database, 'No database. '.repeat(1_000));
  expect(await runScript(TELL, database)).toBe('STORAGE_DAMAGED');
});

const IMPORTS = `
  import { existsSync } from 'node:fs';
  import { createMemoryService } from 'memory-service';
  import { libsql } from './${folder}/libsql.mjs';
  const [filename, target] = process.argv.slice(1);
  const database = libsql({ filename });
  const service = createMemoryService({ storage: database });
  const context = { userId: 'alice' };
  const call = async (name, args) =>
    (await service.tools.execute(name, { context, arguments: { path: 'user/profile.md', ...args } })).result;
`;
const TELL = `
  try {
    await service.ready();
    process.stdout.write((await call('memory_read', {})).content);
  } catch ({ code }) {
    process.stdout.write(code);
  }
  await service.close();
`;
const BACK_UP = `
  const write = (n) => call('memory_write', { content: '# Profile\\n\\nversion ' + n + '\\n' });
  await service.ready();
  await write(1);
  await database.backUp(target);
  await write(2);
  await service.close();
`;
const EXAMINE = `
  const found = await database.examine(async (examined) => examined?.version ?? 'none');
  process.stdout.write([found, existsSync(filename) ? 'a file' : 'none'].join(' '));
`;

/** Runs a script on a database in a process of its own, and returns what it prints. */
async function runScript(script: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', IMPORTS + script, ...args],
    { cwd: root },
  );
  expect(stderr).toBe('');
  return stdout;
}
