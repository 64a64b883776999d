import {
  bindNames,
  type CellValue,
  checkId,
  type ColumnKind,
  type Dialect,
  type Failure,
  type FolderQuery,
  isDoubtful,
  type KeySet,
  kindOf,
  MemoryError,
  pathBehind,
  type RowSet,
  type Statement,
  successorOf,
  type TableDefinition,
  toHashHex,
  translateOnce,
} from '../../core/plugin.ts';

/** The most bytes of content in one statement; a single row may be longer. */
const PACK_BYTES = 4 * 1024 * 1024;

const NOW_MS = "cast(unixepoch('subsec') * 1000 as integer)";

/**
 * The dialect of a version of SQLite.
 *
 * Rows go to SQLite as one JSON text, read with `jsonb_each`; their contents and binary columns go
 * beside it as one blob that the statement splits. So one prepared statement writes any number of
 * rows. Binding each value takes the same total time, but six times as much of it on the event loop
 * (16 µs against 3 µs for a revision).
 */
export function createSqliteDialect(version: string): Dialect {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // `jsonb_each` is three times as fast (7 µs for a revision against 22 µs).
  const each = major > 3 || minor >= 51 ? 'jsonb_each' : 'json_each';
  return {
    columnType(kind) {
      return COLUMN_TYPES[kind];
    },

    tableSuffix(table) {
      return table.clustered ? ' without rowid, strict' : ' strict';
    },

    tableParts: (table) => ({
      sql:
        "select 'column' as kind, name from pragma_table_info(?)" +
        " union all select 'index', name from pragma_index_list(?)",
      parameters: [table, table],
    }),

    async insertRows(connection, set) {
      const statement = insertStatement(set, each);
      for (const { cells, pack } of packRows(set)) {
        await connection.run(statement, pack === null ? [cells] : [pack, cells]);
      }
    },

    keySet(columns, rows): KeySet {
      const sql = Object.entries(columns).map(([name, kind], index) => {
        const value = `value->>${index}`;
        return `${kind === 'id' || kind === 'hash' ? `unhex(${value}, '-')` : value} as ${name}`;
      });
      const kinds = Object.values(columns);
      const cells = rows.map((row) =>
        row.map((value, index) => toCell(kinds[index] ?? 'text', value)),
      );
      return {
        sql: `(select ${sql.join(', ')} from ${each}(?))`,
        parameters: [JSON.stringify(cells)],
      };
    },

    deleteKeys(table, columns, { sql, parameters }) {
      const own = columns.join(', ');
      return {
        sql: `delete from ${table} where (${own}) in (select ${own} from ${sql} k)`,
        parameters,
      };
    },

    rowsAsJson: (columns) => `json_group_array(json_array(${columns.join(', ')}))`,

    // There is only one writer, and it holds the database's write lock.
    locksAbsentRows: true,

    nowMs: NOW_MS,

    containsText(text) {
      return `instr(lower(${text}), ?) > 0`;
    },

    byIndex(table, alias, index) {
      return `${table} as ${alias} indexed by ${index ?? `sqlite_autoindex_${table}_1`}`;
    },

    isBeyond(columns, operator, values) {
      const places = columns.map(() => '?').join(', ');
      return { sql: `(${columns.join(', ')}) ${operator} (${places})`, parameters: values };
    },

    folderEntries,
  };
}

/**
 * Translates a statement of the stores to SQLite. Its one writer holds the database's write lock, so no
 * rows are locked besides.
 */
export const toSqliteStatement = translateOnce((sql) =>
  sql.replace(/ for update of \w+(?: skip locked)?$/, ''),
);

const COLUMN_TYPES: Record<ColumnKind, string> = {
  integer: 'integer',
  real: 'real',
  key: 'text',
  text: 'text',
  id: 'blob',
  hash: 'blob',
  content: 'text',
  bytes: 'blob',
};

/** Statements by table, columns and conflict: a small fixed set. */
const insertStatements = new Map<string, string>();

function insertStatement(set: RowSet, each: string): string {
  const { table, columns, conflict } = set;
  const cacheKey = JSON.stringify([table.name, columns, conflict, each]);
  const known = insertStatements.get(cacheKey);
  if (known !== undefined) return known;
  let place = 0;
  const values = columns.map((column) => {
    switch (kindOf(table, column)) {
      case 'content':
        return `cast(substr(p.pack, value->>${place++}, value->>${place++}) as text)`;
      case 'bytes':
        return `substr(p.pack, value->>${place++}, value->>${place++})`;
      case 'id':
      case 'hash':
        return `unhex(value->>${place++}, '-')`;
      default:
        return `value->>${place++}`;
    }
  });
  const names = columns.map((column) => `\`${column}\``).join(', ');
  const statement =
    // Without the WHERE, SQLite would parse ON CONFLICT as a join's condition.
    `insert into ${table.name} (${names}) select ${values.join(', ')}` +
    ` from ${hasPack(set) ? '(select ? as pack) p cross join ' : ''}${each}(?) where true` +
    conflictClause(table, conflict);
  insertStatements.set(cacheKey, statement);
  return statement;
}

