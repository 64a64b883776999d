import { MemoryError } from '../../core/plugin.ts';
import type { Session } from './connections.ts';
import { translatePostgresError } from './errors.ts';
import { BEGIN_READ } from './transactions.ts';

/**
 * The oldest server: PostgreSQL 14. From there on it removes old entries of an index as it writes new
 * ones, without which the indexes that each write updates grow between two runs of autovacuum.
 */
const OLDEST = 140_000;

/** Facts about the server, read at the start. */
export interface ServerFacts {
  /** As the server reports it: `15.14 (Debian 15.14-0+deb12u1)`. */
  version: string;
  /** Where the tables are. */
  schema: string;
}

/**
 * Reads facts about the server, and refuses one that would lose or change data, or that takes no
 * writes. Makes the schema if it is given and there is none. Throws `STORAGE_UNAVAILABLE`.
 */
export async function checkServer(session: Session, schema: string | null): Promise<ServerFacts> {
  const { row, facts } = await readFacts(session, schema);
  if (row['encoding'] !== 'UTF8') {
    throw refused(
      `The database stores text as ${String(row['encoding'])}, and the service needs UTF8: create it` +
        " with create database … encoding 'UTF8' template template0.",
    );
  }
  if (row['is_replica'] === true) {
    throw refused(
      'The database is in recovery, as a replica is: it takes no writes. Name the primary server.',
    );
  }
  if (row['read_only'] === 'on') {
    throw refused(
      'The database lets this user only read: set default_transaction_read_only to off for it.',
    );
  }
  if (row['has_schema'] !== true) await createSchema(session, facts.schema);
  else if (row['may_use'] !== true || (row['has_tables'] !== true && row['may_create'] !== true)) {
    throw refused(
      `The user of the database may not make tables in the schema ${facts.schema}: grant usage,` +
        ` create on schema "${facts.schema}" to it.`,
    );
  }
  return facts;
}

/** Reads the version and the schema, and refuses an old server. Throws `STORAGE_UNAVAILABLE`. */
export async function readFacts(
  session: Session,
  schema: string | null,
): Promise<{ row: Readonly<Record<string, unknown>>; facts: ServerFacts }> {
  // In a transaction, which a pooler that pools statements refuses.
  await session.command(BEGIN_READ);
  const { rows } = await session.query(FACTS, [schema]);
  await session.command('commit');
  const [row = {}] = rows;
  const version = String(row['version']);
  if (Number(row['number']) < OLDEST) {
    throw refused(`PostgreSQL ${version} is too old: ${OLDEST / 10_000} is needed.`);
  }
  if (typeof row['schema'] !== 'string') {
    throw refused(
      'The search path of the user of the database names no schema that exists: name one with schema.',
    );
  }
  return { row, facts: { version, schema: row['schema'] } };
}

const FACTS =
  "select current_setting('server_version') as version," +
  " current_setting('server_version_num')::int as number," +
  " current_setting('server_encoding') as encoding," +
  ' pg_is_in_recovery() as is_replica,' +
  // What a transaction is that does not say it of itself.
  " current_setting('default_transaction_read_only') as read_only," +
  ' s.name as schema, n.oid is not null as has_schema,' +
  " has_schema_privilege(n.oid, 'USAGE') as may_use," +
  " has_schema_privilege(n.oid, 'CREATE') as may_create," +
  ' exists (select 1 from pg_class c where c.relnamespace = n.oid' +
  " and c.relname = 'svc_meta') as has_tables" +
  ' from (select coalesce($1::text, current_schema()::text) as name) s' +
  ' left join pg_namespace n on n.nspname = s.name';

async function createSchema(session: Session, schema: string): Promise<void> {
  try {
    await session.command(`create schema if not exists "${schema}"`);
  } catch (error) {
    const { code } = error as { code?: unknown };
    // Another instance may have made it at the same time.
    if (code === '23505' || code === '42P06') return;
    if (code !== '42501') throw translatePostgresError(error);
    throw new MemoryError(
      'STORAGE_UNAVAILABLE',
      `There is no schema ${schema}, and the user of the database may not make one: create schema` +
        ` "${schema}" authorization the user.`,
      { cause: error, retryAfterSeconds: 60 },
    );
  }
}

function refused(message: string): MemoryError {
  return new MemoryError('STORAGE_UNAVAILABLE', message, { retryAfterSeconds: 60 });
}
