import { expect, it, onTestFinished } from 'vitest';
import { MIGRATIONS } from '../../../../core/storage/schema/migrations/list.ts';
import { SCHEMA_VERSION } from '../../../../core/storage/schema/migrate.ts';
import {
  column,
  integer,
  type Migration,
  table,
} from '../../../../core/storage/schema/migration.ts';
import { prepareSchema } from '../../../../core/storage/schema/prepare-schema.ts';
import { verifyMemory } from '../../../../core/maintenance/verify.ts';
import { quiet } from '../../../support/quiet-log.ts';
import { rejection } from '../../../support/rejection.ts';
import { runRawSql } from '../../../support/raw-sql.ts';
import { call, openCore } from '../../../support/service.ts';
import { openSqlDatabase } from '../../../support/sql-database.ts';
import { makeDatabase, openDatabase } from '../../../support/tables.ts';

/** What the next version adds: columns and a table. This version may go on beside it. */
const ADDING: Migration = {
  version: SCHEMA_VERSION + 1,
  name: 'neighbour',
  runsBeside: SCHEMA_VERSION,
  steps: [
    column('svc_file', { name: 'colour', kind: 'text', nullable: true }),
    column('svc_revision', integer('weight'), 0),
    table('svc_neighbour', ['id'], { clustered: true }, [integer('id')]),
  ],
};
/** The version after it needs what was added, and this version may not go on beside it. */
const NEEDING: Migration = {
  version: SCHEMA_VERSION + 2,
  name: 'without what was replaced',
  runsBeside: SCHEMA_VERSION + 1,
  steps: [],
};

/** Takes all that away. */
const BACK = [
  'alter table svc_file drop column colour',
  'alter table svc_revision drop column weight',
  'drop table svc_neighbour',
  `update svc_meta set value = '${SCHEMA_VERSION}' where \`key\` in ('schema_version', 'oldest_schema')`,
];

/** Starts the version of the service that has these migrations, as far as its schema. */
async function upgrade(database: string, migrations: readonly Migration[]): Promise<void> {
  const opened = openSqlDatabase(database);
  const damage = { note: <E>(error: E) => error, confirm: <T>(work: () => Promise<T>) => work() };
  await opened.open({ log: quiet, now: Date.now, damage });
  await prepareSchema(opened, quiet, { migrations });
  await opened.close();
}

it('two neighbouring versions write beside each other, until a later one removes what the older needs', async () => {
  const database = await makeDatabase();
  // Other tests get the same database of a server, with its tables.
  onTestFinished(async () => {
    for (const sql of BACK) await runRawSql(database, sql);
  });
  const before = await openCore({ storage: openDatabase(database) });
  const write = (core: typeof before, path: string) =>
    call(core, 'alice', 'memory_write', { path, content: `By ${path}\n` });
  await write(before, 'user/before.md');

  // The next version is started while this one serves, and after it one more instance of this one.
  await upgrade(database, [...MIGRATIONS, ADDING]);
  await runRawSql(database, "update svc_file set colour = 'green'");
  await runRawSql(database, 'insert into svc_neighbour (id) values (7)');
  await write(before, 'user/beside.md');
  const late = await openCore({ storage: openDatabase(database) });
  await write(late, 'user/late.md');
  await write(before, 'user/before.md');
  for (const core of [before, late]) {
    const { result } = await call<{ files: { path: string }[] }>(core, 'alice', 'memory_list', {});
    expect(result.files.map(({ path }) => path)).toEqual([
      'user/before.md',
      'user/beside.md',
      'user/late.md',
    ]);
  }
  expect((await verifyMemory(late.storage)).findings).toEqual([]);
  await Promise.all([before.close(), late.close()]);
  expect(await openDatabase(database).planMigration()).toMatchObject({ steps: [] });

  await upgrade(database, [...MIGRATIONS, ADDING, NEEDING]);
  const error = await rejection(openDatabase(database).init({ log: quiet, now: Date.now }));
  expect(error).toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    details: {
      schemaVersion: SCHEMA_VERSION + 2,
      oldest: SCHEMA_VERSION + 1,
      known: SCHEMA_VERSION,
    },
  });
});
