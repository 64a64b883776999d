import { createHash, randomInt } from 'node:crypto';
import type { ScopeKey } from '../../contracts/records.ts';
import type {
  EmbeddingModel,
  EmbedResult,
  EmbedTask,
  ListCursor,
  ModelKey,
  VectorStore,
} from '../../contracts/vectors.ts';
import { assertScope } from '../../files/paths.ts';
import type { LogDatabase } from '../store-database.ts';
import type { Connection, Row, SqlValue } from '../dialect.ts';
import { toHex } from '../schema/ids.ts';
import { lockIndex, MAX_FIRST_GENERATION } from './index-store.ts';
import { deleteRows, findRows, insertRecords, toKeySet } from '../schema/row-sets.ts';
import { toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { mapTable } from '../schema/table-map.ts';
import { splitHashes } from './vector-view.ts';

/** Makes the store of vectors and of the queue of texts to embed. */
export function createVectorStore(database: LogDatabase): VectorStore {
  return {
    useModel: (model) => database.write((connection) => useModel(connection, model)),

    async markUnlisted(after, limit) {
      const page = await database.read((connection) => readUnlisted(connection, after, limit));
      const marked =
        page.unlisted.length === 0
          ? 0
          : await database.write((connection) => markFiles(connection, page.unlisted));
      return { marked, next: page.next };
    },

    enqueue: (key, limit) => database.write((connection) => enqueue(connection, key, limit)),

    claim: (key, options) => database.write((connection) => claim(connection, key, options)),

    async complete(key, results) {
      for (const [scope, own] of groupByScope(results, ({ task }) => task.scope)) {
        assertScope(scope);
        await database.write((connection) => complete(connection, key, { scope, results: own }));
      }
    },

    async postpone(key, tasks, options) {
      await database.write((connection) => postpone(connection, key, { ...options, tasks }));
    },

    async sweep(scope) {
      assertScope(scope);
      return await database.write((connection) => sweep(connection, toScopeId(scope)));
    },

    countWaiting: (key) =>
      database.read(async (connection) => {
        const [lists] = await connection.all(
          'select count(*) as files from svc_passage_list where epoch < ?',
          [key.epoch],
        );
        const [queue] = await connection.all(
          'select count(*) as texts from svc_embed_queue where model_id = ?',
          [key.id],
        );
        return { files: toInteger(lists?.['files']), texts: toInteger(queue?.['texts']) };
      }),

    dropAll: () =>
      database.write(async (connection) => {
        for (const statement of DROP_ALL) await connection.run(statement, []);
      }),
  };
}

/** More generations than a scope ever has. */
const DROPPED_GENERATIONS = 2 ** 40;

const DROP_ALL = [
  'delete from svc_embed_queue',
  'delete from svc_vector',
  // Below all that searches know, so that they drop their cached vectors: the model may have changed
  // under its name.
  `update svc_vector_state set generation = generation - ${DROPPED_GENERATIONS}`,
  'update svc_passage_list set epoch = 0',
];

/** A model's number of 53 bits, computed like those of scopes. */
function toModelId({ provider, model, dimensions }: EmbeddingModel): number {
  const text = JSON.stringify([provider, model, dimensions]);
  const digest = createHash('sha256').update(text, 'utf8').digest();
  return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3);
}

const MODELS = mapTable<EmbeddingModel & ModelKey>('svc_embed_model', { id: { name: 'model_id' } });

async function useModel(connection: Connection, model: EmbeddingModel): Promise<ModelKey> {
  const id = toModelId(model);
  // Locks first the model's own row, then all rows, so that two starting instances take turns.
  await insertRecords(connection, [{ ...model, id, epoch: 0 }], {
    into: MODELS,
    conflict: 'skip',
  });
  const rows = await connection.all(
    'select model_id, epoch from svc_embed_model t order by model_id for update of t',
    [],
  );
  const known = rows.map((row) => ({
    id: toInteger(row['model_id']),
    epoch: toInteger(row['epoch']),
  }));
  const { dimensions } = model;
  const last = Math.max(...known.map(({ epoch }) => epoch));
  const own = known.find((row) => row.id === id);
  if (own !== undefined && own.epoch > 0 && own.epoch === last) return { ...own, dimensions };
  await connection.run('update svc_embed_model set epoch = ? where model_id = ?', [last + 1, id]);
  return { id, epoch: last + 1, dimensions };
}

