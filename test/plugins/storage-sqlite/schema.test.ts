import { existsSync } from 'node:fs';
import { copyFile, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import knexOf from 'knex';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { SCHEMA_VERSION, migrate } from '../../../core/storage/schema/migrate.ts';
import { describeStep } from '../../../core/storage/schema/migration.ts';
import { MIGRATIONS } from '../../../core/storage/schema/migrations/list.ts';
import { toScopeId } from '../../../core/storage/schema/scope-id.ts';
import type { SqliteModule } from '../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteOptions } from '../../../plugins/storage-sqlite/index.ts';
import { onSqliteFile } from '../../support/bare-connection.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDatabase, temporaryDirectory } from '../../support/service.ts';
import { accessRow, write } from '../../support/rows.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

/** How often the migrations are interrupted before each of their steps. */
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1 : 5;

const alice = { scope: 'u:alice', path: 'notes.md' } as const;

async function open(options: SqliteOptions): Promise<Storage> {
  const storage = sqlite(options);
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

function withDatabase<T>(filename: string, run: (database: BetterSqlite3.Database) => T): T {
  const database = new BetterSqlite3(filename);
  try {
    return run(database);
  } finally {
    database.close();
  }
}

function schemaOf(filename: string): unknown {
  return withDatabase(filename, (database) =>
    database.prepare('select type, name, sql from sqlite_master order by type, name').all(),
  );
}

/** What a process leaves that is killed before each step of the migrations; and the whole schema. */
async function interruptEachStep(): Promise<{ files: readonly Buffer[]; schema: unknown }> {
  const filename = join(await temporaryDirectory(), 'memory.db');
  await writeFile(filename, '');
  const files: Buffer[] = [];
  await onSqliteFile(filename, async (connection) => {
    // No power is lost here.
    await connection.run('pragma synchronous = off', []);
    for (const migration of MIGRATIONS) {
      // The version is set after all steps.
      const before = { ...migration, version: migration.version - 1 };
      for (const step of migration.steps) {
        files.push(await readFile(filename));
        await migrate(connection, { from: 0, migrations: [{ ...before, steps: [step] }] });
      }
      await migrate(connection, { from: 0, migrations: [{ ...migration, steps: [] }] });
    }
  });
  const whole = join(await temporaryDirectory(), 'whole.db');
  await (await open({ filename: whole })).close();
  return { files, schema: schemaOf(whole) };
}

describe('the version of SQLite', () => {
  const answering = async (version: string): Promise<SqliteModule> => {
    const real = await loadSqliteModule('sqlite3');
    return {
      ...real,
      async open(filename, options) {
        const connection = await real.open(filename, options);
        return {
          ...connection,
          get: async (sql, parameters) =>
            sql.includes('sqlite_version()') ? { version } : await connection.get(sql, parameters),
        };
      },
    };
  };

  it.each([
    '3.7.0',
    '3.43.2',
    '3.44.5',
    '3.45.3',
    '3.49.2',
    '3.50.6',
    '3.51.0',
    '3.51.2',
    'nonsense',
  ])('refuses %s, which can lose acknowledged writes', async (version) => {
    const storage = sqlite({ filename: ':memory:', driver: await answering(version) });
    const error = await rejection(storage.init({ log: quiet, now: Date.now }));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain(version);
  });

  it.each(['3.44.6', '3.44.9', '3.50.7', '3.51.3', '3.52.0', '4.0.0'])(
    'takes %s',
    async (version) => {
      const storage = await open({ filename: ':memory:', driver: await answering(version) });
      // The older ones read rows from JSON in another way.
      await write(storage, alice, 'text');
      expect((await storage.files.get(alice))?.content).toBe('text');
      expect((await storage.describe()).version).toBe(version);
    },
  );
});

describe('the schema', () => {
  it('is opened again as it was left, with all that was written', async () => {
    const filename = join(await temporaryDirectory(), 'deep', 'er', 'memory.db');
    const first = await open({ filename });
    await write(first, alice, 'kept');
    await first.close();
    // Closed cleanly, it is one file.
    expect(await readdir(join(filename, '..'))).toEqual(['memory.db']);
    const before = schemaOf(filename);
    const second = await open({ filename, driver: 'better-sqlite3' });
    expect((await second.files.get(alice))?.content).toBe('kept');
    expect(schemaOf(filename)).toEqual(before);
    expect((await second.describe()).schemaVersion).toBe(SCHEMA_VERSION);
  });

  it('is refused when a later version of the service made it, and left as it is', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    await (await open({ filename })).close();
    withDatabase(filename, (database) => {
      database.exec(
        `update svc_meta set value = '${SCHEMA_VERSION + 1}' where key in ('schema_version', 'oldest_schema')`,
      );
    });
    const error = await rejection(sqlite({ filename }).init({ log: quiet, now: Date.now }));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain(`schema ${SCHEMA_VERSION + 1}`);
    expect(await readdir(join(filename, '..'))).toEqual(['memory.db']);
  });

  it.each(sqliteDrivers)('is made by several that open a new file at once (%s)', async (driver) => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    const storages = await Promise.all(
      Array.from({ length: 5 }, (_, index) => open({ filename, driver, readers: 1 + index })),
    );
    await Promise.all(
      storages.map((storage) => write(storage, alice, (before) => `${before ?? ''}line\n`)),
    );
    expect((await storages[0]?.files.get(alice))?.version).toBe(5);
  });

  const steps = MIGRATIONS.flatMap((migration) => migration.steps.map(describeStep));
  let interrupted: Promise<{ files: readonly Buffer[]; schema: unknown }> | null = null;

  it.each(
    Array.from({ length: ROUNDS }, () => steps.map((name, place) => ({ name, place }))).flat(),
  )('is finished when its migration was cut off before $name (F16)', async ({ place }) => {
    const { files, schema } = await (interrupted ??= interruptEachStep());
    const filename = join(await temporaryDirectory(), 'memory.db');
    await writeFile(filename, files[place] as Buffer);
    const storage = await open({ filename, readers: 1 });
    await write(storage, alice, 'text');
    await storage.close();
    expect(schemaOf(filename)).toEqual(schema);
  });

  it('keeps access rows of before their lines were recorded: these are unknown', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    const knex = knexOf({
      client: 'better-sqlite3',
      connection: { filename },
      useNullAsDefault: true,
    });
    const migrations = MIGRATIONS.filter(({ name }) => name !== 'access lines').slice(0, 5);
    await onSqliteFile(filename, (connection) => migrate(connection, { from: 0, migrations }));
    await knex('svc_scope').insert({
      scope_id: toScopeId('u:alice'),
      scope: 'u:alice',
      version: 0,
      next_file_no: 1,
      last_ms: 0,
      id_counter: 0,
      files: 0,
      bytes: 0,
      revisions: 0,
    });
    await knex('svc_access_log').insert({
      scope_id: toScopeId('u:alice'),
      id: Buffer.alloc(16, 1),
      at: 1,
      path: 'notes.md',
      actor: 'agent',
      action: 'read',
      outcome: 'ok',
    });
    await knex.destroy();
    const storage = await open({ filename });
    const more = accessRow('u:alice', { version: 3, lines: '2-4' });
    await storage.log.append({ access: [more], events: [] });
    const page = { limit: 5, order: 'asc', after: null } as const;
    const { items } = await storage.log.listAccess({ scope: 'u:alice' }, page);
    expect(items.map(({ version, lines }) => ({ version, lines }))).toEqual([
      { version: null, lines: null },
      { version: 3, lines: '2-4' },
    ]);
  });

  it('takes the last read as the last time shown, where older searches are not counted', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    const first = await open({ filename });
    await write(first, alice, 'text');
    const { fileNo } = (await first.files.get(alice)) ?? {};
    const of = { fileNo: fileNo ?? 0, path: alice.path };
    await first.log.append({ access: [accessRow(alice.scope, { ...of, at: 5_000 })], events: [] });
    await first.close();
    withDatabase(filename, (database) => {
      database.exec('alter table svc_file_stat drop column last_shown_at');
      database.exec("update svc_meta set value = '10' where key = 'schema_version'");
    });
    const storage = await open({ filename });
    const users = () => storage.files.listUsers({}, { limit: 5, order: 'asc', after: null });
    expect((await users()).items).toMatchObject([{ lastReadAt: 5_000, lastShownAt: 5_000 }]);
    const found = accessRow(alice.scope, { ...of, action: 'find', rank: 1, at: 6_000 });
    await storage.log.append({ access: [found], events: [] });
    expect((await users()).items).toMatchObject([
      { reads: 1, lastReadAt: 5_000, lastShownAt: 6_000 },
    ]);
  });

  it('is changed only after a backup that can be opened', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    const storage = await open({ filename });
    await write(storage, alice, 'from before');
    await storage.close();
    // A database of an older schema: what this version adds is not there yet.
    withDatabase(filename, (database) => {
      database.exec("update svc_meta set value = '0.5' where key = 'schema_version'");
      database.exec('drop index svc_admin_audit_action');
    });
    await (await open({ filename })).close();
    const backup = `${filename}.schema-0.5.backup`;
    expect((await stat(backup)).size).toBeGreaterThan(10_000);
    expect(existsSync(`${backup}.partial`)).toBe(false);
    const copy = join(filename, '..', 'copy.db');
    await copyFile(backup, copy);
    expect(withDatabase(copy, (database) => database.pragma('integrity_check'))).toEqual([
      { integrity_check: 'ok' },
    ]);
    const restored = await open({ filename: copy });
    expect((await restored.files.get(alice))?.content).toBe('from before');
    const migrated = await open({ filename });
    expect((await migrated.files.get(alice))?.content).toBe('from before');
  });
});

