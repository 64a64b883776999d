import type { Connection as MysqlConnection, RowDataPacket } from 'mysql2/promise';
import type { SqliteConnection } from '../../plugins/storage-sqlite/connection.ts';
import { seededValue } from './seeded-tables.ts';

/** How a statement reads one of the service's tables. */
export interface TableRead {
  table: string;
  /** In the words of the database. */
  how: string;
  /**
   * - `index`: it finds the rows by an index.
   * - `walk`: it reads an index in order, and stops at the LIMIT of the statement.
   * - `scan`: it reads all rows.
   */
  by: 'index' | 'walk' | 'scan';
}

/** Asks SQLite how it would run a statement. */
export async function explainOnSqlite(
  connection: SqliteConnection,
  { sql }: { sql: string },
): Promise<TableRead[]> {
  const rows = (await connection.all(`explain query plan ${sql}`, [])) as unknown as {
    parent: number;
    detail: string;
  }[];
  const tables = findTables(sql);
  const firsts = new Set<number>();
  return rows.flatMap(({ parent, detail }) => {
    const [, verb, name = ''] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    if (verb === undefined) return [];
    const isFirst = !firsts.has(parent);
    firsts.add(parent);
    const table = tables.get(name);
    if (table === undefined) return [];
    const isSorted = rows.some((row) => row.parent === parent && /TEMP B-TREE/.test(row.detail));
    const isEnded = isFirst && !isSorted && hasLimit(sql);
    const isScan = verb === 'SCAN' || detail.includes('AUTOMATIC');
    return [{ table, how: detail, by: isScan ? (isEnded ? 'walk' : 'scan') : 'index' }];
  });
}

interface MysqlRow {
  id: number;
  table: string | null;
  type: string | null;
  key: string | null;
  Extra: string;
}

/** Asks MariaDB how it would run a statement, with values of the seeded rows. */
export async function explainOnMysql(
  connection: MysqlConnection,
  { sql, values }: { sql: string; values: readonly unknown[] },
): Promise<TableRead[]> {
  const [answer] = await connection.query<RowDataPacket[]>(
    `explain ${sql}`,
    fitValues(sql, values),
  );
  const rows = answer as MysqlRow[];
  const tables = findTables(sql);
  return rows.flatMap(({ id, table: name, type, key, Extra }) => {
    if (name === null) return [{ table: 'nothing', how: Extra, by: 'scan' }];
    const table = tables.get(name);
    if (table === undefined) return [];
    const block = rows.filter((row) => row.id === id);
    const isSorted = block.some((row) => /Using (?:temporary|filesort)/.test(row.Extra));
    const isEnded = type === 'index' && block[0]?.table === name && !isSorted && hasLimit(sql);
    const isScan = type === 'ALL' || type === 'index';
    const how = `${type ?? ''} ${name} by ${key ?? 'no index'}. ${Extra}`;
    return [{ table, how, by: isScan ? (isEnded ? 'walk' : 'scan') : 'index' }];
  });
}

/**
 * MariaDB looks up what has one value while it plans, and has no plan when it finds no row: so the
 * columns are compared with values of a seeded row, and ranges are around it.
 */
function fitValues(sql: string, values: readonly unknown[]): unknown[] {
  const places = [...sql.matchAll(/'[^']*'|\?/g)].filter(([text]) => text === '?');
  return places.map(({ index }, at) => {
    const before = sql.slice(0, index);
    // A limit of 0 has no plan either.
    if (/\blimit $/i.test(before)) return Math.max(1, Number(values[at]));
    const [, column, operator = ''] =
      /(\w+)`?\s*(=|<>|[<>]=?|in \((?:\?, )*)\s*$/.exec(before) ?? [];
    const around = operator.startsWith('<') ? 2 : operator.startsWith('>') ? -2 : 0;
    return (column === undefined ? undefined : seededValue(column, around)) ?? values[at];
  });
}

/** A LIMIT ends no walk of which one row is made. */
function hasLimit(sql: string): boolean {
  return /\blimit\b/i.test(sql) && !/^select (?:sum|count)\(/i.test(sql);
}

/** The tables of the service that a statement names, by the names that it gives them. */
function findTables(sql: string): Map<string, string> {
  const named = sql
    .replaceAll('`', '')
    .matchAll(
      /\b(svc_\w+)(?:\s+(?:as\s+)?(?!(?:as|where|set|on|order|group|limit|left|inner|join|straight_join|cross|force|indexed|values|using|select|union|for)\b)(\w+))?/g,
    );
  return new Map([...named].map(([, table = '', alias]) => [alias ?? table, table]));
}
