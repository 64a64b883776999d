import { readFile, writeFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createCore } from '../../../core/service.ts';
import { quiet } from '../../support/quiet-log.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { call, temporaryDatabase } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const PAGE_BYTES = 4_096;
/** Where the header of the file has the number of the first page that lists free pages. */
const FIRST_TRUNK = 32;

/** A database with some memory and a few hundred free pages. */
async function makeDatabase(): Promise<string> {
  const filename = await temporaryDatabase();
  const core = createCore({ storage: sqlite({ filename }) });
  for (let version = 0; version < 130; version += 1) {
    const args = { path: 'user/tea.md', content: `cup ${version}\n` };
    await call(core, 'alice', 'memory_write', args);
  }
  await core.close();
  await withRawSql(filename, 'sqlite3', async (raw) => {
    await raw.exec('create table filler (text); insert into filler values (zeroblob(1200000))');
    await raw.exec('drop table filler; pragma wal_checkpoint(truncate)');
  });
  return filename;
}

async function change(filename: string, edit: (bytes: Buffer, trunk: number) => void) {
  const bytes = await readFile(filename);
  const trunk = (bytes.readUInt32BE(FIRST_TRUNK) - 1) * PAGE_BYTES;
  // The page of the next one, and how many free pages this one lists.
  expect(bytes.readUInt32BE(trunk + 4)).toBeGreaterThan(200);
  edit(bytes, trunk);
  await writeFile(filename, bytes);
}

/** What the check of the database finds, and whether the storage is ready then. */
async function inspect(filename: string) {
  const storage = sqlite({ filename });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  const problems = (await storage.inspection?.problems?.()) ?? [];
  const ready = await storage.ping().then(
    () => 'ready',
    (error: { code: string }) => error.code,
  );
  return { problems, ready };
}

it('finds nothing in a file that is whole', async () => {
  const filename = await makeDatabase();
  await change(filename, () => undefined);
  expect(await inspect(filename)).toEqual({ problems: [], ready: 'ready' });
});

it('finds a list of free pages that names pages in use', async () => {
  const filename = await makeDatabase();
  await change(filename, (bytes, trunk) => {
    // The second page of the file has rows.
    for (let free = 0; free < 3; free += 1) bytes.writeUInt32BE(2, trunk + 8 + 4 * free);
  });
  const { problems, ready } = await inspect(filename);
  expect(problems.join('\n')).toMatch(/^the database file: .*2nd reference to page 2$/m);
  expect(problems.join('\n')).toMatch(/^the database file: Page \d+: never used$/m);
  expect(ready).toBe('STORAGE_DAMAGED');
});

it('finds a list of free pages that was overwritten', async () => {
  const filename = await makeDatabase();
  await change(filename, (bytes, trunk) => void bytes.fill(0xee, trunk, trunk + PAGE_BYTES));
  const { problems, ready } = await inspect(filename);
  expect(problems.join('\n')).toMatch(/^the database file: .*freelist/im);
  expect(ready).toBe('STORAGE_DAMAGED');
});

it('says where SQLite stopped in a table', async () => {
  const filename = await makeDatabase();
  await withRawSql(filename, 'sqlite3', async (raw) => {
    const sql = "replace(sql, '`keyframe` text', '`keyframe` text not null')";
    await raw.exec('pragma writable_schema = on');
    await raw.run(`update sqlite_master set sql = ${sql} where name = 'svc_revision'`, []);
  });
  const { problems, ready } = await inspect(filename);
  expect(problems.filter((line) => line.startsWith('svc_revision: NULL value'))).toHaveLength(100);
  expect(problems.at(-1)).toBe(
    'svc_revision: at least 100 problems, of which SQLite lists no more',
  );
  expect(ready).toBe('STORAGE_DAMAGED');
});

it('says where SQLite stopped in the file', async () => {
  const filename = await makeDatabase();
  await change(filename, (bytes, trunk) => {
    for (let free = 0; free < 1_000; free += 1) bytes.writeUInt32BE(2, trunk + 8 + 4 * free);
    bytes.writeUInt32BE(1_000, trunk + 4);
  });
  const { problems, ready } = await inspect(filename);
  expect(problems.at(-1)).toBe(
    'the database file: at least 1000 problems, of which SQLite lists no more',
  );
  expect(ready).toBe('STORAGE_DAMAGED');
});
