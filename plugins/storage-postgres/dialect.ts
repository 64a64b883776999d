import {
  bindNames,
  type CellValue,
  type ColumnKind,
  type Connection,
  type Dialect,
  type FolderQuery,
  type KeySet,
  kindOf,
  pathBehind,
  type RowSet,
  type SqlValue,
  type Statement,
  successorOf,
  type TableDefinition,
  toHashHex,
  toIdHex,
  translateOnce,
} from '../../core/plugin.ts';

/**
 * The most rows in one statement. Smaller numbers are split into powers of two, so there are few
 * different texts.
 */
const ROWS_AT_ONCE = 64;

/** Texts of another collation are ordered by a language, and some that differ are equal. */
const BYTEWISE = 'collate "C"';

// `now()` would be the time at which the transaction began.
const NOW_MS = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** Types of columns. Numbers of 64 bits are read as JavaScript's: none is beyond 2^53. */
const TYPES: Readonly<Record<ColumnKind, string>> = {
  integer: 'bigint',
  real: 'double precision',
  key: `text ${BYTEWISE}`,
  text: `text ${BYTEWISE}`,
  content: `text ${BYTEWISE}`,
  id: 'bytea',
  hash: 'bytea',
  bytes: 'bytea',
};

/**
 * The dialect of PostgreSQL from 14, for tables in one schema. It needs no setting of a session, and
 * no statement that is prepared by name, so it works through a pooler that lends a connection for a
 * transaction.
 */
export function createPostgresDialect(schema: string): Dialect {
  return {
    columnType: (kind) => TYPES[kind],

    tableSuffix: () => '',

    tableParts: (table) => ({
      sql:
        "select 'column' as kind, column_name::text as name from information_schema.columns" +
        ' where table_schema = ? and table_name = ?' +
        " union all select 'index', indexname::text from pg_indexes" +
        ' where schemaname = ? and tablename = ?',
      parameters: [schema, table, schema, table],
    }),

    insertRows,
    keySet,

    deleteKeys(table, columns, { sql, parameters }) {
      const match = columns.map((column) => `t."${column}" = k."${column}"`).join(' and ');
      return { sql: `delete from ${table} t using ${sql} k where ${match}`, parameters };
    },

    rowsAsJson: null,

    locksAbsentRows: false,

    nowMs: NOW_MS,

    containsText: (text) => `position(? in lower(${text} ${BYTEWISE})) > 0`,

    byIndex: (table, alias) => `${table} as ${alias}`,

    isBeyond(columns, operator, values) {
      const places = columns.map(() => '?').join(', ');
      return { sql: `(${columns.join(', ')}) ${operator} (${places})`, parameters: values };
    },

    folderEntries,
  };
}

/**
 * Makes the function that translates a statement of the stores: names in double quotes, numbered
 * parameters, `join` (PostgreSQL has no `cross join … on`, and chooses the order itself), and each
 * table with its schema, since a search path would be a setting of a session.
 */
export function createTranslator(schema: string): (sql: string) => string {
  return translateOnce((sql) => translate(sql, `"${schema}"`));
}

function translate(sql: string, schema: string): string {
  let place = 0;
  return sql
    .replaceAll('cross join', 'join')
    .replaceAll('`', '"')
    .replaceAll(/\bhex\(([^()]*)\)/g, "upper(encode($1, 'hex'))")
    .replaceAll(TABLE, `${schema}."$1"`)
    .replaceAll('?', () => `$${(place += 1)}`);
}

