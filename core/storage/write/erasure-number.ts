import type { Connection } from '../dialect.ts';
import { META } from '../schema/records.ts';
import { insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { toInteger, toText } from '../schema/rows.ts';
import type { Slot } from './slots.ts';

/** The key in `svc_meta` of the number that the last erasure got. */
const NUMBER = 'erasure_number';

/**
 * Reads the number of the last erasure. Its row is locked until the commit, so erasures are committed
 * in the order of their numbers.
 */
export async function lockLastErasure(connection: Connection): Promise<Slot<number>> {
  const first = [{ key: NUMBER, value: '0' }];
  await insertRecords(connection, first, { into: META, conflict: 'skip' });
  const [row] = await connection.all(
    'select value from svc_meta t where `key` = ? for update of t',
    [NUMBER],
  );
  const number = toInteger(toText(row?.['value']));
  return { before: number, now: number };
}

export async function saveLastErasure(
  connection: Connection,
  { before, now }: Slot<number>,
): Promise<void> {
  if (now === before) return;
  await replaceRecords(connection, META, [{ key: NUMBER, value: String(now) }]);
}
