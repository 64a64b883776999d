import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { toNote } from './notes.ts';
import { importService } from './service.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const DIST = path.join(ROOT, 'dist');
const CACHE = path.join(ROOT, '.cache', 'bench');
/** Users whose memory the service itself writes; the others have copies of theirs. */
const WRITTEN_USERS = 10;
const FILLERS = 64;
/** What a copy must not share: ids that are unique over all scopes. */
const ID_COLUMNS = new Set(['id', 'latest_revision_id', 'peer_id', 'revision_id']);
/** An id begins with its time and counter, which set it apart within its scope. */
const ID_KEPT_BYTES = 10;

export interface SearchFixture {
  /** In all: a thousand for each user. */
  documents: number;
  /** Notes of about 500 bytes that a document is made of. */
  notesOfADocument: number;
}

export const DOCUMENTS_OF_A_USER = 1_000;

/** The document that a user's `n`th note is. */
export function toDocument(seed: number, { notesOfADocument }: SearchFixture): string {
  return Array.from({ length: notesOfADocument }, (_, part) =>
    toNote(seed * notesOfADocument + part),
  ).join('\n');
}

/**
 * A SQLite file with the memory of many users, indexed; made once and kept below `.cache/`.
 *
 * Ten users' memory is written through the service. That of the others is copied from it row by
 * row, in SQL, with other scopes and ids: the same rows as if each had been written, in minutes
 * instead of an hour.
 */
export async function ensureSearchFixture(fixture: SearchFixture): Promise<string> {
  const file = path.join(CACHE, `search-${await toKey(fixture)}.db`);
  if (
    await access(file).then(
      () => true,
      () => false,
    )
  )
    return file;
  await mkdir(CACHE, { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  try {
    await write(partial, fixture);
    const copies = fixture.documents / DOCUMENTS_OF_A_USER - WRITTEN_USERS;
    if (copies > 0) await copyScopes(partial, copies);
    await rename(partial, file);
  } finally {
    for (const end of ['', '-wal', '-shm']) await rm(`${partial}${end}`, { force: true });
  }
  return file;
}

/** Another schema, tokeniser or index makes other rows. */
const SHAPES_ROWS = ['core/search/text', 'core/search/index', 'core/storage/schema'];

async function toKey(fixture: SearchFixture): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(fixture));
  for (const folder of SHAPES_ROWS) {
    const files = await readdir(path.join(DIST, folder), { recursive: true });
    const names = files.filter((name) => name.endsWith('.js'));
    for (const name of names.sort()) hash.update(await readFile(path.join(DIST, folder, name)));
  }
  return `${fixture.documents}-${hash.digest('hex').slice(0, 12)}`;
}

async function write(filename: string, fixture: SearchFixture): Promise<void> {
  const { createMemoryService, sqlite } = await importService();
  const service = createMemoryService({
    storage: sqlite({ filename, synchronous: 'normal' }),
    adminSecret: 'the-secret-of-the-bench-that-guards-nothing',
  });
  await service.start();
  let next = 0;
  await Promise.all(
    Array.from({ length: FILLERS }, async () => {
      for (let seed = next++; seed < WRITTEN_USERS * DOCUMENTS_OF_A_USER; seed = next++) {
        const userId = `u${seed % WRITTEN_USERS}`;
        const file = `user/${toPath(Math.floor(seed / WRITTEN_USERS))}`;
        await service.tools.execute('memory_write', {
          context: { userId },
          arguments: { path: file, content: toDocument(seed, fixture) },
        });
      }
    }),
  );
  await waitForIndex(filename);
  await service.close();
}

/** Where a user's `n`th document is. */
export function toPath(n: number): string {
  return `notes/${String(n).padStart(4, '0')}.md`;
}

async function waitForIndex(filename: string): Promise<void> {
  // A process of its own: another SQLite in this one would take the service's locks away.
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const script =
    `const d = new (require('better-sqlite3'))(${JSON.stringify(filename)}, { readonly: true });` +
    `console.log(d.prepare('select count(*) as n from svc_index_queue').get().n)`;
  for (;;) {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: ROOT });
    if (Number(stdout) === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function copyScopes(filename: string, copies: number): Promise<void> {
  const { toScopeId } = (await import(
    pathToFileURL(path.join(DIST, 'core/storage/schema/scope-id.js')).href
  )) as { toScopeId(scope: string): number };
  const database = new Database(filename);
  database.pragma('journal_mode = wal');
  database.pragma('synchronous = off');
  database.pragma('cache_size = -200000');
  const statements = toCopyStatements(database);
  const copy = database.transaction((number: number) => {
    const [from, to] = [`u:u${1 + (number % (WRITTEN_USERS - 1))}`, `u:copy${number}`];
    const suffix = Buffer.alloc(16 - ID_KEPT_BYTES);
    suffix.writeUInt32BE(number + 1, 2);
    const values = { from: toScopeId(from), to: toScopeId(to), scope: to, suffix };
    for (const statement of statements) statement.run(values);
  });
  for (let number = 0; number < copies; number += 1) {
    copy(number);
    if (number % 50 === 49) {
      database.pragma('wal_checkpoint(truncate)');
      process.stderr.write(`  ${number + 1} of ${copies} users copied\n`);
    }
  }
  database.pragma('wal_checkpoint(truncate)');
  database.pragma('optimize');
  database.close();
}

/** For each table that has rows of a scope, whatever its columns are today. */
function toCopyStatements(database: Database.Database): Database.Statement[] {
  const tables = database
    .prepare(
      "select name from sqlite_master where type = 'table' and name like 'svc@_%' escape '@'",
    )
    .pluck()
    .all() as string[];
  return tables.flatMap((table) => {
    const columns = database
      .prepare('select name from pragma_table_info(?)')
      .pluck()
      .all(table) as string[];
    if (!columns.includes('scope_id')) return [];
    const values = columns.map((column) => {
      if (column === 'scope_id') return '@to';
      if (table === 'svc_scope' && column === 'scope') return '@scope';
      if (!ID_COLUMNS.has(column)) return column;
      return `case when ${column} is null then null else cast(substr(${column}, 1, ${ID_KEPT_BYTES}) || @suffix as blob) end`;
    });
    return database.prepare(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table}` +
        ' where scope_id = @from',
    );
  });
}