function conflictClause(
  { name: table, primaryKey }: TableDefinition,
  conflict: RowSet['conflict'],
): string {
  if (conflict === undefined) return '';
  const keys = primaryKey.map((name) => `\`${name}\``).join(', ');
  if (conflict === 'skip') return ` on conflict (${keys}) do nothing`;
  const greatest = (name: string) =>
    `\`${name}\` = max(coalesce(${table}.\`${name}\`, excluded.\`${name}\`),` +
    ` coalesce(excluded.\`${name}\`, ${table}.\`${name}\`))`;
  const assignments = [
    ...(conflict.update ?? []).map((name) => `\`${name}\` = excluded.\`${name}\``),
    ...(conflict.add ?? []).map(
      (name) => `\`${name}\` = ${table}.\`${name}\` + excluded.\`${name}\``,
    ),
    ...(conflict.greatest ?? []).map(greatest),
  ];
  return ` on conflict (${keys}) do update set ${assignments.join(', ')}`;
}

/**
 * Splits a row set into statements: each has the JSON of the cells and the blob that they refer to.
 */
function* packRows({
  table,
  columns,
  rows,
}: RowSet): Generator<{ cells: string; pack: Buffer | null }> {
  const kinds = columns.map((column) => kindOf(table, column));
  let cells: CellValue[][] = [];
  let parts: Uint8Array[] = [];
  let size = 0;
  for (const row of rows) {
    const packed: CellValue[] = [];
    for (let index = 0; index < row.length; index += 1) {
      const kind = kinds[index] ?? 'text';
      const value = row[index] ?? null;
      if (kind !== 'content' && kind !== 'bytes') {
        packed.push(toCell(kind, value));
      } else if (value === null) {
        packed.push(null, null);
      } else {
        const part = typeof value === 'string' ? Buffer.from(value, 'utf8') : (value as Uint8Array);
        // SQL counts positions from 1.
        packed.push(size + 1, part.byteLength);
        parts.push(part);
        size += part.byteLength;
      }
    }
    cells.push(packed);
    if (size >= PACK_BYTES) {
      yield { cells: JSON.stringify(cells), pack: toPack(parts, size) };
      cells = [];
      parts = [];
      size = 0;
    }
  }
  if (cells.length > 0) {
    yield {
      cells: JSON.stringify(cells),
      pack: hasPack({ table, columns }) ? toPack(parts, size) : null,
    };
  }
}

/** The sqlite3 module binds an empty buffer as NULL, so empty content would be lost. */
function toPack(parts: readonly Uint8Array[], size: number): Buffer {
  return size === 0 ? Buffer.alloc(1) : Buffer.concat(parts, size);
}

function hasPack({ table, columns }: Pick<RowSet, 'table' | 'columns'>): boolean {
  return columns.some((column) => ['content', 'bytes'].includes(kindOf(table, column)));
}

function toCell(kind: ColumnKind, value: CellValue): CellValue {
  if (typeof value !== 'string') return value;
  // Keeps the dashes: the statement ignores them, and each row has four ids.
  if (kind === 'id') return checkId(value);
  if (kind === 'hash') return toHashHex(value);
  // JSON can carry half a surrogate pair, which SQLite would store as broken UTF-8.
  return value.toWellFormed();
}

/**
 * Seeks from entry to entry of the folder (a skip scan). Only the entries of the page are opened,
 * to add up what is below them.
 */
function folderEntries(query: FolderQuery): Statement {
  const { scopeId, folder, after, order, limit } = query;
  const end = successorOf(folder);
  // The text of an entry, and the start of the next one: 0 is the character after /, and paths
  // contain no control characters.
  const rest = 'substr(w.path, :restAt)';
  const slash = `instr(${rest}, '/')`;
  const folderPath = `substr(w.path, 1, :restAt + ${slash} - 1)`;
  const pastFolder = `substr(w.path, 1, :restAt + ${slash} - 2) || '0'`;
  const entry = `case ${slash} when 0 then ${rest} else substr(${rest}, 1, ${slash}) end`;
  const from = `case ${slash} when 0 then w.path else ${folderPath} end`;
  const past = `case ${slash} when 0 then w.path || char(1) else ${pastFolder} end`;
  const isAscending = order === 'asc';
  const first = isAscending ? folder : end;
  const next = (own: string) => (isAscending ? pathBehind(folder, own) : folder + own);
  const seek = (start: string) =>
    '(select f.path from svc_file f where f.scope_id = :scopeId and f.deleted_at is null and' +
    (isAscending
      ? ` f.path >= ${start} and f.path < :end order by f.path limit 1)`
      : ` f.path < ${start} and f.path >= :folder order by f.path desc limit 1)`);
  const sql =
    'with recursive walk(path, n) as (' +
    ` select ${seek(':start')}, 1` +
    ` union all select ${seek(isAscending ? past : from)}, w.n + 1 from walk w` +
    ' where w.path is not null and w.n < :limit),' +
    ` entries(entry, low, high) as (select ${entry}, ${from}, ${past} from walk w` +
    ' where w.path is not null)' +
    ' select e.entry, count(*) as files, sum(f.size) as bytes, max(f.updated_at) as updated_at' +
    ' from entries e cross join svc_file f on f.scope_id = :scopeId and f.path >= e.low' +
    ' and f.path < e.high and f.deleted_at is null group by e.entry';
  return bindNames(sql, {
    scopeId,
    folder,
    limit,
    restAt: [...folder].length + 1,
    start: after === null ? first : next(after),
    end,
  });
}