interface FileRef {
  scopeId: number;
  fileNo: number;
}

async function readUnlisted(
  connection: Connection,
  after: ListCursor,
  limit: number,
): Promise<{ unlisted: FileRef[]; next: ListCursor }> {
  const beyond = connection.dialect.isBeyond(['f.scope_id', 'f.file_no'], '>', after ?? [-1, -1]);
  const rows = await connection.all(
    'select f.scope_id, f.file_no, f.version, f.deleted_at, p.version as listed from svc_file f' +
      ' left join svc_passage_list p on p.scope_id = f.scope_id and p.file_no = f.file_no' +
      ` where ${beyond.sql} order by f.scope_id, f.file_no limit ?`,
    [...beyond.parameters, limit],
  );
  const unlisted = rows
    .filter(
      (row) =>
        row['deleted_at'] === null && toIntegerOrNull(row['listed']) !== toInteger(row['version']),
    )
    .map(toFileRef);
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    unlisted,
    next: last === undefined ? null : [toInteger(last['scope_id']), toInteger(last['file_no'])],
  };
}

function toFileRef(row: Row): FileRef {
  return { scopeId: toInteger(row['scope_id']), fileNo: toInteger(row['file_no']) };
}

/** Marks files as stale. */
async function markFiles(connection: Connection, files: readonly FileRef[]): Promise<number> {
  const keys = toKeySet(connection, 'svc_file', {
    columns: ['scope_id', 'file_no'],
    rows: files.map(({ scopeId, fileNo }) => [scopeId, fileNo]),
  });
  return await connection.run(
    'insert into svc_index_queue (scope_id, file_no, version)' +
      ` select f.scope_id, f.file_no, f.version from ${keys.sql} k` +
      ' cross join svc_file f on f.scope_id = k.scope_id and f.file_no = k.file_no' +
      ' left join svc_index_queue q on q.scope_id = f.scope_id and q.file_no = f.file_no' +
      ' where q.file_no is null',
    [...keys.parameters],
  );
}

interface QueueRow {
  scopeId: number;
  modelId: number;
  textHash: string;
  fileNo: number;
  attempts: number;
  dueAt: number;
}

const QUEUE = mapTable<QueueRow>('svc_embed_queue', { scopeId: {}, textHash: 'hex' });

/** The key of vectors, and of the queue. */
const TEXT_KEY = ['scope_id', 'model_id', 'text_hash'];

async function enqueue(connection: Connection, key: ModelKey, limit: number): Promise<ScopeKey[]> {
  const lists = await connection.all(
    'select p.scope_id, p.file_no, p.hashes from svc_passage_list p where p.epoch < ?' +
      ` order by p.epoch, p.scope_id, p.file_no limit ? for update of p`,
    [key.epoch, limit],
  );
  if (lists.length === 0) return [];
  const texts = new Map<string, { scopeId: number; textHash: string; fileNo: number }>();
  for (const row of lists) {
    const { scopeId, fileNo } = toFileRef(row);
    for (const textHash of splitHashes(row['hashes'] as Uint8Array)) {
      texts.set(`${scopeId} ${textHash}`, { scopeId, textHash, fileNo });
    }
  }
  for (const row of await readKnown(connection, key, [...texts.values()])) {
    texts.delete(`${toInteger(row['scope_id'])} ${toHex(row['text_hash'] as Uint8Array)}`);
  }
  const dueAt = await readNow(connection);
  await insertRecords(
    connection,
    [...texts.values()].map((text) => ({ ...text, modelId: key.id, attempts: 0, dueAt })),
    { into: QUEUE, conflict: 'skip' },
  );
  for (const row of lists) {
    const { scopeId, fileNo } = toFileRef(row);
    await connection.run(
      'update svc_passage_list set epoch = ? where scope_id = ? and file_no = ?',
      [key.epoch, scopeId, fileNo],
    );
  }
  return [
    ...(
      await readScopes(
        connection,
        lists.map((row) => toFileRef(row).scopeId),
      )
    ).values(),
  ];
}

