import { randomInt } from 'node:crypto';
import type { ScopeKey } from '../../contracts/records.ts';
import type {
  CurrentIndex,
  GenerationStep,
  IndexBlob,
  IndexChanges,
  IndexedScope,
  IndexEntry,
  IndexFileKey,
  IndexStore,
  IndexText,
  IndexView,
  StaleFile,
  StaleMark,
} from '../../contracts/storage.ts';
import { assertScope } from '../../files/paths.ts';
import type { LogDatabase } from '../store-database.ts';
import type { Dialect, Connection, KeySet, Row } from '../dialect.ts';
import { toHex } from '../schema/ids.ts';
import { INDEX_QUEUE } from '../schema/records.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { mapTable } from '../schema/table-map.ts';
import { successorOf, textsFrom } from '../read/text-range.ts';
import { readScopeVectors } from './vector-view.ts';
import {
  deleteRows,
  findRows,
  insertRecords,
  replaceRecords,
  type RowKeys,
} from '../schema/row-sets.ts';

/** Makes the store of the search index. */
export function createIndexStore(database: LogDatabase): IndexStore {
  // Where the last look at the queue ended, so that no scope waits behind busier ones forever.
  let lastScopeId = -1;
  return {
    snapshot: (read) => database.snapshot((connection) => read(createView(connection, database))),

    listStale: (limit, scopes) =>
      database.read(async (connection) => {
        if (scopes !== undefined) return await readMarksOf(connection, scopes, limit);
        const marks = await readMarks(connection, lastScopeId, limit);
        if (marks.length < limit && lastScopeId >= 0) {
          const seen = new Set(marks.map(({ scope, fileNo }) => `${scope} ${fileNo}`));
          for (const mark of await readMarks(connection, -1, limit - marks.length)) {
            if (!seen.has(`${mark.scope} ${mark.fileNo}`)) marks.push(mark);
          }
        }
        const last = marks.at(-1);
        lastScopeId = last === undefined ? -1 : toScopeId(last.scope);
        return marks;
      }),

    async update(scope, files, change) {
      assertScope(scope);
      return await database.write((connection) =>
        updateScope(connection, scope, { files, change }),
      );
    },

    async drop(scope) {
      assertScope(scope);
      const scopeId = toScopeId(scope);
      const files = await database.write((connection) => beginDrop(connection, scopeId));
      let isDone = false;
      while (!isDone) {
        isDone = await database.write(async (connection) => {
          const format = await lockIndex(connection, scopeId);
          return format !== DROPPING || (await dropSome(connection, scopeId));
        });
      }
      return files;
    },

    listScopes: (after, limit) =>
      database.read(async (connection) => {
        const rows = await connection.all(
          'select s.scope, s.files, i.tokeniser_version as format' +
            ` from ${connection.dialect.byIndex('svc_scope', 's', 'svc_scope_scope')}` +
            ' left join svc_index_state i on i.scope_id = s.scope_id' +
            ' where s.files > 0 and s.scope > ? order by s.scope limit ?',
          [after ?? '', limit],
        );
        return rows.map((row) => ({
          scope: toText(row['scope']) as ScopeKey,
          files: toInteger(row['files']),
          format: toFormat(row['format']),
        }));
      }),
  };
}

async function readMarks(
  connection: Connection,
  afterScopeId: number,
  limit: number,
): Promise<StaleMark[]> {
  const rows = await connection.all(
    'select s.scope, q.file_no, q.version from svc_index_queue q' +
      ' cross join svc_scope s on s.scope_id = q.scope_id' +
      ' where q.scope_id > ? order by q.scope_id, q.file_no limit ?',
    [afterScopeId, limit],
  );
  return rows.map((row) => INDEX_QUEUE.toRecord(row));
}

async function readMarksOf(
  connection: Connection,
  scopes: readonly ScopeKey[],
  limit: number,
): Promise<StaleMark[]> {
  scopes.forEach(assertScope);
  const { sql, parameters } = connection.dialect.keySet(
    SCOPE_KEY,
    scopes.map((scope) => [toScopeId(scope), scope]),
  );
  const rows = await connection.all(
    `select s.scope, q.file_no, q.version ${fromScopes(sql)}` +
      ' cross join svc_index_queue q on q.scope_id = s.scope_id' +
      ' order by q.scope_id, q.file_no limit ?',
    [...parameters, limit],
  );
  return rows.map((row) => INDEX_QUEUE.toRecord(row));
}