/** The name of a table; not of an index or a constraint, which have no schema of their own. */
const TABLE = /(?<![\w.'"]|constraint |index (?:if not exists )?)"?(svc_\w+)"?/g;

async function insertRows(connection: Connection, set: RowSet): Promise<void> {
  const kinds = set.columns.map((column) => kindOf(set.table, column));
  const rows = set.rows.map((row) => row.map((value, at) => toBound(kinds[at] ?? 'text', value)));
  let count = ROWS_AT_ONCE;
  for (let start = 0; start < rows.length; start += count) {
    while (count > rows.length - start) count /= 2;
    await connection.run(insertStatement(set, count), rows.slice(start, start + count).flat());
  }
}

/** Statements by table, columns, conflict and number of rows: a small fixed set. */
const insertStatements = new Map<string, string>();

function insertStatement({ table, columns, conflict }: RowSet, count: number): string {
  const cacheKey = JSON.stringify([table.name, columns, conflict, count]);
  const known = insertStatements.get(cacheKey);
  if (known !== undefined) return known;
  const names = columns.map((column) => `"${column}"`).join(', ');
  const row = `(${columns.map(() => '?').join(', ')})`;
  const rows = Array.from({ length: count }, () => row).join(', ');
  const statement = `insert into ${table.name} as t (${names}) values ${rows}${conflictClause(table, conflict)}`;
  insertStatements.set(cacheKey, statement);
  return statement;
}

function conflictClause({ primaryKey }: TableDefinition, conflict: RowSet['conflict']): string {
  if (conflict === undefined) return '';
  // Of whichever unique index: two transactions that make the same row may meet in another one first.
  if (conflict === 'skip') return ' on conflict do nothing';
  const target = ` on conflict (${primaryKey.map((name) => `"${name}"`).join(', ')})`;
  const assignments = [
    ...(conflict.update ?? []).map((name) => `"${name}" = excluded."${name}"`),
    ...(conflict.add ?? []).map((name) => `"${name}" = t."${name}" + excluded."${name}"`),
    // The greatest of a value and NULL is the value.
    ...(conflict.greatest ?? []).map(
      (name) => `"${name}" = greatest(t."${name}", excluded."${name}")`,
    ),
  ];
  return `${target} do update set ${assignments.join(', ')}`;
}

/** Arrays, one for each column, so that any number of keys is one text. */
function keySet(columns: Readonly<Record<string, ColumnKind>>, rows: CellValue[][]): KeySet {
  const entries = Object.entries(columns);
  const names = entries.map(([name]) => `"${name}"`);
  const isText = (kind: ColumnKind) => ARRAY_TYPES[kind] === 'text[]';
  const selected = entries.map(([name, kind]) =>
    isText(kind) ? `u."${name}" ${BYTEWISE} as "${name}"` : `u."${name}"`,
  );
  const arrays = entries.map(([, kind]) => `?::${ARRAY_TYPES[kind]}`);
  return {
    sql: `(select ${selected.join(', ')} from unnest(${arrays.join(', ')}) as u (${names.join(', ')}))`,
    parameters: entries.map(([, kind], at) => toArray(kind, rows, at)),
  };
}

const ARRAY_TYPES: Readonly<Record<ColumnKind, string>> = {
  integer: 'bigint[]',
  real: 'double precision[]',
  key: 'text[]',
  text: 'text[]',
  content: 'text[]',
  id: 'bytea[]',
  hash: 'bytea[]',
  bytes: 'bytea[]',
};

/** The text of an array: `{1,2}`, `{"a","b"}`, `{"\\x00ff"}`. */
function toArray(kind: ColumnKind, rows: readonly CellValue[][], at: number): string {
  const cells = rows.map((row) => {
    const value = toBound(kind, row[at] ?? null);
    if (value === null) return 'null';
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string') return `"\\\\x${Buffer.from(value).toString('hex')}"`;
    return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${cells.join(',')}}`;
}

function toBound(kind: ColumnKind, value: CellValue): SqlValue {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (typeof value !== 'string') return value;
  if (kind === 'id') return Buffer.from(toIdHex(value), 'hex');
  if (kind === 'hash') return Buffer.from(toHashHex(value), 'hex');
  // Half a surrogate pair is not a character, and would be stored as another one.
  return value.toWellFormed();
}

/** Reads everything in the folder from the start of the page, and rolls it up. */
function folderEntries(query: FolderQuery): Statement {
  const { scopeId, folder, after, order, limit } = query;
  const isAscending = order === 'asc';
  const rest = 'substr(f.path, cast(:restAt as int))';
  const slash = `position('/' in ${rest})`;
  const entry = `case ${slash} when 0 then ${rest} else substr(f.path, cast(:restAt as int), ${slash}) end`;
  const sql =
    'select e.entry, count(*) as files, sum(e.size) as bytes, max(e.updated_at) as updated_at from' +
    ` (select ${entry} as entry, f.size, f.updated_at from svc_file f` +
    ' where f.scope_id = :scopeId and f.deleted_at is null' +
    ' and f.path >= :start and f.path < :end) e' +
    ` group by e.entry order by e.entry ${isAscending ? 'asc' : 'desc'} limit :limit`;
  return bindNames(sql, {
    scopeId,
    limit,
    // PostgreSQL counts characters. JavaScript's `length` counts some of them twice.
    restAt: [...folder].length + 1,
    start: isAscending && after !== null ? pathBehind(folder, after) : folder,
    end: !isAscending && after !== null ? folder + after : successorOf(folder),
  });
}