/** Selects the texts that have a vector. */
async function readKnown(
  connection: Connection,
  key: ModelKey,
  texts: readonly { scopeId: number; textHash: string }[],
): Promise<Row[]> {
  return await findRows(connection, 'svc_vector', {
    columns: TEXT_KEY,
    rows: texts.map(({ scopeId, textHash }) => [scopeId, key.id, textHash]),
    select: ['t.scope_id', 't.text_hash'],
  });
}

/** Reads the keys of scopes by their numbers, without scopes that no longer exist. */
async function readScopes(
  connection: Connection,
  scopeIds: readonly number[],
): Promise<Map<number, ScopeKey>> {
  const rows = await findRows(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: [...new Set(scopeIds)].map((scopeId) => [scopeId]),
    select: ['t.scope_id', 't.scope'],
  });
  return new Map(rows.map((row) => [toInteger(row['scope_id']), toText(row['scope']) as ScopeKey]));
}

async function readNow(connection: Connection): Promise<number> {
  const [row] = await connection.all(`select ${connection.dialect.nowMs} as now_ms`, []);
  return toInteger(row?.['now_ms']);
}

async function claim(
  connection: Connection,
  key: ModelKey,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<EmbedTask[]> {
  const now = await readNow(connection);
  const rows = await connection.all(
    `select ${QUEUE.select('q').join(', ')} from svc_embed_queue q` +
      ` where q.model_id = ? and q.due_at <= ? order by q.due_at limit ? for update of q`,
    [key.id, now, limit],
  );
  if (rows.length === 0) return [];
  const claimed = rows.map((row) => ({ ...QUEUE.toRecord(row), dueAt: now + leaseMs }));
  await insertRecords(connection, claimed, { into: QUEUE, conflict: { update: ['due_at'] } });
  const scopes = await readScopes(
    connection,
    claimed.map(({ scopeId }) => scopeId),
  );
  const tasks: EmbedTask[] = [];
  for (const { scopeId, textHash, fileNo, attempts } of claimed) {
    const scope = scopes.get(scopeId);
    if (scope !== undefined) tasks.push({ scope, textHash, fileNo, attempts });
  }
  return tasks;
}

interface VectorRow {
  scopeId: number;
  modelId: number;
  textHash: string;
  generation: number;
  dimensions: number;
  vector: Float32Array;
}

const VECTORS = mapTable<VectorRow>('svc_vector', {
  scopeId: {},
  textHash: 'hex',
  vector: { toCell: toBytes },
});

/** In the machine's byte order, which is little-endian on nearly all machines that run Node. */
function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

async function complete(
  connection: Connection,
  key: ModelKey,
  { scope, results }: { scope: ScopeKey; results: readonly EmbedResult[] },
): Promise<void> {
  const scopeId = toScopeId(scope);
  const gone = results.filter(({ vector }) => vector === null);
  const others = gone.length === 0 ? null : await readHolders(connection, scopeId);
  const kept: QueueRow[] = [];
  const done = new Set<string>();
  for (const { task, vector } of results) {
    const fileNo = vector === null ? others?.get(task.textHash) : undefined;
    if (fileNo === undefined || fileNo === task.fileNo) done.add(task.textHash);
    else kept.push({ ...task, scopeId, modelId: key.id, fileNo, dueAt: 0 });
  }
  const queued = await readQueued(connection, key, { scopeId, results });
  const vectors = results.flatMap(({ task: { textHash }, vector }) =>
    vector === null || queued?.has(textHash) === false ? [] : [{ textHash, vector }],
  );
  if (vectors.length > 0) {
    const generation = await nextGeneration(connection, scopeId, key);
    await insertRecords(
      connection,
      vectors.map((one) => ({
        ...one,
        scopeId,
        modelId: key.id,
        generation,
        dimensions: key.dimensions,
      })),
      { into: VECTORS, conflict: { update: ['generation', 'dimensions', 'vector'] } },
    );
  }
  await insertRecords(connection, kept, {
    into: QUEUE,
    conflict: { update: ['file_no', 'due_at'] },
  });
  await deleteRows(connection, 'svc_embed_queue', {
    columns: TEXT_KEY,
    rows: [...done].map((textHash) => [scopeId, key.id, textHash]),
  });
}

/** In a scope that was erased, the texts that still wait: the others are gone. Else `null`. */
async function readQueued(
  connection: Connection,
  key: ModelKey,
  { scopeId, results }: { scopeId: number; results: readonly EmbedResult[] },
): Promise<ReadonlySet<string> | null> {
  const [scope] = await connection.all('select erased_at from svc_scope where scope_id = ?', [
    scopeId,
  ]);
  if (scope === undefined || scope['erased_at'] === null) return null;
  const rows = await findRows(connection, 'svc_embed_queue', {
    columns: TEXT_KEY,
    rows: results.map(({ task }) => [scopeId, key.id, task.textHash]),
    select: ['t.text_hash'],
  });
  return new Set(rows.map((row) => toHex(row['text_hash'] as Uint8Array)));
}

/** By text: one file of the scope whose list contains it. */
async function readHolders(connection: Connection, scopeId: number): Promise<Map<string, number>> {
  const rows = await connection.all(
    'select file_no, hashes from svc_passage_list where scope_id = ?',
    [scopeId],
  );
  const holders = new Map<string, number>();
  for (const row of rows) {
    for (const textHash of splitHashes(row['hashes'] as Uint8Array)) {
      holders.set(textHash, toInteger(row['file_no']));
    }
  }
  return holders;
}

async function nextGeneration(
  connection: Connection,
  scopeId: number,
  key: ModelKey,
): Promise<number> {
  const parameters: SqlValue[] = [scopeId, key.id];
  await insertRecords(
    connection,
    // A random start: a generation must not repeat after a scope was erased.
    [{ scopeId, modelId: key.id, generation: randomInt(MAX_FIRST_GENERATION) }],
    { into: STATES, conflict: 'skip' },
  );
  await connection.run(
    'update svc_vector_state set generation = generation + 1 where scope_id = ? and model_id = ?',
    parameters,
  );
  const [row] = await connection.all(
    'select generation from svc_vector_state where scope_id = ? and model_id = ?',
    parameters,
  );
  return toInteger(row?.['generation']);
}

const STATES = mapTable<{ scopeId: number; modelId: number; generation: number }>(
  'svc_vector_state',
  { scopeId: {} },
);

async function postpone(
  connection: Connection,
  key: ModelKey,
  {
    tasks,
    delayMs,
    isRefused,
  }: { tasks: readonly EmbedTask[]; delayMs: number; isRefused: boolean },
): Promise<void> {
  // Skips tasks that another instance has finished.
  const rows = await findRows(connection, 'svc_embed_queue', {
    columns: TEXT_KEY,
    rows: tasks.map(({ scope, textHash }) => [toScopeId(scope), key.id, textHash]),
    select: QUEUE.select('t'),
  });
  const dueAt = (await readNow(connection)) + delayMs;
  await insertRecords(
    connection,
    rows.map((row) => {
      const task = { ...QUEUE.toRecord(row), dueAt };
      return isRefused ? { ...task, attempts: task.attempts + 1 } : task;
    }),
    { into: QUEUE, conflict: { update: ['attempts', 'due_at'] } },
  );
}

async function sweep(connection: Connection, scopeId: number): Promise<number> {
  // While the lock is held no list changes, so a text that comes back is either seen here or queued
  // later.
  await lockIndex(connection, scopeId);
  const holders = await readHolders(connection, scopeId);
  const rows = await connection.all(
    'select model_id, text_hash from svc_vector where scope_id = ?',
    [scopeId],
  );
  return await deleteRows(connection, 'svc_vector', {
    columns: TEXT_KEY,
    rows: rows
      .map((row) => [scopeId, toInteger(row['model_id']), toHex(row['text_hash'] as Uint8Array)])
      .filter(([, , textHash]) => !holders.has(textHash as string)),
  });
}

function groupByScope<T>(items: readonly T[], scopeOf: (item: T) => ScopeKey): Map<ScopeKey, T[]> {
  const groups = new Map<ScopeKey, T[]>();
  for (const item of items) {
    const group = groups.get(scopeOf(item));
    if (group === undefined) groups.set(scopeOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
