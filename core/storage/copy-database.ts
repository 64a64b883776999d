import type { StorageOptions } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { Connection, Row, SqlValue } from './dialect.ts';
import type { ColumnKind, TableDefinition } from './schema/columns.ts';
import { foldTables } from './schema/migration.ts';
import { MIGRATIONS } from './schema/migrations/list.ts';
import { isUnfinishedCopy, MARKS, markCopy } from './schema/copy-mark.ts';
import { prepareSchema } from './schema/prepare-schema.ts';
import { toHex } from './schema/ids.ts';
import { toInteger, toText } from './schema/rows.ts';
import type { SqlDatabase } from './sql-database.ts';
import { Damage } from './write/damage.ts';
import { runTransaction } from './write/parallel-writes.ts';

/** Rows of one look at both databases, of tables with long values and of others. */
const LONG_ROWS = 40;
const SHORT_ROWS = 500;
/** The most bytes of rows that one statement writes: a server has to take packets of 4 MB. */
const STATEMENT_BYTES = 1_000_000;
/** How often others may have written meanwhile before the copy gives up. */
const MOST_PASSES = 5;

/** What a copy came to. */
export interface CopiedDatabase {
  tables: number;
  rows: number;
}

interface CopyOptions {
  log: StorageOptions['log'];
  /** Gets the number of rows that are done. */
  progress?: ((done: number) => void) | undefined;
}

/**
 * Copies every row of a database into an empty one, of any kind: memory, its history, the logs, keys and dreams.
 * Opens both, and closes them. Writes to the source wait meanwhile.
 *
 * Rows are compared before they are written. So a copy that was interrupted goes on where it stopped, whatever was
 * written to the source in between, and a target that others could see is never half of one: until it is finished, no
 * service starts on it.
 *
 * Throws `INVALID_REQUEST` for a target that has rows and is no unfinished copy, and `STORAGE_UNAVAILABLE` if others go
 * on writing to the source without its lock.
 */
export async function copyDatabase(
  source: SqlDatabase,
  target: SqlDatabase,
  { log, progress = () => undefined }: CopyOptions,
): Promise<CopiedDatabase> {
  const opened: SqlDatabase[] = [];
  try {
    for (const database of [source, target]) {
      await open(database, log);
      opened.push(database);
      await prepareSchema(database, log, { takesCopies: database === target });
    }
    await beginCopy(target);
    const outcome = await source.transact((from) => copyAll(from, { source, target, progress }), {
      isSlow: true,
    });
    if (outcome.status === 'failed') throw await source.explain(outcome.error);
    await write(target, (connection) => markCopy(connection, false));
    return outcome.result;
  } finally {
    await Promise.allSettled(opened.map((database) => database.close()));
  }
}

async function open(database: SqlDatabase, log: StorageOptions['log']): Promise<void> {
  const damage = new Damage();
  damage.logTo(log);
  await database.open({
    log,
    now: Date.now,
    damage: {
      note: (error) => damage.note(error),
      confirm: (work) => damage.confirm(work, { explain: (error) => database.explain(error) }),
    },
  });
}

const TABLES: readonly TableDefinition[] = [...foldTables(MIGRATIONS).values()];
/** Tables that a service fills before anybody uses it. */
const OF_EMPTY: ReadonlySet<string> = new Set(['svc_meta', 'svc_lease']);

/** Marks the target, which must be empty or an unfinished copy. */
async function beginCopy(target: SqlDatabase): Promise<void> {
  const found = await target.read(async (connection) => {
    if (await isUnfinishedCopy(connection)) return null;
    for (const { name } of TABLES) {
      if (OF_EMPTY.has(name)) continue;
      if ((await connection.all(`select 1 as one from ${name} limit 1`, [])).length > 0)
        return name;
    }
    return null;
  }, {});
  if (found !== null) {
    throw new MemoryError(
      'INVALID_REQUEST',
      `The target has rows already (in ${found}): a copy needs an empty database.`,
      { details: { table: found } },
    );
  }
  await write(target, (connection) => markCopy(connection, true));
}

async function write<T>(
  database: SqlDatabase,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    return await runTransaction(database, { run, replaysDuplicates: true });
  } catch (error) {
    throw await database.explain(error);
  }
}

/** Copies until a look at all rows finds nothing that differs. */
async function copyAll(
  from: Connection,
  {
    source,
    target,
    progress,
  }: { source: SqlDatabase; target: SqlDatabase; progress: NonNullable<CopyOptions['progress']> },
): Promise<CopiedDatabase> {
  for (let pass = 1; pass <= MOST_PASSES; pass += 1) {
    await lockScopes(from);
    let rows = 0;
    let changed = 0;
    for (const table of TABLES) {
      for await (const page of syncTable(from, target, table)) {
        rows += page.rows;
        changed += page.changed;
        if (pass === 1) progress(rows);
      }
    }
    // With one writer nobody else writes meanwhile.
    if (changed === 0 || source.limits.writers === 'one') return { tables: TABLES.length, rows };
  }
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    'Others go on writing to the source: stop all instances that use it, and copy again. What is copied is kept.',
  );
}