// Compares the scope's text too, because its number is a hash.
const SCOPE_KEY = { scope_id: 'integer', scope: 'key' } as const;

function createView(connection: Connection, { damage }: LogDatabase): IndexView {
  const fileKeys = (keys: readonly IndexFileKey[]) =>
    connection.dialect.keySet(
      { ...SCOPE_KEY, file_no: 'integer' },
      keys.map(({ scope, fileNo }) => [toScopeId(scope), scope, fileNo]),
    );

  return {
    async open(scopes, keys, known) {
      scopes.forEach(assertScope);
      const found = scopes.map((): MutableScope => ({
        state: { generation: 0, format: null, files: 0, version: 0 },
        stale: [],
        blobs: [],
      }));
      const scopeSet = connection.dialect.keySet(
        { ...SCOPE_KEY, place: 'integer', known_generation: 'integer' },
        scopes.map((scope, place) => [
          toScopeId(scope),
          scope,
          place,
          known?.[place]?.generation ?? UNKNOWN,
        ]),
      );
      const wanted = connection.dialect.keySet(
        { place: 'integer', term: 'key', is_known: 'integer' },
        scopes.flatMap((_, place) => {
          const own = new Set(known?.[place]?.keys);
          return keys.map((key) => [place, key, own.has(key) ? 1 : 0]);
        }),
      );
      const rows = await connection.all(openStatement(connection.dialect, scopeSet, wanted), [
        ...scopeSet.parameters,
        ...scopeSet.parameters,
        ...scopeSet.parameters,
        ...wanted.parameters,
      ]);
      for (const row of rows) {
        const scope = found[toInteger(row['place'])];
        if (scope !== undefined) addOpenedRow(scope, row);
      }
      return found;
    },

    async listFiles(scope, prefix) {
      assertScope(scope);
      const rows = await connection.all(
        'select f.file_no, f.path from svc_scope s cross join svc_file f on f.scope_id = s.scope_id' +
          ' where s.scope_id = ? and s.scope = ? and f.deleted_at is null' +
          ' and f.path >= ? and f.path < ?',
        [toScopeId(scope), scope, prefix, successorOf(prefix)],
      );
      return rows.map((row) => ({ fileNo: toInteger(row['file_no']), path: toText(row['path']) }));
    },

    async readFiles(keys) {
      if (keys.length === 0) return [];
      const { sql, parameters } = fileKeys(keys);
      const rows = await connection.all(
        `select k.scope, ${TEXTS.select('f').join(', ')}, f.deleted_at, c.content,` +
          ` d.version as indexed_version ${fromScopes(sql)}` +
          ' cross join svc_file f on f.scope_id = s.scope_id and f.file_no = k.file_no' +
          ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no' +
          ' left join svc_index_doc d on d.scope_id = f.scope_id and d.file_no = f.file_no',
        parameters,
      );
      return rows.map((row) => {
        const text = TEXTS.toRecord(row);
        damage.checkContent({ ...text, deletedAt: toIntegerOrNull(row['deleted_at']) });
        return text;
      });
    },

    async listKeys(scope, prefix, limit, after = null) {
      assertScope(scope);
      const terms = textsFrom('p.term', prefix, after);
      const rows = await connection.all(
        'select distinct p.term from svc_scope s cross join svc_posting p on p.scope_id = s.scope_id' +
          ` where s.scope_id = ? and s.scope = ? and ${terms.where}` +
          ' order by p.term limit ?',
        [toScopeId(scope), scope, ...terms.parameters, limit],
      );
      return rows.map((row) => toText(row['term']));
    },

    vectors: (scope, options) => readScopeVectors(connection, scope, options),
  };
}

interface MutableScope extends IndexedScope {
  stale: StaleFile[];
  blobs: IndexBlob[];
}

const TEXTS = mapTable<IndexText>(
  'svc_file',
  { content: 'text', indexedVersion: 'number' },
  { only: ['scope_id', 'file_no', 'path', 'version', 'updated_at', 'latest_revision_id', 'hash'] },
);

// All joins start from these few keys.
const fromScopes = (sql: string) =>
  `from ${sql} k cross join svc_scope s on s.scope_id = k.scope_id and s.scope = k.scope`;

