import { randomInt } from 'node:crypto';
import type { ScopeKey } from '../../contracts/records.ts';
import type {
  AddedSegment,
  AddOutcome,
  IndexedScope,
  IndexFileKey,
  IndexSize,
  IndexStore,
  IndexText,
  IndexView,
  StaleFile,
  StaleMark,
  StoredSegment,
} from '../../contracts/storage.ts';
import { assertScope } from '../../files/paths.ts';
import type { LogDatabase } from '../store-database.ts';
import type { Dialect, Connection, KeySet, Row } from '../dialect.ts';
import { toHex } from '../schema/ids.ts';
import { INDEX_QUEUE } from '../schema/records.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { mapTable } from '../schema/table-map.ts';
import { successorOf } from '../read/text-range.ts';
import { createOldPostings, dropOldRows } from './old-postings-store.ts';
import { createSegmentReads } from './segment-reads.ts';
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

    async add(scope, segment) {
      assertScope(scope);
      return await database.write((connection) => addSegment(connection, scope, segment));
    },

    async merge(scope, inputs, segment) {
      assertScope(scope);
      return await database.write((connection) =>
        mergeSegments(connection, toScopeId(scope), { inputs, segment }),
      );
    },

    async copy(scope, { from, to }, segment) {
      assertScope(scope);
      return await database.write(async (connection) => {
        const scopeId = toScopeId(scope);
        const state = await findState(connection, scopeId);
        if (state?.copiedTo !== from || state.format === DROPPING) return false;
        if (segment !== null) await insertSegment(connection, scopeId, state, segment);
        await changeState(connection, scopeId, { ...state, copiedTo: to ?? COPIED });
        return true;
      });
    },

    async removeOld(scope) {
      assertScope(scope);
      const scopeId = toScopeId(scope);
      return await database.write(async (connection) => {
        const state = await findState(connection, scopeId);
        if (state?.copiedTo !== COPIED) return true;
        if (!(await dropOldRows(connection, scopeId, DROPPED_ROWS))) return false;
        await connection.run('update svc_index_state set copied_to = ? where scope_id = ?', [
          NO_OLD_ROWS,
          scopeId,
        ]);
        return true;
      });
    },

    async drop(scope) {
      assertScope(scope);
      const scopeId = toScopeId(scope);
      const files = await database.write((connection) => beginDrop(connection, scopeId));
      let isDone = false;
      while (!isDone) {
        isDone = await database.write(async (connection) => {
          const state = await findState(connection, scopeId);
          return state?.format !== DROPPING || (await dropSome(connection, scopeId));
        });
      }
      return files;
    },

    listScopes: (after, limit) =>
      database.read(async (connection) => {
        const rows = await connection.all(
          'select s.scope, s.files, i.tokeniser_version as format, i.copied_to' +
            ` from ${connection.dialect.byIndex('svc_scope', 's', 'svc_scope_scope')}` +
            ' left join svc_index_state i on i.scope_id = s.scope_id' +
            ' where s.files > 0 and s.scope > ? order by s.scope limit ?',
          [after ?? '', limit],
        );
        return rows.map((row) => ({
          scope: toText(row['scope']) as ScopeKey,
          files: toInteger(row['files']),
          format: toFormat(row['format']),
          copiedTo: toCopiedTo(row['copied_to']),
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
    async open(scopes, known) {
      scopes.forEach(assertScope);
      const found = scopes.map((_, place): MutableScope => ({
        state: { generation: 0, format: null, files: 0, version: 0, copiedTo: null },
        stale: [],
        segments: [],
        known: known?.[place] ?? null,
      }));
      const scopeSet = connection.dialect.keySet(
        { ...SCOPE_KEY, place: 'integer', known_generation: 'integer' },
        scopes.map((scope, place) => [toScopeId(scope), scope, place, known?.[place] ?? UNKNOWN]),
      );
      const rows = await connection.all(openStatement(connection.dialect, scopeSet), [
        ...scopeSet.parameters,
        ...scopeSet.parameters,
        ...scopeSet.parameters,
      ]);
      for (const row of rows) {
        const scope = found[toInteger(row['place'])];
        if (scope !== undefined) addOpenedRow(scope, row);
      }
      return found.map(({ state, stale, segments, known: generation }) => ({
        state,
        stale,
        segments: generation === state.generation ? null : segments,
      }));
    },

    ...createSegmentReads(connection),
    old: createOldPostings(connection),

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
        `select k.scope, ${TEXTS.select('f').join(', ')}, f.deleted_at, c.content ${fromScopes(sql)}` +
          ' cross join svc_file f on f.scope_id = s.scope_id and f.file_no = k.file_no' +
          ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no',
        parameters,
      );
      return rows.map((row) => {
        const text = TEXTS.toRecord(row);
        damage.checkContent({ ...text, deletedAt: toIntegerOrNull(row['deleted_at']) });
        return text;
      });
    },

    vectors: (scope, options) => readScopeVectors(connection, scope, options),
  };
}

interface MutableScope extends IndexedScope {
  stale: StaleFile[];
  segments: { segment: number; head: Uint8Array | null }[];
  known: number | null;
}

const TEXTS = mapTable<IndexText>(
  'svc_file',
  { content: 'text' },
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
const SEGMENT = 2;

/**
 * One statement for everything that a search starts with, to save round trips. The column `kind`
 * says what the other columns hold.
 */
function openStatement({ rowsAsJson }: Dialect, scopes: KeySet): string {
  const from = fromScopes(scopes.sql);
  // A user may have thousands of stale files after an import.
  const [stale, group] =
    rowsAsJson === null
      ? ['f.file_no, f.deleted_at, f.version, null, null, f.path, f.hash', '']
      : [`null, null, null, null, null, ${rowsAsJson(STALE_VALUES)}, null`, ' group by k.place'];
  return (
    `select ${STATE} as kind, k.place, i.generation as first_number, i.tokeniser_version as second_number,` +
    ' s.files as third_number, s.version as fourth_number, i.copied_to as fifth_number,' +
    ` null as word, null as bytes ${from}` +
    ' left join svc_index_state i on i.scope_id = s.scope_id' +
    ` union all select ${STALE}, k.place, ${stale} ${from}` +
    ' cross join svc_index_queue q on q.scope_id = s.scope_id' +
    ` cross join svc_file f on f.scope_id = q.scope_id and f.file_no = q.file_no${group}` +
    ` union all select ${SEGMENT}, k.place, g.segment, null, null, null, null, null,` +
    ` case when g.segment > k.known_generation then g.head else null end ${from}` +
    ' cross join svc_index_state i on i.scope_id = s.scope_id and i.generation <> k.known_generation' +
    ' cross join svc_segment g on g.scope_id = s.scope_id'
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
        copiedTo: toCopiedTo(row['fifth_number']),
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
      scope.segments.push({
        segment: toInteger(row['first_number']),
        head: row['bytes'] as Uint8Array | null,
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
/** The same for segments, which have up to 2 MB. */
const DROPPED_SEGMENTS = 8;

/** `copied_to` of a scope that reads its segments, and has old rows to remove. */
const COPIED = -1;
/** The same where there are none. */
const NO_OLD_ROWS = -2;

function toCopiedTo(value: unknown): number | null {
  const copiedTo = toIntegerOrNull(value) ?? NO_OLD_ROWS;
  return copiedTo === NO_OLD_ROWS ? null : copiedTo;
}

/**
 * Marks all files of a scope as stale and its index as being dropped. Returns the number of files.
 */
async function beginDrop(connection: Connection, scopeId: number): Promise<number> {
  // Takes the lock of a write before the lock of the index, so no file becomes stale in between.
  await connection.all('select version from svc_scope t where scope_id = ? for update of t', [
    scopeId,
  ]);
  const state = await lockIndex(connection, scopeId);
  await changeState(connection, scopeId, { ...state, format: DROPPING });
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
  const rows = await connection.all(
    'select segment from svc_segment where scope_id = ? order by segment limit ?',
    [scopeId, DROPPED_SEGMENTS],
  );
  if (rows.length > 0) {
    await deleteSegments(
      connection,
      scopeId,
      rows.map((row) => toInteger(row['segment'])),
    );
    return false;
  }
  if (!(await dropOldRows(connection, scopeId, DROPPED_ROWS))) return false;
  for (const table of ['svc_segment_block', 'svc_index_state']) {
    await connection.run(`delete from ${table} where scope_id = ?`, [scopeId]);
  }
  return true;
}

async function deleteSegments(
  connection: Connection,
  scopeId: number,
  segments: readonly number[],
): Promise<void> {
  for (const segment of segments) {
    for (const table of ['svc_segment_block', 'svc_segment']) {
      await connection.run(`delete from ${table} where scope_id = ? and segment = ?`, [
        scopeId,
        segment,
      ]);
    }
  }
}

async function addSegment(
  connection: Connection,
  scope: ScopeKey,
  segment: AddedSegment,
): Promise<AddOutcome> {
  const scopeId = toScopeId(scope);
  const { format, marks, passages, removed } = segment;
  const state = await lockIndex(connection, scopeId);
  if (state.format === DROPPING) {
    await dropSome(connection, scopeId);
    return { outcome: 'dropping' };
  }
  if (state.copiedTo !== null && state.copiedTo !== COPIED) return { outcome: 'old' };
  if (state.format !== null && state.format !== format) return { outcome: 'unusable' };
  const due = await readDue(connection, scopeId, marks);
  if (due.length < marks.length || due.length === 0) {
    // Of a scope that was erased meanwhile, the lock must not leave a row.
    const isNew = state.format === null && state.copiedTo === null;
    if (due.length === 0 && isNew) await deleteState(connection, scopeId);
    return { outcome: 'changed', due };
  }
  const generation = await insertSegment(connection, scopeId, state, segment);
  const lists = passages.map((list) => ({ ...list, scopeId, generation, epoch: 0 }));
  await replaceRecords(connection, LISTS, lists);
  await deleteRows(connection, 'svc_passage_list', ofFiles(scopeId, removed));
  // Compares the version, because a write may have marked the file again meanwhile, and that mark
  // must stay.
  await deleteRows(connection, 'svc_index_queue', {
    columns: ['scope_id', 'file_no', 'version'],
    rows: due.map(({ fileNo, version }) => [scopeId, fileNo, version]),
  });
  await changeState(connection, scopeId, { ...state, format });
  return { outcome: 'added', size: await measureIndex(connection, scopeId) };
}

async function mergeSegments(
  connection: Connection,
  scopeId: number,
  { inputs, segment }: { inputs: readonly number[]; segment: StoredSegment | null },
): Promise<IndexSize | null> {
  const state = await findState(connection, scopeId);
  if (state === null || state.format === DROPPING) return null;
  const found = await findRows(connection, 'svc_segment', {
    columns: ['scope_id', 'segment'],
    rows: inputs.map((input) => [scopeId, input]),
    select: ['t.segment'],
  });
  // An erasure, a drop or another instance took one: its text must not come back.
  if (found.length < inputs.length) return null;
  await deleteSegments(connection, scopeId, inputs);
  if (segment !== null) await insertSegment(connection, scopeId, state, segment);
  await changeState(connection, scopeId, state);
  return await measureIndex(connection, scopeId);
}

/** Stores a segment under the next generation, which it returns. */
async function insertSegment(
  connection: Connection,
  scopeId: number,
  state: StateRow,
  { files, head, blocks }: StoredSegment,
): Promise<number> {
  const segment = state.generation + 1;
  const bytes = blocks.reduce((sum, block) => sum + block.length, head.length);
  await insertRecords(connection, [{ scopeId, segment, files, bytes, head }], { into: SEGMENTS });
  await insertRecords(
    connection,
    blocks.map((block, place) => ({ scopeId, segment, block: place, bytes: block })),
    { into: BLOCKS },
  );
  return segment;
}

async function measureIndex(connection: Connection, scopeId: number): Promise<IndexSize> {
  const [scope] = await connection.all('select files from svc_scope where scope_id = ?', [scopeId]);
  const rows = await connection.all(
    'select segment, files, bytes from svc_segment where scope_id = ? order by segment',
    [scopeId],
  );
  return {
    files: scope === undefined ? 0 : toInteger(scope['files']),
    segments: rows.map((row) => ({
      segment: toInteger(row['segment']),
      files: toInteger(row['files']),
      bytes: toInteger(row['bytes']),
    })),
  };
}

/** The largest range that `randomInt` accepts. */
export const MAX_FIRST_GENERATION = 2 ** 48 - 1;

interface StateRow {
  generation: number;
  format: number | null;
  copiedTo: number | null;
}

const STATES = mapTable<StateRow & { scopeId: number }>('svc_index_state', {
  scopeId: {},
  format: { name: 'tokeniser_version' },
  copiedTo: { toCell: (value) => value ?? NO_OLD_ROWS },
});
const SEGMENTS = mapTable<{
  scopeId: number;
  segment: number;
  files: number;
  bytes: number;
  head: Uint8Array;
}>('svc_segment', { scopeId: {} });
const BLOCKS = mapTable<{ scopeId: number; segment: number; block: number; bytes: Uint8Array }>(
  'svc_segment_block',
  { scopeId: {} },
);
interface PassageListRow {
  scopeId: number;
  fileNo: number;
  version: number;
  generation: number;
  epoch: number;
  hashes: Uint8Array;
}
const LISTS = mapTable<PassageListRow>('svc_passage_list', { scopeId: {} });

/** Locks the index of a scope: every change of the index waits for its row, which is made if need be. */
export async function lockIndex(connection: Connection, scopeId: number): Promise<StateRow> {
  // A random start: a generation must not repeat after the index was dropped.
  const generation = randomInt(MAX_FIRST_GENERATION);
  const state = { scopeId, generation, format: null, copiedTo: null };
  for (;;) {
    await insertRecords(connection, [state], { into: STATES, conflict: 'skip' });
    const found = await findState(connection, scopeId);
    // On PostgreSQL, a drop that ends between the two statements takes the row away.
    if (found !== null) return found;
  }
}

/** The same for an index that is there; `null` if it is not. */
async function findState(connection: Connection, scopeId: number): Promise<StateRow | null> {
  const [row] = await connection.all(
    'select generation, tokeniser_version, copied_to from svc_index_state t where scope_id = ? for update of t',
    [scopeId],
  );
  if (row === undefined) return null;
  return {
    generation: toInteger(row['generation']),
    format: toIntegerOrNull(row['tokeniser_version']),
    copiedTo: toCopiedTo(row['copied_to']),
  };
}

async function deleteState(connection: Connection, scopeId: number): Promise<void> {
  const rows = [[scopeId]];
  await deleteRows(connection, 'svc_index_state', { columns: ['scope_id'], rows });
}

/** Writes the state with the next generation. */
async function changeState(
  connection: Connection,
  scopeId: number,
  { generation, format, copiedTo }: StateRow,
): Promise<void> {
  await connection.run(
    'update svc_index_state set generation = ?, tokeniser_version = ?, copied_to = ?' +
      ' where scope_id = ?',
    [generation + 1, format, copiedTo ?? NO_OLD_ROWS, scopeId],
  );
}

/** Selects the files that are still stale with the same version. */
async function readDue(
  connection: Connection,
  scopeId: number,
  files: readonly StaleMark[],
): Promise<StaleMark[]> {
  const rows = await findRows(connection, 'svc_index_queue', {
    ...ofFiles(
      scopeId,
      files.map(({ fileNo }) => fileNo),
    ),
    select: ['t.file_no', 't.version'],
  });
  const versions = new Map(
    rows.map((row) => [toInteger(row['file_no']), toInteger(row['version'])]),
  );
  return files.filter(({ fileNo, version }) => versions.get(fileNo) === version);
}

function ofFiles(scopeId: number, fileNos: readonly number[]): RowKeys {
  return { columns: ['scope_id', 'file_no'], rows: fileNos.map((fileNo) => [scopeId, fileNo]) };
}
