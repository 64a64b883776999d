import type { MigrationPlan } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import type { KnexConnection } from '../dialect.ts';
import { MIGRATIONS } from './migrations/list.ts';
import type { TableDefinition } from './columns.ts';
import { type AddedColumn, describeStep, type Migration, type MigrationStep } from './migration.ts';

/** The schema version of this release. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The key in `svc_meta` of the schema's version. */
export const SCHEMA_VERSION_KEY = 'schema_version';

/**
 * Refuses a database of a later version of the service, which may contain data that this version
 * would break. Throws `STORAGE_UNAVAILABLE`.
 */
export function assertKnownSchema(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    `The database has schema ${version}, and this version of memory-service knows up to ${SCHEMA_VERSION}: start the newer version that made it.`,
    { details: { schemaVersion: version, known: SCHEMA_VERSION } },
  );
}

/** The version to start from, and a hook before each step, with what the step does. */
export interface MigrateOptions {
  from: number;
  migrations?: readonly Migration[];
  /** Runs the statements whose time grows with the existing rows; default: the connection. */
  slow?: KnexConnection;
  beforeStep?: (step: string) => Promise<void>;
}

/**
 * Migrates a schema to the newest version, one statement at a time. Every statement can be
 * repeated, so an interrupted migration is simply run again. The caller holds a lock against other
 * migrations; `beforeStep` can check that it still does.
 */
export async function migrate(
  connection: KnexConnection,
  {
    from,
    migrations = MIGRATIONS,
    slow = connection,
    beforeStep = () => Promise.resolve(),
  }: MigrateOptions,
): Promise<void> {
  for (const migration of migrations.slice(from)) {
    const title = toTitle(migration);
    for (const step of migration.steps) {
      await beforeStep(`${title}: ${describeStep(step)}`);
      await runStep(connection, step, slow);
    }
    await beforeStep(`${title}: write the version`);
    const row = { key: SCHEMA_VERSION_KEY, value: String(migration.version) };
    await connection.knex('svc_meta').insert(row).onConflict('key').merge();
  }
}

/** The statements that {@link migrate} runs from a version on. Throws for a newer version. */
export function planMigration(
  from: number,
  migrations: readonly Migration[] = MIGRATIONS,
): MigrationPlan {
  assertKnownSchema(from);
  const steps = migrations.slice(from).flatMap((migration) => {
    const title = toTitle(migration);
    return migration.steps.map((step) => `${title}: ${describeStep(step)}`);
  });
  return { from, to: migrations.length, steps };
}

/** As in `0001 memory`. */
function toTitle({ version, name }: Migration): string {
  return `${String(version).padStart(4, '0')} ${name}`;
}

async function runStep(
  connection: KnexConnection,
  step: MigrationStep,
  slow: KnexConnection,
): Promise<void> {
  const { knex, dialect } = connection;
  if ('createTable' in step) {
    if (await knex.schema.hasTable(step.createTable.name)) return;
    await knex.raw(createTable(connection, step.createTable));
  } else if ('changeRows' in step) {
    await step.changeRows.run(slow);
  } else if ('addColumn' in step) {
    await addColumn(connection, step.addColumn, slow);
  } else {
    await dialect.createIndex(knex, step.createIndex, slow.knex);
  }
}

async function addColumn(
  { knex, dialect }: KnexConnection,
  { table, column, value }: AddedColumn,
  slow: KnexConnection,
): Promise<void> {
  if (await knex.schema.hasColumn(table, column.name)) return;
  const [statement] = knex.schema
    .alterTable(table, (builder) => {
      const type = dialect.columnType(column.kind, column.length);
      const added = builder.specificType(column.name, type);
      if (value !== undefined) added.notNullable().defaultTo(value);
    })
    .toSQL();
  await slow.knex.raw((statement as { sql: string }).sql);
}

/** One statement, so that a table exists with all its columns or not at all. */
export function createTable({ knex, dialect }: KnexConnection, table: TableDefinition): string {
  const [statement] = knex.schema
    .createTable(table.name, (builder) => {
      for (const { name, kind, length, nullable } of table.columns) {
        const column = builder.specificType(name, dialect.columnType(kind, length));
        if (nullable !== true) column.notNullable();
      }
      builder.primary([...table.primaryKey]);
    })
    .toSQL();
  return (statement as { sql: string }).sql + dialect.tableSuffix(table);
}