/** Generations are never negative. */
const UNKNOWN = -1;

const STALE_VALUES = ['f.file_no', 'f.deleted_at', 'f.version', 'f.path', 'hex(f.hash)'];

const STATE = 0;
const STALE = 1;
const BLOB = 2;

/**
 * One statement for everything that a search starts with, to save round trips. The column `kind`
 * says what the other columns hold.
 */
function openStatement({ rowsAsJson }: Dialect, scopes: KeySet, keys: KeySet): string {
  const from = fromScopes(scopes.sql);
  // A user may have thousands of stale files after an import.
  const [stale, group] =
    rowsAsJson === null
      ? ['f.file_no, f.deleted_at, f.version, null, f.path, f.hash', '']
      : [`null, null, null, null, ${rowsAsJson(STALE_VALUES)}, null`, ' group by k.place'];
  return (
    `select ${STATE} as kind, k.place, i.generation as first_number, i.tokeniser_version as second_number,` +
    ` s.files as third_number, s.version as fourth_number, null as word, null as bytes ${from}` +
    ' left join svc_index_state i on i.scope_id = s.scope_id' +
    ` union all select ${STALE}, k.place, ${stale} ${from}` +
    ' cross join svc_index_queue q on q.scope_id = s.scope_id' +
    ` cross join svc_file f on f.scope_id = q.scope_id and f.file_no = q.file_no${group}` +
    ` union all select ${BLOB}, k.place, p.bucket, null, null, null, p.term, p.postings ${from}` +
    ' left join svc_index_state i on i.scope_id = s.scope_id and i.generation = k.known_generation' +
    ` cross join ${keys.sql} w on w.place = k.place` +
    ' cross join svc_posting p on p.scope_id = s.scope_id and p.term = w.term' +
    ' where i.scope_id is null or w.is_known = 0'
  );
}

function addOpenedRow(scope: MutableScope, row: Row): void {
  switch (toInteger(row['kind'])) {
    case STATE:
      scope.state = {
        generation: toIntegerOrNull(row['first_number']) ?? 0,
        format: toFormat(row['second_number']),
        files: toInteger(row['third_number']),
        version: toInteger(row['fourth_number']),
      };
      return;
    case STALE:
      if (row['first_number'] === null) {
        scope.stale = toStaleFiles(toText(row['word']));
        return;
      }
      scope.stale.push({
        fileNo: toInteger(row['first_number']),
        version: toInteger(row['third_number']),
        path: toText(row['word']),
        hash: toHex(row['bytes'] as Uint8Array),
        isDeleted: row['second_number'] !== null,
      });
      return;
    default:
      scope.blobs.push({
        key: toText(row['word']),
        part: toInteger(row['first_number']),
        bytes: row['bytes'] as Uint8Array,
      });
  }
}

/** What `rowsAsJson` gives for `STALE_VALUES`. */
function toStaleFiles(json: string): StaleFile[] {
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  const rows = JSON.parse(json) as unknown[][];
  return rows.map(([fileNo, deletedAt, version, path, hash]) => ({
    fileNo: toInteger(fileNo),
    version: toInteger(version),
    path: toText(path),
    hash: toText(hash).toLowerCase(),
    isDeleted: deletedAt !== null,
  }));
}

function toFormat(value: unknown): number | null {
  const format = toIntegerOrNull(value);
  return format === DROPPING ? 0 : format;
}

/**
 * The format of an index that is being dropped. If the drop is interrupted, the next update
 * continues it.
 */
const DROPPING = -1;
/** Rows that one transaction drops, so that others can write in between. */
const DROPPED_ROWS = 2_000;

/**
 * Marks all files of a scope as stale and its index as being dropped. Returns the number of files.
 */
async function beginDrop(connection: Connection, scopeId: number): Promise<number> {
  // Takes the lock of a write before the lock of the index, so no file becomes stale in between.
  await connection.all('select version from svc_scope t where scope_id = ? for update of t', [
    scopeId,
  ]);
  await lockIndex(connection, scopeId);
  await connection.run(
    'update svc_index_state set generation = generation + 1, tokeniser_version = ?' +
      ' where scope_id = ?',
    [DROPPING, scopeId],
  );
  // Lists of existing files stay until they are replaced, because they say which vectors are
  // needed.
  await connection.run(
    'delete from svc_passage_list where scope_id = ? and file_no not in' +
      ' (select file_no from svc_file where scope_id = ? and deleted_at is null)',
    [scopeId, scopeId],
  );
  await connection.run('delete from svc_index_queue where scope_id = ?', [scopeId]);
  return await connection.run(
    'insert into svc_index_queue (scope_id, file_no, version)' +
      ' select scope_id, file_no, version from svc_file' +
      ' where scope_id = ? and deleted_at is null',
    [scopeId],
  );
}

