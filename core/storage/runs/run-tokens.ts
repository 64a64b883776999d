import type { Connection } from '../dialect.ts';
import { toInteger } from '../schema/rows.ts';
import type { RunUsers } from './run-rows.ts';

/** The tokens of a day of all users and spaces. */
export async function countTokens(
  connection: Connection,
  { map, join, parameters }: RunUsers,
  day: number,
): Promise<number> {
  const [row] = await connection.all(
    `select coalesce(sum(d.tokens_used), 0) as total from ${map.table} d where d.tokens_day = ?${join}`,
    [day, ...parameters],
  );
  return toInteger(row?.['total']);
}
