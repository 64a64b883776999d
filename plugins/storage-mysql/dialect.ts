import {
  bindNames,
  type CellValue,
  type ColumnKind,
  type Connection,
  type Dialect,
  type Failure,
  type FolderQuery,
  type KeySet,
  kindOf,
  MemoryError,
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
/**
 * The most bytes of values in one statement, except for a single row. With their types and lengths
 * this stays below 4 MB, the smallest `max_allowed_packet` that the start accepts.
 */
const STATEMENT_BYTES = 3 * 1024 * 1024;
/** The longest key, in characters: a path has up to 1,024. */
const KEY_CHARACTERS = 1024;

// Computed from UTC, because unix_timestamp() depends on the session's time zone.
const NOW_MS = "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)";

/**
 * The dialect of MySQL 8 and MariaDB, in what both understand. Keys to look rows up by cross as one
 * JSON text, so that any number of them is one prepared statement; rows to be written are bound
 * value by value.
 *
 * Where the two differ:
 * - MySQL has no RETURNING, no sequences, no `utf8mb4_nopad_bin`: none is used. Text that is compared
 *   stands in binary columns, and the collations of both ignore nothing there.
 * - `values(column)` in ON DUPLICATE KEY UPDATE: MySQL 8 has an alias of the row too, and warns;
 *   MariaDB knows it alone.
 * - `json_table`: from MariaDB 10.6 and MySQL 8.0.4 on. TiDB has none, and Vitess does not support it
 *   (docs/guides/several-instances.md).
 * - `rank` is reserved in MySQL 8, `key` in both: such columns stand in backticks, or after a dot.
 * - `start transaction` and the isolation of a session, `straight_join`, `force index (primary)`,
 *   `innodb_lock_wait_timeout` and `lock_wait_timeout` are the same; MySQL's `lock_wait_timeout` is
 *   a year by default, MariaDB's a day.
 * - A statement that takes too long: 3024 and 1317 in MySQL, 1969 in MariaDB. A server without
 *   writes: 1290 and 1836 in both, 1792 in a transaction that is read-only.
 * - Failures at the commit: 3101 of MySQL's group replication; 1213 and 1047 of Galera.
 */
export const MYSQL_DIALECT: Dialect = {
  columnType,

  widenColumn: (table, column) => `alter table ${table} modify column ${column} not null`,

  tableSuffix() {
    return ' default character set utf8mb4 collate utf8mb4_bin engine=InnoDB row_format=dynamic';
  },

  tableParts: (table) => ({
    sql:
      "select 'column' as kind, column_name as name from information_schema.columns" +
      ' where table_schema = database() and table_name = ?' +
      " union all select distinct 'index', index_name from information_schema.statistics" +
      ' where table_schema = database() and table_name = ?',
    parameters: [table, table],
  }),

  insertRows,
  keySet,

  deleteKeys(table, columns, { sql, parameters }) {
    // A join, because IN with a subquery would read and lock the whole table.
    const match = columns.map((column) => `t.${column} = k.${column}`).join(' and ');
    return { sql: `delete t from ${sql} k straight_join ${table} t on ${match}`, parameters };
  },

  rowsAsJson: null,

  locksAbsentRows: false,

  nowMs: NOW_MS,

  containsText(text) {
    // lower() does not change binary text, and changes more than ASCII in utf8mb4. The Hebrew
    // character set has one character for each byte and no cases of its own.
    return `locate(?, cast(lower(convert(cast(${text} as binary) using hebrew)) as binary)) > 0`;
  },

  byIndex(table, alias, index) {
    return `${table} as ${alias} force index (${index ?? 'primary'})`;
  },

  isBeyond(columns, operator, values) {
    // Comparing rows would walk the index from its beginning.
    const strict = operator.startsWith('<') ? '<' : '>';
    const ways = columns.map((column, at) => {
      const isLast = at === columns.length - 1;
      const before = columns.slice(0, at).map((name) => `${name} = ?`);
      return `(${[...before, `${column} ${isLast ? operator : strict} ?`].join(' and ')})`;
    });
    return {
      sql: `(${ways.join(' or ')})`,
      parameters: columns.flatMap((_, at) => values.slice(0, at + 1)),
    };
  },

  folderEntries,
};

/** Translates a statement of the stores to MySQL. */
export const toMysqlStatement = translateOnce((sql) => {
  // There `cross join` does not fix the order of the tables.
  let text = sql.replaceAll('cross join', 'straight_join');
  // Otherwise a small table is read completely, which waits for locks of other transactions.
  if (LOCK.test(text)) text = text.replaceAll(JOINED, '$& force index (primary)');
  // MariaDB can't lock the rows of one table alone.
  text = text.replace(LOCK, ' for update$1');
  // There are no partial indexes, so the index holds all rows.
  return /^create (?:unique )?index/.test(text) ? text.replace(/ where .*$/, '') : text;
});

/** The lock at the end of a query. */
const LOCK = / for update of \w+((?: skip locked)?)$/;
/** A joined table with its alias. */
const JOINED = /(?:straight_join|left join) svc_\w+ \w(?= on )/g;

function columnType(kind: ColumnKind, length: number | undefined): string {
  switch (kind) {
    case 'integer':
      return 'bigint';
    case 'real':
      return 'double';
    // Text types ignore trailing spaces in comparisons, even with utf8mb4_bin.
    case 'key':
      return `varbinary(${length ?? KEY_CHARACTERS})`;
    case 'text':
      return 'mediumtext';
    case 'id':
      return 'binary(16)';
    case 'hash':
      return 'binary(32)';
    case 'content':
      return 'longtext';
    case 'bytes':
      return 'longblob';
  }
}

async function insertRows(connection: Connection, set: RowSet): Promise<void> {
  const kinds = set.columns.map((column) => kindOf(set.table, column));
  let rows: SqlValue[][] = [];
  let size = 0;
  for (const row of set.rows) {
    const values = row.map((value, at) => toBound(kinds[at] ?? 'text', value));
    const bytes = values.reduce<number>((sum, value) => sum + byteSize(value), 0);
    if (rows.length > 0 && size + bytes > STATEMENT_BYTES) {
      await insertCut(connection, set, rows);
      rows = [];
      size = 0;
    }
    rows.push(values);
    size += bytes;
  }
  await insertCut(connection, set, rows);
}

async function insertCut(
  connection: Connection,
  set: RowSet,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
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
  const names = columns.map((column) => `\`${column}\``).join(', ');
  const row = `(${columns.map(() => '?').join(', ')})`;
  const rows = Array.from({ length: count }, () => row).join(', ');
  const statement = `insert into ${table.name} (${names}) values ${rows}${conflictClause(table, conflict)}`;
  insertStatements.set(cacheKey, statement);
  return statement;
}

function conflictClause(
  { primaryKey: [key] }: TableDefinition,
  conflict: RowSet['conflict'],
): string {
  if (conflict === undefined) return '';
  // INSERT IGNORE would also hide other errors, and truncate values that are too long.
  if (conflict === 'skip') return ` on duplicate key update \`${key}\` = \`${key}\``;
  const assignments = [
    ...(conflict.update ?? []).map((name) => `\`${name}\` = values(\`${name}\`)`),
    ...(conflict.add ?? []).map((name) => `\`${name}\` = \`${name}\` + values(\`${name}\`)`),
    ...(conflict.greatest ?? []).map(
      (name) =>
        `\`${name}\` = greatest(coalesce(\`${name}\`, values(\`${name}\`)),` +
        ` coalesce(values(\`${name}\`), \`${name}\`))`,
    ),
  ];
  return ` on duplicate key update ${assignments.join(', ')}`;
}

function keySet(columns: Readonly<Record<string, ColumnKind>>, rows: CellValue[][]): KeySet {
  const kinds = Object.values(columns);
  const paths = kinds.map((kind, at) => {
    switch (kind) {
      case 'integer':
        return `c${at} bigint path '$[${at}]'`;
      case 'id':
      case 'hash':
        return `c${at} varchar(64) character set ascii path '$[${at}]'`;
      default:
        return `c${at} varchar(${KEY_CHARACTERS}) character set utf8mb4 path '$[${at}]'`;
    }
  });
  const values = Object.entries(columns).map(([name, kind], at) => {
    if (kind === 'integer') return `j.c${at} as \`${name}\``;
    const value = kind === 'id' || kind === 'hash' ? `unhex(j.c${at})` : `cast(j.c${at} as binary)`;
    return `${value} as \`${name}\``;
  });
  const cells = rows.map((row) => row.map((value, at) => toCell(kinds[at], value)));
  return {
    sql:
      `(select ${values.join(', ')}` +
      ` from json_table(?, '$[*]' columns (${paths.join(', ')})) j)`,
    parameters: [JSON.stringify(cells)],
  };
}

function toCell(kind: ColumnKind | undefined, value: CellValue): CellValue {
  if (typeof value !== 'string') return value;
  if (kind === 'id') return toIdHex(value);
  if (kind === 'hash') return toHashHex(value);
  return value.toWellFormed();
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

function byteSize(value: SqlValue): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return value instanceof Uint8Array ? value.byteLength : 8;
}

/**
 * Reads everything in the folder from the start of the page, and rolls it up. Seeking from entry to
 * entry would start at the scope's first file each time.
 */
function folderEntries(query: FolderQuery): Statement {
  const { scopeId, folder, after, order, limit } = query;
  const slash = "locate('/', f.path, :restAt)";
  const entry = `case ${slash} when 0 then substr(f.path, :restAt) else substr(f.path, :restAt, ${slash} - :restAt + 1) end`;
  const isAscending = order === 'asc';
  const sql =
    'select e.entry, count(*) as files, sum(e.size) as bytes, max(e.updated_at) as updated_at from' +
    ` (select ${entry} as entry, f.size, f.updated_at from svc_file f force index (primary)` +
    ' where f.scope_id = :scopeId and f.deleted_at is null' +
    ' and f.path >= :start and f.path < :end) e' +
    ` group by e.entry order by e.entry ${isAscending ? 'asc' : 'desc'} limit :limit`;
  return bindNames(sql, {
    scopeId,
    limit,
    restAt: Buffer.byteLength(folder) + 1,
    start: isAscending && after !== null ? pathBehind(folder, after) : folder,
    end: !isAscending && after !== null ? folder + after : successorOf(folder),
  });
}

const LOCK_WAIT = 1205;
const DUPLICATE = new Set([
  1050, // a table of this name
  1060, // a column of this name
  1061, // an index of this name
  1062, // a row of this key
]);
const CONFLICTS = new Set([
  1213, // deadlock, or a certification that failed on Galera
  1020, // the record has changed since it was read
  1615, // a prepared statement needs to be prepared again
  3101, // rolled back during the commit, by group replication
]);
const READ_ONLY = new Set([
  1036, // a table is read-only
  1290, // --read-only, also of other options
  1792, // a read-only transaction
  1836, // --innodb-read-only, or another read-only mode
  1874, // --innodb-read-only
]);
const DISK = new Set([
  1004, // 1004 to 1007, 1016 to 1024: a file can't be made, opened, read or written
  1005,
  1016,
  1017,
  1018,
  1023,
  1024,
  1030, // an error of the engine; those of damage are told apart before
  1037, // out of memory
  1038, // out of memory for sorting
  1041, // out of memory
  1135, // no further thread
  1812, // a tablespace is missing
  1932, // a table is missing in the engine
]);
const DAMAGED = new Set([
  1034, // a wrong key file
  1035, // an old key file
  1194, // a table is marked as crashed
  1195, // a table is marked as crashed, and its repair failed
  1712, // a corrupt index
  1877, // a corrupt table
]);
/** The engine's own numbers of damage, in error 1030: crashed tables and wrong records. */
const ENGINE_DAMAGED = /\b(?:126|127|134|144|145|175|176|180)\b/;
/** A temporary table. Where its disk is full, the server calls it damaged. */
const TEMPORARY = /#sql/;
const FULL = new Set([
  3, // a file can't be written
  1021, // disk full
  1026, // a file can't be written
  1114, // a table is full
]);
const LOST = new Set([
  1040, // too many connections
  1047, // a node of Galera that is not ready
  1053, // the server shuts down
  1080, // a forced close
  1152, // an aborted connection
  1158, // 1158 to 1161: the network
  1159,
  1160,
  1161,
  1180, // an error during the commit
  1184, // an aborted connection
  1203, // too many connections of this user
  1226, // a limit of this user
  1243, // a prepared statement that the server does not know: a proxy leads to another one
  1317, // interrupted by KILL
  1461, // too many prepared statements: a connection that ends frees its own
  1927, // killed
  1969, // the server's own limit on a statement's time
  2006,
  2013,
  3024, // the server's own limit on a statement's time
  3032, // the server is in offline mode
  4031, // closed for its inactivity
]);

/** Classifies failures by MySQL's error numbers and the system's error codes. */
export function classifyMysqlError(error: unknown): Failure {
  if (error instanceof MemoryError) return 'other';
  const { errno, code, fatal, message } = asNative(error);
  if (errno === LOCK_WAIT) return 'locked';
  if (DUPLICATE.has(errno)) return 'duplicate';
  if (CONFLICTS.has(errno)) return 'conflict';
  // Error 1290 also concerns other options than --read-only.
  if (READ_ONLY.has(errno))
    return errno !== 1290 || /read.only/i.test(message) ? 'read-only' : 'other';
  if (FULL.has(errno) || (errno === 1030 && /\b28\b/.test(message))) return 'full';
  if (DAMAGED.has(errno) || (errno === 1030 && ENGINE_DAMAGED.test(message))) {
    return TEMPORARY.test(message) ? 'full' : 'damaged';
  }
  if (DISK.has(errno)) return 'disk';
  if (LOST.has(errno)) return 'lost';
  if (fatal || LOST_CODES.test(code) || LOST_MESSAGES.test(message)) return 'lost';
  return 'other';
}

const LOST_CODES =
  /^(?:PROTOCOL_|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT|HANDSHAKE_)/;
const LOST_MESSAGES = /closed state|Pool is closed|Timeout acquiring a connection/;

const MISTAKES: Readonly<Record<number, string>> = {
  1044: 'The database refuses the user.',
  1045:
    'The database refuses the user or the password. If it takes only connections with TLS' +
    ' (require_secure_transport), set ssl-mode=required or stricter here.',
  1049: 'There is no such database: create it first.',
  1071: 'The keys of the tables do not fit: use a MariaDB or MySQL with innodb_page_size=16K.',
  1129: 'The database refuses this host after failed connections: run FLUSH HOSTS there.',
  1130: 'The database takes no connections from this host: create a user for it.',
  1142: 'The user of the database lacks a privilege that the service needs.',
  1143: 'The user of the database lacks a privilege that the service needs.',
  1227: 'The user of the database lacks a privilege that the service needs.',
  1461: 'The database takes no more prepared statements: raise its max_prepared_stmt_count.',
  1665:
    'The database writes its binary log as statements, and refuses writes of the service then: set' +
    ' binlog_format=ROW there, and start the service again.',
  1698: 'The database refuses the user or the password.',
  1820: 'The password of the user of the database has expired: set a new one.',
  1862: 'The password of the user of the database has expired: set a new one.',
  3159: 'The database takes no connections without TLS (require_secure_transport): set ssl-mode=required or stricter here.',
};

/** What to do about failures that may also pass by themselves. */
const HINTS: Readonly<Record<number, string>> = {
  1040: 'The database takes no more connections: raise its max_connections, or lower connections here.',
  1184: 'The database ended the connection as it began: see its error log, and look at its init_connect.',
  1203: 'The database takes no more connections of this user: raise its max_user_connections, or lower connections here.',
  1226: 'The user of the database has reached a limit: raise its max_user_connections or the limits of its account.',
  1969: 'The database ended a statement at its own time limit: raise its max_statement_time, or set it to 0 for this user.',
  3024: 'The database ended a statement at its own time limit: raise its max_execution_time.',
};

/** The same by mysql2's own codes. */
const TLS_MISTAKES: Readonly<Record<string, string>> = {
  HANDSHAKE_NO_SSL_SUPPORT: 'The database has no TLS: set it up there, or ssl-mode=disabled here.',
  HANDSHAKE_SSL_ERROR:
    'There is no TLS with the database: its certificate is not trusted, or is of another host.',
};

/** Whether only the operator can fix the error, in the configuration or in the database. */
export function isMysqlMistake(error: unknown): boolean {
  return mistakeOf(error) !== undefined;
}

function mistakeOf(error: unknown): string | undefined {
  const { errno, code } = asNative(error);
  return MISTAKES[errno] ?? TLS_MISTAKES[code];
}

/** Translates MySQL's own errors; the only place that does. */
export function translateMysqlError(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const { errno } = asNative(error);
  const mistake = mistakeOf(error);
  if (mistake !== undefined) {
    return new MemoryError('STORAGE_UNAVAILABLE', mistake, { cause: error, retryAfterSeconds: 60 });
  }
  if (errno === 1153) {
    const message = 'The content is larger than the max_allowed_packet of the database.';
    return new MemoryError('PAYLOAD_TOO_LARGE', message, { cause: error });
  }
  switch (classifyMysqlError(error)) {
    case 'conflict':
      return unavailable('Others wrote the same rows again and again.', error);
    case 'locked':
      return unavailable('The database stayed locked.', error);
    case 'read-only':
      return unavailable('The database is read-only: another server may be taking over.', error);
    case 'lost':
      return unavailable(HINTS[errno], error);
    case 'disk':
      return unavailable(
        `The database could not read or write its files: its error ${errno}.`,
        error,
      );
    case 'damaged':
      return new MemoryError(
        'STORAGE_DAMAGED',
        `The database finds a table or an index damaged: its error ${errno}.`,
        { cause: error },
      );
    case 'full':
      return new MemoryError('STORAGE_FULL', undefined, { cause: error, retryAfterSeconds: 5 });
    case 'duplicate':
    case 'other':
      return new MemoryError('INTERNAL', undefined, { cause: error });
  }
}

function unavailable(message: string | undefined, cause: unknown): MemoryError {
  return new MemoryError('STORAGE_UNAVAILABLE', message, { cause, retryAfterSeconds: 1 });
}

function asNative(error: unknown): {
  errno: number;
  code: string;
  fatal: boolean;
  message: string;
} {
  const native = (error ?? {}) as Record<string, unknown>;
  return {
    // The operating system's errors have negative numbers.
    errno: typeof native['errno'] === 'number' ? native['errno'] : 0,
    code: typeof native['code'] === 'string' ? native['code'] : '',
    fatal: native['fatal'] === true,
    message: typeof native['message'] === 'string' ? native['message'] : '',
  };
}