/** Removes some rows of an index under its lock. Returns whether none are left. */
async function dropSome(connection: Connection, scopeId: number): Promise<boolean> {
  const [row] = await connection.all(
    'select term from svc_posting where scope_id = ? order by term, bucket limit 1 offset ?',
    [scopeId, DROPPED_ROWS],
  );
  if (row !== undefined) {
    await connection.run('delete from svc_posting where scope_id = ? and term <= ?', [
      scopeId,
      toText(row['term']),
    ]);
    return false;
  }
  for (const table of ['svc_posting', 'svc_index_doc', 'svc_index_state']) {
    await connection.run(`delete from ${table} where scope_id = ?`, [scopeId]);
  }
  return true;
}

async function updateScope(
  connection: Connection,
  scope: ScopeKey,
  {
    files,
    change,
  }: {
    files: readonly StaleMark[];
    change: (current: CurrentIndex) => Promise<IndexChanges | null>;
  },
): Promise<GenerationStep | null> {
  const scopeId = toScopeId(scope);
  let format = await lockIndex(connection, scopeId);
  if (format === DROPPING) {
    if (!(await dropSome(connection, scopeId))) return null;
    format = await lockIndex(connection, scopeId);
  }
  const due = await readDue(connection, scopeId, files);
  if (due.length === 0) return null;
  const entries = await readEntries(connection, scopeId, due);
  const changes = await change({
    format,
    due,
    entries,
    async read(keys) {
      const blobs: IndexBlob[] = [];
      for (const some of cut(keys)) {
        for (const blob of await readBlobs(connection, scopeId, some)) blobs.push(blob);
      }
      return blobs;
    },
  });
  return changes === null ? null : await writeChanges(connection, scopeId, { due, changes });
}

/** Blobs in one statement. Binding and unpacking more would block the event loop. */
const BLOBS_AT_ONCE = 2_048;

function* cut<T>(rows: readonly T[]): Generator<readonly T[], void> {
  for (let from = 0; from < rows.length; from += BLOBS_AT_ONCE) {
    yield rows.slice(from, from + BLOBS_AT_ONCE);
  }
}

/** The largest range that `randomInt` accepts. */
export const MAX_FIRST_GENERATION = 2 ** 48 - 1;

const format = { name: 'tokeniser_version' };
const STATES = mapTable<{ scopeId: number; generation: number; format: number | null }>(
  'svc_index_state',
  { scopeId: {}, format },
);
const ENTRIES = mapTable<IndexEntry & { scopeId: number; format: number }>('svc_index_doc', {
  scopeId: {},
  format,
  bytes: { name: 'terms' },
});
const BLOBS = mapTable<IndexChanges['blobs'][number] & { scopeId: number }>('svc_posting', {
  scopeId: {},
  key: { name: 'term' },
  part: { name: 'bucket' },
  bytes: { name: 'postings' },
});
interface PassageListRow {
  scopeId: number;
  fileNo: number;
  version: number;
  generation: number;
  epoch: number;
  hashes: Uint8Array;
}
const LISTS = mapTable<PassageListRow>('svc_passage_list', { scopeId: {} });

/**
 * Locks the index of a scope: every change of the index waits for its row. Returns its stored
 * format.
 */
export async function lockIndex(connection: Connection, scopeId: number): Promise<number | null> {
  // A random start: a generation must not repeat after the index was dropped.
  const state = { scopeId, generation: randomInt(MAX_FIRST_GENERATION), format: null };
  for (;;) {
    await insertRecords(connection, [state], { into: STATES, conflict: 'skip' });
    const [row] = await connection.all(
      'select tokeniser_version from svc_index_state t where scope_id = ? for update of t',
      [scopeId],
    );
    if (row !== undefined) return toIntegerOrNull(row['tokeniser_version']);
    // On PostgreSQL, a drop that ends between the two statements takes the row away.
  }
}

