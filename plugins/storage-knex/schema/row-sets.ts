import type { Dialect, Executor, RowSet } from '../dialects/dialect.ts';
import type { RowWriter } from './rows.ts';
import { tableOf } from './tables.ts';

/** Writes records as rows; nothing at all when there are none. */
export async function insertRecords<T>(
  executor: Executor,
  dialect: Dialect,
  writer: RowWriter<T>,
  records: readonly T[],
  conflict?: RowSet['conflict'],
): Promise<void> {
  if (records.length === 0) return;
  await dialect.insertRows(executor, {
    table: tableOf(writer.table),
    columns: writer.columns,
    rows: records.map((record) => writer.toCells(record)),
    ...(conflict === undefined ? {} : { conflict }),
  });
}
