import { randomInt } from 'node:crypto';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type {
  BehindFile,
  IndexChanges,
  IndexDocument,
  IndexedScope,
  IndexFileKey,
  IndexStore,
  IndexTask,
  IndexText,
  IndexUpdate,
  IndexView,
  PostingNeed,
  PostingRow,
} from '../../../core/contracts/storage.ts';
import { assertScope } from '../../../core/files/paths.ts';
import type { SqlDatabase } from '../sql-database.ts';
import type { Dialect, Connection, Row } from '../dialects/dialect.ts';
import { toHex, toUuid } from '../schema/ids.ts';
import { toInteger, toIntegerOrNull, toText, toTextOrNull } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { tableOf } from '../schema/tables.ts';
import { successorOf } from '../read/text-range.ts';
import { readScopeVectors } from './vector-view.ts';
import { deleteRows } from '../schema/row-sets.ts';

/** The search index. Its rows are core's: here they are only kept. */
export function createIndexStore(database: SqlDatabase): IndexStore {
  // Where the last look at the queue ended, so that no scope waits behind busier ones for ever.
  let lastScopeId = -1;
  return {
    snapshot: (read) => database.snapshot((connection) => read(createView(connection, database))),

    tasks: (limit) =>
      database.read(async (connection) => {
        const tasks = await readTasks(connection, lastScopeId, limit);
        if (tasks.length < limit && lastScopeId >= 0) {
          const seen = new Set(tasks.map(({ scope, fileNo }) => `${scope} ${fileNo}`));
          for (const task of await readTasks(connection, -1, limit - tasks.length)) {
            if (!seen.has(`${task.scope} ${task.fileNo}`)) tasks.push(task);
          }
        }
        const last = tasks.at(-1);
        lastScopeId = last === undefined ? -1 : toScopeId(last.scope);
        return tasks;
      }),

    async update(scope, tasks, update) {
      assertScope(scope);
      await database.write((connection) => updateScope(connection, scope, { tasks, update }));
    },

    markBehind: (tokeniserVersion, limit) =>
      database.write((connection) => markBehind(connection, tokeniserVersion, limit)),

    async forget(scope) {
      assertScope(scope);
      const scopeId = toScopeId(scope);
      const files = await database.write((connection) => beginForgetting(connection, scopeId));
      let isForgotten = false;
      while (!isForgotten) {
        isForgotten = await database.write((connection) => goOnForgetting(connection, scopeId));
      }
      return files;
    },

    scopes: (after, limit) =>
      database.read(async (connection) => {
        const rows = await connection.all(
          'select scope, files from svc_scope where files > 0 and scope > ? order by scope limit ?',
          [after ?? '', limit],
        );
        return rows.map((row) => ({
          scope: toText(row['scope']) as ScopeKey,
          files: toInteger(row['files']),
        }));
      }),
  };
}

async function readTasks(
  connection: Connection,
  afterScopeId: number,
  limit: number,
): Promise<IndexTask[]> {
  const rows = await connection.all(
    'select s.scope, q.file_no, q.version from svc_index_queue q' +
      ' cross join svc_scope s on s.scope_id = q.scope_id' +
      ' where q.scope_id > ? order by q.scope_id, q.file_no limit ?',
    [afterScopeId, limit],
  );
  return rows.map((row) => ({
    scope: toText(row['scope']) as ScopeKey,
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
  }));
}

// Scopes come as keys, numbers with their texts: the number alone is a hash.
const SCOPE_KEY = [
  { name: 'scope_id', kind: 'integer' },
  { name: 'scope', kind: 'key' },
] as const;