/** Locks the rows that every write of memory locks; with one writer, the transaction has locked everything. */
async function lockScopes(from: Connection): Promise<void> {
  let after = -1;
  for (;;) {
    const rows = await from.all(
      'select scope_id from svc_scope t where scope_id > ? order by scope_id limit ? for update of t',
      [after, 5_000],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    after = toInteger(last['scope_id']);
  }
}

type Cells = SqlValue[];

/** Makes the rows of a table in the target those of the source, page by page in the order of their keys. */
async function* syncTable(
  from: Connection,
  target: SqlDatabase,
  table: TableDefinition,
): AsyncGenerator<{ rows: number; changed: number }> {
  const isLong = table.columns.some(
    ({ kind }) => kind === 'content' || kind === 'bytes' || kind === 'text',
  );
  const limit = isLong ? LONG_ROWS : SHORT_ROWS;
  const keyAt = table.primaryKey.map((key) => table.columns.findIndex(({ name }) => name === key));
  const toKey = (row: Cells): Cells => keyAt.map((at) => row[at] ?? null);
  let after: Cells | null = null;
  for (let isLast = false; !isLast;) {
    const rows = await readPage(from, table, { after, limit });
    isLast = rows.length < limit;
    const last = rows.at(-1);
    const upTo: Cells | null = last === undefined || isLast ? null : toKey(last);
    // One more, so that rows which are no longer in the source show.
    const known = await target.read(
      (to) => readPage(to, table, { after, upTo, limit: limit + 1 }),
      {},
    );
    const isSame =
      known.length === rows.length && rows.every((row, at) => isSameRow(row, known[at] ?? []));
    const [first] = known;
    const old = first === undefined ? null : { from: toKey(first), upTo };
    if (!isSame) await write(target, (to) => replaceRows(to, table, { old, rows }));
    yield { rows: rows.length, changed: isSame ? 0 : Math.max(1, rows.length) };
    after = upTo;
  }
}

/** Between two keys: `after` is not included, the others are. */
interface Range {
  after?: Cells | null;
  from?: Cells | null;
  upTo: Cells | null;
}

const quote = (name: string): string => `\`${name}\``;

/** The condition of a range; rows that belong to a database alone are in none. */
function toCondition(
  { dialect }: Connection,
  { name, primaryKey }: TableDefinition,
  { after = null, from = null, upTo }: Range,
): { sql: string; parameters: readonly SqlValue[] } {
  const key = primaryKey.map(quote);
  const parts = [
    ...(name === 'svc_meta'
      ? [{ sql: `${quote('key')} not in (?, ?, ?)`, parameters: MARKS }]
      : []),
    ...(after === null ? [] : [dialect.isBeyond(key, '>', after)]),
    ...(from === null ? [] : [dialect.isBeyond(key, '>=', from)]),
    ...(upTo === null ? [] : [dialect.isBeyond(key, '<=', upTo)]),
  ];
  return {
    sql: parts.length === 0 ? '' : ` where ${parts.map(({ sql }) => sql).join(' and ')}`,
    parameters: parts.flatMap(({ parameters }) => [...parameters]),
  };
}

async function readPage(
  connection: Connection,
  table: TableDefinition,
  { limit, after, upTo = null }: Partial<Range> & { limit: number; after: Cells | null },
): Promise<Cells[]> {
  const { sql, parameters } = toCondition(connection, table, { after, upTo });
  const columns = table.columns.map(({ name }) => quote(name)).join(', ');
  const order = table.primaryKey.map(quote).join(', ');
  const rows = await connection.all(
    `select ${columns} from ${table.name}${sql} order by ${order} limit ?`,
    [...parameters, limit],
  );
  return rows.map((row) => toCells(row, table));
}

/** The values of a row in the form in which every database takes them. */
function toCells(row: Row, { columns }: TableDefinition): Cells {
  return columns.map(({ name, kind }) => {
    const value = row[name];
    return value === null || value === undefined ? null : FROM[kind](value);
  });
}

const toBytes = (value: unknown): Uint8Array => Buffer.from(value as Uint8Array);

const FROM: Readonly<Record<ColumnKind, (value: unknown) => SqlValue>> = {
  integer: toInteger,
  real: Number,
  key: toText,
  text: toText,
  content: toText,
  id: toBytes,
  hash: toBytes,
  bytes: toBytes,
};

function isSameRow(row: Cells, other: Cells): boolean {
  return row.every((cell, at) => {
    const known = other[at];
    return cell instanceof Uint8Array && known instanceof Uint8Array
      ? Buffer.compare(cell, known) === 0
      : cell === known;
  });
}

/** Writes rows in place of those in a range; `null` if there are none. */
async function replaceRows(
  connection: Connection,
  table: TableDefinition,
  { old, rows }: { old: Range | null; rows: readonly Cells[] },
): Promise<void> {
  if (old !== null) {
    const { sql, parameters } = toCondition(connection, table, old);
    await connection.run(`delete from ${table.name}${sql}`, parameters);
  }
  const columns = table.columns.map(({ name }) => name);
  let batch: Cells[] = [];
  let bytes = 0;
  for (const row of rows) {
    const more = weigh(row);
    if (batch.length > 0 && bytes + more > STATEMENT_BYTES) {
      await connection.dialect.insertRows(connection, { table, columns, rows: batch });
      batch = [];
      bytes = 0;
    }
    batch.push(toWritten(row, table));
    bytes += more;
  }
  if (batch.length > 0) {
    await connection.dialect.insertRows(connection, { table, columns, rows: batch });
  }
}

/** Ids and hashes are written as hex. */
function toWritten(row: Cells, { columns }: TableDefinition): Cells {
  return row.map((cell, at) => {
    const kind = columns[at]?.kind;
    return cell instanceof Uint8Array && (kind === 'id' || kind === 'hash') ? toHex(cell) : cell;
  });
}

function weigh(row: Cells): number {
  return row.reduce<number>(
    (sum, cell) =>
      sum +
      (typeof cell === 'string'
        ? Buffer.byteLength(cell)
        : cell instanceof Uint8Array
          ? cell.length
          : 8),
    0,
  );
}
