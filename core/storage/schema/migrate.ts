import type { MigrationPlan } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import type { Connection, Dialect } from '../dialect.ts';
import type { ColumnDefinition, IndexDefinition, TableDefinition } from './columns.ts';
import {
  type AddedColumn,
  describeStep,
  foldTables,
  type Migration,
  type MigrationStep,
} from './migration.ts';
import { MIGRATIONS } from './migrations/list.ts';
import { toText } from './rows.ts';

/** The schema version of this release. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The key in `svc_meta` of the schema's version, and of the oldest one whose service may use it. */
export const SCHEMA_VERSION_KEY = 'schema_version';
export const OLDEST_SCHEMA_KEY = 'oldest_schema';

/** The schema of a database; version 0 if there is none. */
export interface FoundSchema {
  version: number;
  /** The oldest version whose service may use it. */
  oldest: number;
}

/**
 * Refuses a database of a later version of the service that this one may not run beside: it may contain data that this
 * version would break. Throws `STORAGE_UNAVAILABLE`.
 */
export function assertKnownSchema({ version, oldest }: FoundSchema, known = SCHEMA_VERSION): void {
  if (version <= known || oldest <= known) return;
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    `The database has schema ${version}, which needs a version of memory-service that knows schema ${oldest} or later. This one knows up to ${known}: start the newer version that made it.`,
    { details: { schemaVersion: version, oldest, known } },
  );
}

/** The schema of the database. */
export async function readSchema(connection: Connection): Promise<FoundSchema> {
  if ((await readParts(connection, 'svc_meta')).length === 0) return { version: 0, oldest: 0 };
  const sql = 'select `key`, value from svc_meta where `key` in (?, ?)';
  const rows = await connection.all(sql, [SCHEMA_VERSION_KEY, OLDEST_SCHEMA_KEY]);
  const found = new Map(rows.map(({ key, value }) => [toText(key), Number(toText(value))]));
  const version = found.get(SCHEMA_VERSION_KEY) ?? 0;
  // Earlier versions of the service named none: only their own may use it.
  return { version, oldest: Math.min(version, found.get(OLDEST_SCHEMA_KEY) ?? version) };
}

/** The version to start from, and a hook before each step, with what the step does. */
export interface MigrateOptions {
  from: number;
  migrations?: readonly Migration[];
  /** Runs the statements whose time grows with the existing rows; default: the connection. */
  slow?: Connection;
  beforeStep?: (step: string) => Promise<void>;
}

const META = foldTables(MIGRATIONS.slice(0, 1)).get('svc_meta') as TableDefinition;

/**
 * Migrates a schema to the newest version, one statement at a time. Every statement can be
 * repeated, so an interrupted migration is simply run again. The caller holds a lock against other
 * migrations; `beforeStep` can check that it still does.
 */
export async function migrate(
  connection: Connection,
  {
    from,
    migrations = MIGRATIONS,
    slow = connection,
    beforeStep = () => Promise.resolve(),
  }: MigrateOptions,
): Promise<void> {
  let { oldest } = await readSchema(connection);
  for (const migration of migrations.slice(from)) {
    oldest = Math.max(oldest, migration.runsBeside ?? migration.version);
    const title = toTitle(migration);
    for (const step of migration.steps) {
      await beforeStep(`${title}: ${describeStep(step)}`);
      await runStep(connection, step, slow);
    }
    await beforeStep(`${title}: write the version`);
    await connection.dialect.insertRows(connection, {
      table: META,
      columns: ['key', 'value'],
      rows: [
        [SCHEMA_VERSION_KEY, String(migration.version)],
        [OLDEST_SCHEMA_KEY, String(oldest)],
      ],
      conflict: { update: ['value'] },
    });
  }
}

/** The statements that {@link migrate} runs from a version on. Throws for a newer version. */
export function planMigration(
  schema: FoundSchema,
  migrations: readonly Migration[] = MIGRATIONS,
): MigrationPlan {
  assertKnownSchema(schema, migrations.length);
  const from = schema.version;
  const steps = migrations.slice(from).flatMap((migration) => {
    const title = toTitle(migration);
    return migration.steps.map((step) => `${title}: ${describeStep(step)}`);
  });
  return { from, to: Math.max(from, migrations.length), steps };
}

/** As in `0001 memory`. */
function toTitle({ version, name }: Migration): string {
  return `${String(version).padStart(4, '0')} ${name}`;
}

async function runStep(
  connection: Connection,
  step: MigrationStep,
  slow: Connection,
): Promise<void> {
  if ('createTable' in step) await createTable(connection, step.createTable);
  else if ('changeRows' in step) await step.changeRows.run(slow);
  else if ('addColumn' in step) await addColumn(connection, step.addColumn, slow);
  else if ('widenColumn' in step) await widenColumn(step.widenColumn, slow);
  else await createIndex(connection, step.createIndex, slow);
}

/** One statement, so that a table exists with all its columns or not at all. */
export async function createTable(connection: Connection, table: TableDefinition): Promise<void> {
  if ((await readParts(connection, table.name)).length > 0) return;
  const { dialect } = connection;
  const columns = table.columns.map(
    (column) => `${toColumn(dialect, column)}${column.nullable === true ? '' : ' not null'}`,
  );
  const sql =
    `create table ${quote(table.name)} (${columns.join(', ')},` +
    ` primary key (${table.primaryKey.map(quote).join(', ')}))${dialect.tableSuffix(table)}`;
  await connection.run(sql, []);
}

async function addColumn(
  connection: Connection,
  { table, column, value }: AddedColumn,
  slow: Connection,
): Promise<void> {
  if (await hasPart(connection, table, { kind: 'column', name: column.name })) return;
  const added = toColumn(connection.dialect, column);
  const rest = value === undefined ? '' : ` not null default ${value}`;
  await slow.run(`alter table ${quote(table)} add column ${added}${rest}`, []);
}

async function widenColumn({ table, column }: AddedColumn, slow: Connection): Promise<void> {
  const sql = slow.dialect.widenColumn?.(quote(table), toColumn(slow.dialect, column));
  if (sql !== undefined) await slow.run(sql, []);
}

async function createIndex(
  connection: Connection,
  { name, table, columns, unique = false, where }: IndexDefinition,
  slow: Connection,
): Promise<void> {
  if (await hasPart(connection, table, { kind: 'index', name })) return;
  const condition = where === undefined ? '' : ` where ${where}`;
  const sql =
    `create ${unique ? 'unique ' : ''}index ${quote(name)} on ${quote(table)}` +
    ` (${columns.map(quote).join(', ')})${condition}`;
  await slow.run(sql, []);
}

function toColumn(dialect: Dialect, { name, kind, length }: ColumnDefinition): string {
  return `${quote(name)} ${dialect.columnType(kind, length)}`;
}

function quote(name: string): string {
  return `\`${name}\``;
}

/** A column or an index of a table. */
interface TablePart {
  kind: string;
  name: string;
}

async function hasPart(connection: Connection, table: string, part: TablePart): Promise<boolean> {
  const parts = await readParts(connection, table);
  return parts.some(({ kind, name }) => kind === part.kind && name === part.name);
}

async function readParts(connection: Connection, table: string): Promise<TablePart[]> {
  const { sql, parameters } = connection.dialect.tableParts(table);
  const rows = await connection.all(sql, parameters);
  return rows.map(({ kind, name }) => ({ kind: toText(kind), name: toText(name) }));
}