function createView(connection: Connection, { damage }: SqlDatabase): IndexView {
  const fileKeys = (keys: readonly IndexFileKey[]) =>
    connection.dialect.keySet(
      [...SCOPE_KEY, { name: 'file_no', kind: 'integer' }],
      keys.map(({ scope, fileNo }) => [toScopeId(scope), scope, fileNo]),
    );

  return {
    async open(scopes, terms, known) {
      scopes.forEach(assertScope);
      const found = scopes.map((): MutableScope => ({
        state: { generation: 0, tokeniserVersion: null, files: 0, version: 0 },
        behind: [],
        rows: [],
      }));
      const keys = connection.dialect.keySet(
        [
          ...SCOPE_KEY,
          { name: 'place', kind: 'integer' },
          { name: 'known_generation', kind: 'integer' },
        ],
        scopes.map((scope, place) => [
          toScopeId(scope),
          scope,
          place,
          known?.[place]?.generation ?? UNKNOWN,
        ]),
      );
      const words = connection.dialect.keySet(
        [
          { name: 'place', kind: 'integer' },
          { name: 'term', kind: 'key' },
          { name: 'is_known', kind: 'integer' },
        ],
        scopes.flatMap((_, place) => {
          const own = new Set(known?.[place]?.terms);
          return terms.map((term) => [place, term, own.has(term) ? 1 : 0]);
        }),
      );
      const rows = await connection.all(openStatement(keys, words), [
        ...keys.parameters,
        ...keys.parameters,
        ...keys.parameters,
        ...words.parameters,
      ]);
      for (const row of rows) {
        const scope = found[toInteger(row['place'])];
        if (scope !== undefined) addOpenedRow(scope, row);
      }
      return found;
    },

    async paths(keys) {
      if (keys.length === 0) return [];
      const { sql, parameters } = fileKeys(keys);
      const rows = await connection.all(
        `select k.scope, f.file_no, f.path ${fromFiles(sql)} where f.deleted_at is null`,
        parameters,
      );
      return rows.map((row) => ({
        scope: toText(row['scope']) as ScopeKey,
        fileNo: toInteger(row['file_no']),
        path: toText(row['path']),
      }));
    },

    async contents(keys) {
      if (keys.length === 0) return [];
      const { sql, parameters } = fileKeys(keys);
      const rows = await connection.all(
        'select k.scope, f.file_no, f.path, f.version, f.updated_at, f.latest_revision_id, f.hash,' +
          ` f.deleted_at, c.content, d.version as indexed_version ${fromFiles(sql)}` +
          ' left join svc_content c on c.scope_id = f.scope_id and c.file_no = f.file_no' +
          ' left join svc_index_doc d on d.scope_id = f.scope_id and d.file_no = f.file_no',
        parameters,
      );
      return rows.map((row) => {
        const text = toIndexText(row);
        damage.checkContent({ ...text, deletedAt: toIntegerOrNull(row['deleted_at']) });
        return text;
      });
    },

    async fileNos(scope, prefix) {
      assertScope(scope);
      const end = successorOf(prefix);
      const rows = await connection.all(
        'select f.file_no from svc_scope s cross join svc_file f on f.scope_id = s.scope_id' +
          ' where s.scope_id = ? and s.scope = ? and f.deleted_at is null and f.path >= ?' +
          (end === null ? '' : ' and f.path < ?'),
        [toScopeId(scope), scope, prefix, ...(end === null ? [] : [end])],
      );
      return rows.map((row) => toInteger(row['file_no']));
    },

    async terms(scope, prefix, limit) {
      assertScope(scope);
      const end = successorOf(prefix);
      const rows = await connection.all(
        'select distinct p.term from svc_scope s cross join svc_posting p on p.scope_id = s.scope_id' +
          ' where s.scope_id = ? and s.scope = ? and p.term >= ?' +
          `${end === null ? '' : ' and p.term < ?'} order by p.term limit ?`,
        [toScopeId(scope), scope, prefix, ...(end === null ? [] : [end]), limit],
      );
      return rows.map((row) => toText(row['term']));
    },

    vectors: (scope, key, indexGeneration, known) =>
      readScopeVectors(connection, scope, { key, indexGeneration, known }),
  };
}

interface MutableScope extends IndexedScope {
  behind: BehindFile[];
  rows: PostingRow[];
}

type Keys = ReturnType<Dialect['keySet']>;

// One order of the join for all: from the few keys to their rows.
const fromScopes = (sql: string) =>
  `from ${sql} k cross join svc_scope s on s.scope_id = k.scope_id and s.scope = k.scope`;
const fromFiles = (sql: string) =>
  `${fromScopes(sql)} cross join svc_file f on f.scope_id = s.scope_id and f.file_no = k.file_no`;

/** No generation is negative. */
const UNKNOWN = -1;

const STATE = 0;
const BEHIND = 1;
const POSTINGS = 2;

/**
 * All that a search begins with in one statement, as each is a way to the database and back: what
 * the row's `kind` is says what its other columns hold.
 */