describe('the place', () => {
  it('is a temporary file for :memory:, gone at the close', async () => {
    const directory = await temporaryDirectory();
    vi.stubEnv('TMPDIR', directory);
    onTestFinished(() => void vi.unstubAllEnvs());
    const storage = sqlite({ filename: ':memory:' });
    await storage.init({ log: quiet, now: Date.now });
    expect(await readdir(directory)).toHaveLength(1);
    await write(storage, alice, 'text');
    expect((await storage.files.get(alice))?.content).toBe('text');
    const page = { limit: 5, order: 'asc', after: null, sort: 'path' } as const;
    expect((await storage.files.listAll({}, page)).items).toHaveLength(1);
    await storage.close();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is refused clearly when its directory can not be made', async () => {
    const file = join(await temporaryDirectory(), 'a-file');
    await (await open({ filename: file })).close();
    const error = await rejection(
      sqlite({ filename: join(file, 'memory.db') }).init({ log: quiet, now: Date.now }),
    );
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain('directory');
    expect(error.message).not.toContain(file);
  });

  it('is refused clearly when it is no database', async () => {
    const filename = join(await temporaryDirectory(), 'memory.db');
    await writeFile(
      filename,
      'this is no database, but a text that is long enough to be one'.repeat(99),
    );
    const error = await rejection(sqlite({ filename }).init({ log: quiet, now: Date.now }));
    expect(error.code).toBe('STORAGE_DAMAGED');
    expect(error.message).toContain('damaged');
  });

  it.each(sqliteDrivers)('is refused clearly when its header is damaged (%s)', async (driver) => {
    const filename = await temporaryDatabase();
    const bytes = await readFile(filename);
    // The format of the schema, at most 4.
    bytes[47] = 0xff;
    await writeFile(filename, bytes);
    const storage = sqlite({ filename, driver });
    const error = await rejection(storage.init({ log: quiet, now: Date.now }));
    expect(error.code).toBe('STORAGE_DAMAGED');
  });
});
