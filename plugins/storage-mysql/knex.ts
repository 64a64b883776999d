import type { Knex } from 'knex';
import { format } from 'mysql2';
import { toMysqlStatement } from '../storage-knex/dialects/mysql.ts';
import { SILENT_LOG } from '../storage-knex/knex-log.ts';
import { toConnectionOptions } from './connections.ts';
import type { MysqlSettings } from './options.ts';

/** How Knex connects: how many connections, and what is said to each. */
export interface KnexOptions {
  connections: number;
  setup: readonly string[];
}

/** Knex on connections of its own, for lists and migrations: a slow one holds up no tool call. */
export async function connectKnex(
  settings: MysqlSettings,
  { connections, setup }: KnexOptions,
): Promise<Knex> {
  const { default: knex } = await import('knex');
  return knex({
    client: 'mysql2',
    connection: {
      ...toConnectionOptions(settings.server),
      // Knex takes it for the character set of new tables.
      charset: 'utf8mb4',
      connectTimeout: Math.min(settings.statementTimeoutMs, 5_000),
      queryFormat: (sql: string, values: unknown) =>
        format(toMysqlStatement(sql), values as Parameters<typeof format>[1]),
    } as Knex.MySql2ConnectionConfig,
    acquireConnectionTimeout: settings.statementTimeoutMs,
    log: SILENT_LOG,
    pool: {
      min: 0,
      max: connections,
      afterCreate(connection: Queried, done: (error: Error | null) => void) {
        setUp(connection, setup).then(
          () => done(null),
          (error: unknown) => done(error as Error),
        );
      },
    },
    postProcessResponse: (result: unknown) => (isRawAnswer(result) ? result[0] : result),
  });
}

interface Queried {
  query(sql: string, done: (error: Error | null) => void): unknown;
}

async function setUp(connection: Queried, setup: readonly string[]): Promise<void> {
  for (const sql of setup) {
    await new Promise<void>((resolve, reject) => {
      connection.query(sql, (error) => (error === null ? resolve() : reject(error)));
    });
  }
}

/** For raw statements Knex passes on mysql2's pair of rows and columns; the stores take rows. */
function isRawAnswer(result: unknown): result is [unknown, unknown] {
  return Array.isArray(result) && result.length === 2 && isRowsOrOutcome(result[0], result[1]);
}

function isRowsOrOutcome(first: unknown, columns: unknown): boolean {
  const isOutcome = typeof first === 'object' && first !== null && 'affectedRows' in first;
  return isOutcome ? columns === undefined : Array.isArray(first) && Array.isArray(columns);
}