function openStatement(scopes: Keys, words: Keys): string {
  const from = fromScopes(scopes.sql);
  return (
    `select ${STATE} as kind, k.place, i.generation as first_number, i.tokeniser_version as second_number,` +
    ` s.files as third_number, s.version as fourth_number, null as word, null as bytes ${from}` +
    ' left join svc_index_state i on i.scope_id = s.scope_id' +
    ` union all select ${BEHIND}, k.place, f.file_no, f.deleted_at, null, null, f.path, f.hash ${from}` +
    ' cross join svc_index_queue q on q.scope_id = s.scope_id' +
    ' cross join svc_file f on f.scope_id = q.scope_id and f.file_no = q.file_no' +
    ` union all select ${POSTINGS}, k.place, p.bucket, null, null, null, p.term, p.postings ${from}` +
    ' left join svc_index_state i on i.scope_id = s.scope_id and i.generation = k.known_generation' +
    ` cross join ${words.sql} w on w.place = k.place` +
    ' cross join svc_posting p on p.scope_id = s.scope_id and p.term = w.term' +
    ' where i.scope_id is null or w.is_known = 0'
  );
}

function addOpenedRow(scope: MutableScope, row: Row): void {
  switch (toInteger(row['kind'])) {
    case STATE:
      scope.state = {
        generation: toIntegerOrNull(row['first_number']) ?? 0,
        tokeniserVersion: toTokeniserVersion(row['second_number']),
        files: toInteger(row['third_number']),
        version: toInteger(row['fourth_number']),
      };
      return;
    case BEHIND:
      scope.behind.push({
        fileNo: toInteger(row['first_number']),
        path: toText(row['word']),
        hash: toHex(row['bytes'] as Uint8Array),
        isDeleted: row['second_number'] !== null,
      });
      return;
    default:
      scope.rows.push({
        term: toText(row['word']),
        bucket: toInteger(row['first_number']),
        blob: row['bytes'] as Uint8Array,
      });
  }
}

/** Rows that are being forgotten are no tokeniser's. */
function toTokeniserVersion(value: unknown): number | null {
  const version = toIntegerOrNull(value);
  return version === FORGETTING ? 0 : version;
}

function toIndexText(row: Row): IndexText {
  return {
    scope: toText(row['scope']) as ScopeKey,
    fileNo: toInteger(row['file_no']),
    path: toText(row['path']),
    version: toInteger(row['version']),
    updatedAt: toInteger(row['updated_at']),
    latestRevisionId: toUuid(row['latest_revision_id'] as Uint8Array),
    hash: toHex(row['hash'] as Uint8Array),
    content: toTextOrNull(row['content'] ?? null),
    indexedVersion: toIntegerOrNull(row['indexed_version']),
  };
}

function toPostingRow(row: Row): PostingRow {
  return {
    term: toText(row['term']),
    bucket: toInteger(row['bucket']),
    blob: row['postings'] as Uint8Array,
  };
}

/** Rows that are removed in one transaction: others write in between. */
const FORGOTTEN_ROWS = 2_000;

/**
 * The state of an index that is being forgotten, which nobody goes by. Where that is cut short, the
 * next update goes on with it.
 */
const FORGETTING = -1;

