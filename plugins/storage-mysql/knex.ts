import type { Knex } from 'knex';
import { createKnex } from '../../core/storage/knex-connection.ts';
import type { Connections, UseOptions } from './connections.ts';

/** Knex on our own connections, so that their time limit and their handling of lost ones apply. */
export function createMysqlKnex(
  connections: Connections,
  options: Pick<UseOptions, 'statementTimeoutMs'> = {},
): Promise<Knex> {
  const config: Knex.Config = {
    client: 'mysql2',
    // Knex would use this as the character set of new tables.
    connection: { charset: 'utf8mb4' },
    postProcessResponse: (result: unknown) => (isRawAnswer(result) ? result[0] : result),
  };
  return createKnex(config, async (sql, bindings) => {
    const result = await connections.use((session) => session.query(sql, bindings), options);
    return [result, Array.isArray(result) ? [] : undefined];
  });
}

/**
 * For raw statements Knex returns the driver's pair of rows and columns; the stores expect rows.
 */
function isRawAnswer(result: unknown): result is [unknown, unknown] {
  return Array.isArray(result) && result.length === 2 && isRowsOrOutcome(result[0], result[1]);
}

function isRowsOrOutcome(first: unknown, columns: unknown): boolean {
  const isOutcome = typeof first === 'object' && first !== null && 'affectedRows' in first;
  return isOutcome ? columns === undefined : Array.isArray(first) && Array.isArray(columns);
}