/** Selects the files that are still stale with the same version. */
async function readDue(
  connection: Connection,
  scopeId: number,
  files: readonly StaleMark[],
): Promise<StaleMark[]> {
  const rows = await findRows(connection, 'svc_index_queue', {
    ...ofFiles(scopeId, files),
    select: ['t.file_no', 't.version'],
  });
  const versions = new Map(
    rows.map((row) => [toInteger(row['file_no']), toInteger(row['version'])]),
  );
  return files.filter(({ fileNo, version }) => versions.get(fileNo) === version);
}

async function readEntries(
  connection: Connection,
  scopeId: number,
  due: readonly StaleMark[],
): Promise<IndexEntry[]> {
  const rows = await findRows(connection, 'svc_index_doc', {
    ...ofFiles(scopeId, due),
    select: ['t.file_no', 't.version', 't.terms'],
  });
  return rows.map((row) => ({
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
    bytes: row['terms'] as Uint8Array,
  }));
}

function ofFiles(scopeId: number, files: readonly { fileNo: number }[]): RowKeys {
  return {
    columns: ['scope_id', 'file_no'],
    rows: files.map(({ fileNo }) => [scopeId, fileNo]),
  };
}

function ofBlobs(scopeId: number, blobs: readonly Pick<IndexBlob, 'key' | 'part'>[]): RowKeys {
  return {
    columns: ['scope_id', 'term', 'bucket'],
    rows: blobs.map(({ key, part }) => [scopeId, key, part]),
  };
}

async function readBlobs(
  connection: Connection,
  scopeId: number,
  wanted: readonly Pick<IndexBlob, 'key' | 'part'>[],
): Promise<IndexBlob[]> {
  const rows = await findRows(connection, 'svc_posting', {
    ...ofBlobs(scopeId, wanted),
    select: ['t.term', 't.bucket', 't.postings'],
  });
  return rows.map((row) => ({
    key: toText(row['term']),
    part: toInteger(row['bucket']),
    bytes: row['postings'] as Uint8Array,
  }));
}

async function writeChanges(
  connection: Connection,
  scopeId: number,
  { due, changes }: { due: readonly StaleMark[]; changes: IndexChanges },
): Promise<GenerationStep> {
  const { format, blobs, entries, removed } = changes;
  const [state] = await connection.all(
    'select generation from svc_index_state where scope_id = ?',
    [scopeId],
  );
  const before = toInteger(state?.['generation']);
  const after = before + 1;
  for (const some of cut(blobs.filter(({ bytes }) => bytes !== null))) {
    const rows = some.map((blob) => ({ ...blob, scopeId }));
    await replaceRecords(connection, BLOBS, rows);
  }
  for (const some of cut(blobs.filter(({ bytes }) => bytes === null))) {
    await deleteRows(connection, 'svc_posting', ofBlobs(scopeId, some));
  }
  await replaceRecords(
    connection,
    ENTRIES,
    entries.map((entry) => ({ ...entry, scopeId, format })),
  );
  const gone = ofFiles(
    scopeId,
    removed.map((fileNo) => ({ fileNo })),
  );
  await deleteRows(connection, 'svc_index_doc', gone);
  await writeLists(connection, scopeId, { entries, generation: after });
  await deleteRows(connection, 'svc_passage_list', gone);
  // Compares the version, because a write may have marked the file again meanwhile, and that mark
  // must stay.
  await deleteRows(connection, 'svc_index_queue', {
    columns: ['scope_id', 'file_no', 'version'],
    rows: due.map(({ fileNo, version }) => [scopeId, fileNo, version]),
  });
  await connection.run(
    'update svc_index_state set generation = ?, tokeniser_version = ? where scope_id = ?',
    [after, format, scopeId],
  );
  return { before, after };
}

/**
 * Writes lists of passages if there is an embedder. Without one, the list of an earlier version may
 * stay: nobody reads it, since its version is not the indexed one.
 */
async function writeLists(
  connection: Connection,
  scopeId: number,
  { entries, generation }: { entries: IndexChanges['entries']; generation: number },
): Promise<void> {
  const lists = entries.flatMap(({ fileNo, version, passages }) =>
    passages === undefined
      ? []
      : [{ scopeId, fileNo, version, generation, epoch: 0, hashes: passages }],
  );
  await replaceRecords(connection, LISTS, lists);
}