/** Marks all files of a scope as behind, and its index as being forgotten. How many files. */
async function beginForgetting(connection: Connection, scopeId: number): Promise<number> {
  // As a write does, and before the index: so that no file becomes behind in between.
  await connection.all(
    `select version from svc_scope where scope_id = ?${connection.dialect.forUpdate}`,
    [scopeId],
  );
  await lockIndex(connection, scopeId);
  await connection.run(
    'update svc_index_state set generation = generation + 1, tokeniser_version = ?' +
      ' where scope_id = ?',
    [FORGETTING, scopeId],
  );
  // The others stay until they are written anew: by them it is known which vectors are needed.
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

/** Removes some rows of an index that is being forgotten; whether there are none left. */
async function goOnForgetting(connection: Connection, scopeId: number): Promise<boolean> {
  if (!(await lockIndex(connection, scopeId)).isForgetting) return true;
  return await removeSome(connection, scopeId);
}

/** With the lock on the scope's index. */
async function removeSome(connection: Connection, scopeId: number): Promise<boolean> {
  const [row] = await connection.all(
    'select term from svc_posting where scope_id = ? order by term, bucket limit 1 offset ?',
    [scopeId, FORGOTTEN_ROWS],
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
  { tasks, update }: { tasks: readonly IndexTask[]; update: IndexUpdate },
): Promise<void> {
  const scopeId = toScopeId(scope);
  if ((await lockIndex(connection, scopeId)).isForgetting) {
    if (!(await removeSome(connection, scopeId))) return;
    await lockIndex(connection, scopeId);
  }
  const due = await readDue(connection, scopeId, tasks);
  if (due.length === 0) return;
  const documents = await readDocuments(connection, scopeId, due);
  const needs = await update.needs(documents, due);
  const rows: PostingRow[] = [];
  for (const some of cut(needs)) {
    for (const row of await readNeeded(connection, scopeId, some)) rows.push(row);
  }
  await writeChanges(connection, scopeId, { due, changes: await update.apply(rows) });
}

/** Rows of postings of one statement: to bind and to take apart more of them holds up the loop. */
const POSTINGS_AT_ONCE = 2_048;

function* cut<T>(rows: readonly T[]): Generator<readonly T[], void> {
  for (let from = 0; from < rows.length; from += POSTINGS_AT_ONCE) {
    yield rows.slice(from, from + POSTINGS_AT_ONCE);
  }
}

/** What `randomInt` takes at most. */
const MAX_FIRST_GENERATION = 2 ** 48 - 1;

/** The state's row is the lock that every change of a scope's index stands behind. */
export async function lockIndex(
  connection: Connection,
  scopeId: number,
): Promise<{ isForgetting: boolean }> {
  await connection.dialect.insertRows(connection, {
    table: tableOf('svc_index_state'),
    columns: ['scope_id', 'generation', 'tokeniser_version'],
    // Not from 0 again after a scope was forgotten: what is kept by generation is of one alone.
    rows: [[scopeId, randomInt(MAX_FIRST_GENERATION), null]],
    conflict: 'skip',
  });
  const [state] = await connection.all(
    `select tokeniser_version from svc_index_state where scope_id = ?${connection.dialect.forUpdate}`,
    [scopeId],
  );
  return { isForgetting: toIntegerOrNull(state?.['tokeniser_version'] ?? null) === FORGETTING };
}

/** The tasks that nobody has done and no newer write has overtaken. */
async function readDue(
  connection: Connection,
  scopeId: number,
  tasks: readonly IndexTask[],
): Promise<IndexTask[]> {
  const keys = connection.dialect.keySet(
    [{ name: 'file_no', kind: 'integer' }],
    tasks.map(({ fileNo }) => [fileNo]),
  );
  const rows = await connection.all(
    `select q.file_no, q.version from ${keys.sql} k` +
      ' cross join svc_index_queue q on q.scope_id = ? and q.file_no = k.file_no',
    [...keys.parameters, scopeId],
  );
  const versions = new Map(
    rows.map((row) => [toInteger(row['file_no']), toInteger(row['version'])]),
  );
  return tasks.filter(({ fileNo, version }) => versions.get(fileNo) === version);
}

async function readDocuments(
  connection: Connection,
  scopeId: number,
  due: readonly IndexTask[],
): Promise<IndexDocument[]> {
  const keys = connection.dialect.keySet(
    [{ name: 'file_no', kind: 'integer' }],
    due.map(({ fileNo }) => [fileNo]),
  );
  const rows = await connection.all(
    `select d.file_no, d.version, d.tokeniser_version, d.terms from ${keys.sql} k` +
      ' cross join svc_index_doc d on d.scope_id = ? and d.file_no = k.file_no',
    [...keys.parameters, scopeId],
  );
  return rows.map((row) => ({
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
    tokeniserVersion: toInteger(row['tokeniser_version']),
    terms: row['terms'] as Uint8Array,
  }));
}

async function readNeeded(
  connection: Connection,
  scopeId: number,
  needs: PostingNeed,
): Promise<PostingRow[]> {
  if (needs.length === 0) return [];
  const keys = connection.dialect.keySet(
    POSTING_KEY,
    needs.map(({ term, bucket }) => [term, bucket]),
  );
  const rows = await connection.all(
    `select p.term, p.bucket, p.postings from ${keys.sql} k` +
      ' cross join svc_posting p on p.scope_id = ? and p.term = k.term and p.bucket = k.bucket',
    [...keys.parameters, scopeId],
  );
  return rows.map(toPostingRow);
}

const POSTING_KEY = [
  { name: 'term', kind: 'key' },
  { name: 'bucket', kind: 'integer' },
] as const;

async function writeChanges(
  connection: Connection,
  scopeId: number,
  { due, changes }: { due: readonly IndexTask[]; changes: IndexChanges },
): Promise<void> {
  const { postings, documents, removed } = changes;
  const kept = postings.filter(({ blob }) => blob !== null);
  const emptied = postings.filter(({ blob }) => blob === null);
  for (const some of cut(kept)) {
    await connection.dialect.insertRows(connection, {
      table: tableOf('svc_posting'),
      columns: ['scope_id', 'term', 'bucket', 'postings'],
      rows: some.map(({ term, bucket, blob }) => [scopeId, term, bucket, blob]),
      conflict: { update: ['postings'] },
    });
  }
  for (const some of cut(emptied)) {
    await deleteRows(connection, 'svc_posting', {
      columns: ['term', 'bucket'],
      rows: some.map(({ term, bucket }) => [term, bucket]),
      same: { scope_id: scopeId },
    });
  }
  if (documents.length > 0) {
    await connection.dialect.insertRows(connection, {
      table: tableOf('svc_index_doc'),
      columns: ['scope_id', 'file_no', 'version', 'tokeniser_version', 'terms'],
      rows: documents.map(({ fileNo, version, tokeniserVersion, terms }) => [
        scopeId,
        fileNo,
        version,
        tokeniserVersion,
        terms,
      ]),
      conflict: { update: ['version', 'tokeniser_version', 'terms'] },
    });
  }
  const gone = {
    columns: ['file_no'],
    rows: removed.map((fileNo) => [fileNo]),
    same: { scope_id: scopeId },
  };
  await deleteRows(connection, 'svc_index_doc', gone);
  await writeLists(connection, scopeId, documents);
  await deleteRows(connection, 'svc_passage_list', gone);
  await deleteTasks(connection, scopeId, due);
  await connection.run(
    'update svc_index_state set generation = generation + 1, tokeniser_version =' +
      // Each of the two is one seek in the index; both in one query would count all documents.
      ' (select case when a.low is null then null when a.low = a.high then a.low else 0 end from' +
      ' (select (select min(tokeniser_version) from svc_index_doc where scope_id = ?) as low,' +
      ' (select max(tokeniser_version) from svc_index_doc where scope_id = ?) as high) a)' +
      ' where scope_id = ?',
    [scopeId, scopeId, scopeId],
  );
}

/**
 * Lists of passages, where there is an embedder. Without one a list of an earlier version may stay:
 * it is told by that.
 */
async function writeLists(
  connection: Connection,
  scopeId: number,
  documents: readonly IndexDocument[],
): Promise<void> {
  const listed = documents.filter(({ passages }) => passages !== undefined);
  if (listed.length === 0) return;
  const [state] = await connection.all(
    'select generation from svc_index_state where scope_id = ?',
    [scopeId],
  );
  // The one that this update ends with.
  const generation = toInteger(state?.['generation']) + 1;
  await connection.dialect.insertRows(connection, {
    table: tableOf('svc_passage_list'),
    columns: ['scope_id', 'file_no', 'version', 'generation', 'epoch', 'hashes'],
    rows: listed.map(({ fileNo, version, passages }) => [
      scopeId,
      fileNo,
      version,
      generation,
      0,
      passages ?? null,
    ]),
    conflict: { update: ['version', 'generation', 'epoch', 'hashes'] },
  });
}

/** By version: a write that came meanwhile has marked its file again, and that mark stays. */
async function deleteTasks(
  connection: Connection,
  scopeId: number,
  tasks: readonly IndexTask[],
): Promise<void> {
  await deleteRows(connection, 'svc_index_queue', {
    columns: ['file_no', 'version'],
    rows: tasks.map(({ fileNo, version }) => [fileNo, version]),
    same: { scope_id: scopeId },
  });
}

async function markBehind(
  connection: Connection,
  tokeniserVersion: number,
  limit: number,
): Promise<number> {
  return await connection.run(
    'insert into svc_index_queue (scope_id, file_no, version)' +
      ' select d.scope_id, d.file_no, f.version from svc_index_state i' +
      ' cross join svc_index_doc d on d.scope_id = i.scope_id and d.tokeniser_version <> ?' +
      ' cross join svc_file f on f.scope_id = d.scope_id and f.file_no = d.file_no' +
      ' left join svc_index_queue q on q.scope_id = d.scope_id and q.file_no = d.file_no' +
      ' where i.tokeniser_version <> ? and q.file_no is null limit ?',
    [tokeniserVersion, tokeniserVersion, limit],
  );
}