/** Checked at the start: SQLite 3.7.0 to 3.51.2 can lose acknowledged writes in WAL mode. */
const SAFE_VERSIONS = [
  { since: [3, 51, 3], below: [Infinity] },
  { since: [3, 50, 7], below: [3, 51] },
  { since: [3, 44, 6], below: [3, 45] },
] as const;

/**
 * Refuses a SQLite that can lose acknowledged writes (the WAL-reset bug): 3.51.3 and later are
 * safe, and so are 3.50.7 and 3.44.6 within their branches. Throws `STORAGE_UNAVAILABLE`.
 */
export function assertSafeSqlite(version: string): void {
  const parts = version.split('.').map(Number);
  const isSafe = SAFE_VERSIONS.some(
    ({ since, below }) => compareVersions(parts, since) >= 0 && compareVersions(parts, below) < 0,
  );
  if (isSafe && parts.every(Number.isInteger)) return;
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    `SQLite ${version} can lose acknowledged writes: use 3.51.3 or later (sqlite3 6.0.1, better-sqlite3 12.11).`,
  );
}

function compareVersions(left: readonly number[], right: readonly number[]): number {
  for (const [index, part] of right.entries()) {
    const difference = (left[index] ?? 0) - part;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether another process has locked the database: the only error worth retrying. */
export function isSqliteBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

/** What a failed statement means. Conflicts, lost connections and read-only servers don't occur. */
export function classifySqliteError(error: unknown): Failure {
  if (error instanceof MemoryError) return 'other';
  if (isSqliteBusy(error)) return 'locked';
  // The sqlite3 module gives no extended codes.
  const isConstraint = codeOf(error).startsWith('SQLITE_CONSTRAINT');
  if (isConstraint && /UNIQUE constraint/.test(String((error as Error).message)))
    return 'duplicate';
  switch (translateSqliteError(error).code) {
    case 'STORAGE_FULL':
      return 'full';
    case 'STORAGE_DAMAGED':
      return 'damaged';
    case 'STORAGE_UNAVAILABLE':
      return 'disk';
    default:
      return 'other';
  }
}

/** The message for a file with content that SQLite can't have written. */
export const FILE_DAMAGED = 'The database file is damaged.';

/** Whether the header of the file is damaged: of its fields, this one has no error code. */
function isUnknownFormat(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('unsupported file format');
}

/** Codes of the operating system for a disk that takes no more. */
const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG']);

/** Whether the system failed over the files, in a read or a write. It may not in a moment. */
export function isDiskFailure(error: unknown): boolean {
  return /^SQLITE_IOERR(?!_WRITE)/.test(codeOf(error));
}

/**
 * Whether a connection can't be trusted after an error: it may hold pages that were read wrongly, or
 * descriptors of a disk that has gone.
 */
export function spoilsConnection(error: unknown): boolean {
  if (error instanceof MemoryError) return isDoubtful(error);
  const { code } = translateSqliteError(error);
  return !isSqliteBusy(error) && (code === 'STORAGE_DAMAGED' || code === 'STORAGE_UNAVAILABLE');
}

/** The error for files that the system can't read or write now. */
export function diskFailed(reason: string, cause: unknown): MemoryError {
  return new MemoryError(
    'STORAGE_UNAVAILABLE',
    `The disk of the database can not be read or written now: ${reason}.`,
    { cause, retryAfterSeconds: 1, details: { reason: 'disk' } },
  );
}

/** Translates SQLite's own errors; the only place that does. */
export function translateSqliteError(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const code = codeOf(error);
  if (/^SQLITE_(?:FULL|READONLY|IOERR_WRITE)/.test(code) || FULL_CODES.has(code)) {
    return new MemoryError('STORAGE_FULL', undefined, { cause: error, retryAfterSeconds: 5 });
  }
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) {
    return new MemoryError('STORAGE_UNAVAILABLE', 'The database stayed locked.', {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code) || isUnknownFormat(error)) {
    return new MemoryError('STORAGE_DAMAGED', FILE_DAMAGED, { cause: error });
  }
  if (/^SQLITE_(?:IOERR|CANTOPEN|PERM|AUTH|PROTOCOL|INTERRUPT|NOMEM|NOLFS)/.test(code)) {
    return diskFailed(code, error);
  }
  // The system's own codes, such as EIO or EMFILE, from the checks of the files.
  if (isSystemError(error)) return diskFailed(code, error);
  return new MemoryError('INTERNAL', undefined, { cause: error });
}

function isSystemError(error: unknown): boolean {
  const { syscall, errno } = Object(error) as Partial<NodeJS.ErrnoException>;
  return typeof syscall === 'string' && typeof errno === 'number';
}
