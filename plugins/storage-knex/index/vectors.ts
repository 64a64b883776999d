import { createHash, randomInt } from 'node:crypto';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type {
  EmbeddingModel,
  EmbedResult,
  EmbedTask,
  ListCursor,
  ModelKey,
  VectorStore,
} from '../../../core/contracts/vectors.ts';
import { assertScope } from '../../../core/files/paths.ts';
import type { Database } from '../database.ts';
import type { Dialect, Executor, Row, SqlValue } from '../dialects/dialect.ts';
import { toHex } from '../schema/ids.ts';
import { lockIndex } from './index-store.ts';
import { insertRecords } from '../schema/row-sets.ts';
import { type RowWriter, toInteger, toIntegerOrNull, toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { splitHashes } from './vector-view.ts';

/** Makes the store of vectors and of the queue of texts to be embedded. */
export function createVectorStore(database: Database): VectorStore {
  const { dialect } = database;
  return {
    useModel: (model) => database.write((executor) => useModel(executor, dialect, model)),

    async markUnlisted(after, limit) {
      const page = await database.read((executor) => readUnlisted(executor, dialect, after, limit));
      const marked =
        page.unlisted.length === 0
          ? 0
          : await database.write((executor) => markFiles(executor, dialect, page.unlisted));
      return { marked, next: page.next };
    },

    enqueue: (key, limit) => database.write((executor) => enqueue(executor, dialect, key, limit)),

    claim: (key, options) =>
      database.write((executor) => claim(executor, dialect, key, options.limit, options.leaseMs)),

    async complete(key, results) {
      for (const [scope, own] of groupByScope(results, ({ task }) => task.scope)) {
        assertScope(scope);
        await database.write((executor) => complete(executor, dialect, key, scope, own));
      }
    },

    async postpone(key, tasks, options) {
      await database.write((executor) => postpone(executor, dialect, key, tasks, options));
    },

    async sweep(scope) {
      assertScope(scope);
      return await database.write((executor) => sweep(executor, dialect, toScopeId(scope)));
    },

    countWaiting: (key) =>
      database.read(async (executor) => {
        const [lists] = await executor.all(
          'select count(*) as files from svc_passage_list where epoch < ?',
          [key.epoch],
        );
        const [queue] = await executor.all(
          'select count(*) as texts from svc_embed_queue where model_id = ?',
          [key.id],
        );
        return { files: toInteger(lists?.['files']), texts: toInteger(queue?.['texts']) };
      }),

    forgetAll: () =>
      database.write(async (executor) => {
        for (const statement of FORGET) await executor.run(statement, []);
      }),
  };
}

const FORGET = [
  'delete from svc_embed_queue',
  'delete from svc_vector',
  // What someone has of them stays right: the same text has the same vector.
  'update svc_vector_state set generation = generation + 1',
  'update svc_passage_list set epoch = 0',
] as const;

/** All that tells one model's vectors from another's, in 53 bits, as `toScopeId` makes them. */
function toModelId({ provider, model, dimensions }: EmbeddingModel): number {
  const text = JSON.stringify([provider, model, dimensions]);
  const digest = createHash('sha256').update(text, 'utf8').digest();
  return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3);
}

type ModelRow = EmbeddingModel & ModelKey;

const MODEL_ROW: RowWriter<ModelRow> = {
  table: 'svc_embed_model',
  columns: ['model_id', 'epoch', 'provider', 'model', 'dimensions'],
  toCells: ({ id, epoch, provider, model, dimensions }) => [id, epoch, provider, model, dimensions],
};

async function useModel(
  executor: Executor,
  dialect: Dialect,
  model: EmbeddingModel,
): Promise<ModelKey> {
  const id = toModelId(model);
  // Its row before all others are locked, so that two instances that begin stand in one line.
  await insertRecords(executor, dialect, MODEL_ROW, [{ ...model, id, epoch: 0 }], {
    keys: ['model_id'],
  });
  const rows = await executor.all(
    `select model_id, epoch from svc_embed_model order by model_id${dialect.forUpdate}`,
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
  await executor.run('update svc_embed_model set epoch = ? where model_id = ?', [last + 1, id]);
  return { id, epoch: last + 1, dimensions };
}

interface FileRef {
  scopeId: number;
  fileNo: number;
}

async function readUnlisted(
  executor: Executor,
  dialect: Dialect,
  after: ListCursor,
  limit: number,
): Promise<{ unlisted: FileRef[]; next: ListCursor }> {
  const beyond = dialect.isBeyond(['d.scope_id', 'd.file_no'], '>', after ?? [-1, -1]);
  const rows = await executor.all(
    'select d.scope_id, d.file_no, d.version, p.version as listed from svc_index_doc d' +
      ' left join svc_passage_list p on p.scope_id = d.scope_id and p.file_no = d.file_no' +
      ` where ${beyond.sql} order by d.scope_id, d.file_no limit ?`,
    [...beyond.parameters, limit],
  );
  const unlisted = rows
    .filter((row) => toIntegerOrNull(row['listed']) !== toInteger(row['version']))
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

/** Deleted ones too: the indexer takes them out of the index, if nobody has. */
async function markFiles(
  executor: Executor,
  dialect: Dialect,
  files: readonly FileRef[],
): Promise<number> {
  const keys = dialect.keySet(
    [
      { name: 'scope_id', kind: 'integer' },
      { name: 'file_no', kind: 'integer' },
    ],
    files.map(({ scopeId, fileNo }) => [scopeId, fileNo]),
  );
  return await executor.run(
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

const QUEUE_ROW: RowWriter<QueueRow> = {
  table: 'svc_embed_queue',
  columns: ['scope_id', 'model_id', 'text_hash', 'file_no', 'attempts', 'due_at'],
  toCells: (row) => [row.scopeId, row.modelId, row.textHash, row.fileNo, row.attempts, row.dueAt],
};

const QUEUE_KEY = ['scope_id', 'model_id', 'text_hash'];
const TEXT_KEY = [
  { name: 'scope_id', kind: 'integer' },
  { name: 'text_hash', kind: 'id' },
] as const;

async function enqueue(
  executor: Executor,
  dialect: Dialect,
  key: ModelKey,
  limit: number,
): Promise<ScopeKey[]> {
  const lists = await executor.all(
    'select p.scope_id, p.file_no, p.hashes from svc_passage_list p where p.epoch < ?' +
      ` order by p.epoch, p.scope_id, p.file_no limit ?${dialect.forUpdate}`,
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
  for (const row of await readKnown(executor, dialect, key, [...texts.values()])) {
    texts.delete(`${toInteger(row['scope_id'])} ${toHex(row['text_hash'] as Uint8Array)}`);
  }
  const dueAt = await readNow(executor, dialect);
  await insertRecords(
    executor,
    dialect,
    QUEUE_ROW,
    [...texts.values()].map((text) => ({ ...text, modelId: key.id, attempts: 0, dueAt })),
    { keys: QUEUE_KEY },
  );
  for (const row of lists) {
    const { scopeId, fileNo } = toFileRef(row);
    await executor.run('update svc_passage_list set epoch = ? where scope_id = ? and file_no = ?', [
      key.epoch,
      scopeId,
      fileNo,
    ]);
  }
  return [
    ...(
      await readScopes(
        executor,
        dialect,
        lists.map((row) => toFileRef(row).scopeId),
      )
    ).values(),
  ];
}

/** Those of the texts that have a vector. */
async function readKnown(
  executor: Executor,
  dialect: Dialect,
  key: ModelKey,
  texts: readonly { scopeId: number; textHash: string }[],
): Promise<Row[]> {
  const keys = dialect.keySet(
    TEXT_KEY,
    texts.map(({ scopeId, textHash }) => [scopeId, textHash]),
  );
  return await executor.all(
    `select v.scope_id, v.text_hash from ${keys.sql} k cross join svc_vector v` +
      ' on v.scope_id = k.scope_id and v.model_id = ? and v.text_hash = k.text_hash',
    [...keys.parameters, key.id],
  );
}

/** The keys of scopes by their numbers; not those of scopes that are gone. */
async function readScopes(
  executor: Executor,
  dialect: Dialect,
  scopeIds: readonly number[],
): Promise<Map<number, ScopeKey>> {
  const keys = dialect.keySet(
    [{ name: 'scope_id', kind: 'integer' }],
    [...new Set(scopeIds)].map((scopeId) => [scopeId]),
  );
  const rows = await executor.all(
    `select s.scope_id, s.scope from ${keys.sql} k cross join svc_scope s on s.scope_id = k.scope_id`,
    keys.parameters,
  );
  return new Map(rows.map((row) => [toInteger(row['scope_id']), toText(row['scope']) as ScopeKey]));
}

async function readNow(executor: Executor, dialect: Dialect): Promise<number> {
  const [row] = await executor.all(`select ${dialect.nowMs} as now_ms`, []);
  return toInteger(row?.['now_ms']);
}

async function claim(
  executor: Executor,
  dialect: Dialect,
  key: ModelKey,
  limit: number,
  leaseMs: number,
): Promise<EmbedTask[]> {
  const now = await readNow(executor, dialect);
  const rows = await executor.all(
    'select q.scope_id, q.text_hash, q.file_no, q.attempts from svc_embed_queue q' +
      ` where q.model_id = ? and q.due_at <= ? order by q.due_at limit ?${dialect.forUpdate}`,
    [key.id, now, limit],
  );
  if (rows.length === 0) return [];
  const claimed = rows.map((row) => toQueueRow(row, key, now + leaseMs));
  await insertRecords(executor, dialect, QUEUE_ROW, claimed, {
    keys: QUEUE_KEY,
    update: ['due_at'],
  });
  const scopes = await readScopes(
    executor,
    dialect,
    claimed.map(({ scopeId }) => scopeId),
  );
  const tasks: EmbedTask[] = [];
  for (const { scopeId, textHash, fileNo, attempts } of claimed) {
    const scope = scopes.get(scopeId);
    if (scope !== undefined) tasks.push({ scope, textHash, fileNo, attempts });
  }
  return tasks;
}

function toQueueRow(row: Row, key: ModelKey, dueAt: number): QueueRow {
  return {
    scopeId: toInteger(row['scope_id']),
    modelId: key.id,
    textHash: toHex(row['text_hash'] as Uint8Array),
    fileNo: toInteger(row['file_no']),
    attempts: toInteger(row['attempts']),
    dueAt,
  };
}

interface VectorRow {
  scopeId: number;
  modelId: number;
  textHash: string;
  generation: number;
  vector: Float32Array;
}

const VECTOR_ROW: RowWriter<VectorRow> = {
  table: 'svc_vector',
  columns: ['scope_id', 'model_id', 'text_hash', 'generation', 'dimensions', 'vector'],
  toCells: ({ scopeId, modelId, textHash, generation, vector }) => [
    scopeId,
    modelId,
    textHash,
    generation,
    vector.length,
    toBytes(vector),
  ],
};

/** As the machine has them: the byte order of every machine that Node runs on but one. */
function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

async function complete(
  executor: Executor,
  dialect: Dialect,
  key: ModelKey,
  scope: ScopeKey,
  results: readonly EmbedResult[],
): Promise<void> {
  const scopeId = toScopeId(scope);
  const gone = results.filter(({ vector }) => vector === null);
  const others = gone.length === 0 ? null : await readHolders(executor, scopeId);
  const kept: QueueRow[] = [];
  const done = new Set<string>();
  for (const { task, vector } of results) {
    const fileNo = vector === null ? others?.get(task.textHash) : undefined;
    if (fileNo === undefined || fileNo === task.fileNo) done.add(task.textHash);
    else kept.push({ ...task, scopeId, modelId: key.id, fileNo, dueAt: 0 });
  }
  const vectors = results.flatMap(({ task: { textHash }, vector }) =>
    vector === null ? [] : [{ textHash, vector }],
  );
  if (vectors.length > 0) {
    const generation = await nextGeneration(executor, dialect, scopeId, key);
    await insertRecords(
      executor,
      dialect,
      VECTOR_ROW,
      vectors.map((one) => ({ ...one, scopeId, modelId: key.id, generation })),
      {
        keys: ['scope_id', 'model_id', 'text_hash'],
        update: ['generation', 'dimensions', 'vector'],
      },
    );
  }
  await insertRecords(executor, dialect, QUEUE_ROW, kept, {
    keys: QUEUE_KEY,
    update: ['file_no', 'due_at'],
  });
  await removeTasks(executor, dialect, scopeId, key, [...done]);
}

/** By text: a file of the scope whose list has it. */
async function readHolders(executor: Executor, scopeId: number): Promise<Map<string, number>> {
  const rows = await executor.all(
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

/** What `randomInt` takes at most. */
const MAX_FIRST_GENERATION = 2 ** 48 - 1;

async function nextGeneration(
  executor: Executor,
  dialect: Dialect,
  scopeId: number,
  key: ModelKey,
): Promise<number> {
  const parameters: SqlValue[] = [scopeId, key.id];
  await insertRecords(
    executor,
    dialect,
    STATE_ROW,
    // Not from 0 again after a scope was erased: what is kept by generation is of one alone.
    [{ scopeId, modelId: key.id, generation: randomInt(MAX_FIRST_GENERATION) }],
    { keys: ['scope_id', 'model_id'] },
  );
  await executor.run(
    'update svc_vector_state set generation = generation + 1 where scope_id = ? and model_id = ?',
    parameters,
  );
  const [row] = await executor.all(
    'select generation from svc_vector_state where scope_id = ? and model_id = ?',
    parameters,
  );
  return toInteger(row?.['generation']);
}

const STATE_ROW: RowWriter<{ scopeId: number; modelId: number; generation: number }> = {
  table: 'svc_vector_state',
  columns: ['scope_id', 'model_id', 'generation'],
  toCells: ({ scopeId, modelId, generation }) => [scopeId, modelId, generation],
};

async function removeTasks(
  executor: Executor,
  dialect: Dialect,
  scopeId: number,
  key: ModelKey,
  textHashes: readonly string[],
): Promise<void> {
  if (textHashes.length === 0) return;
  const keys = dialect.keySet(
    [{ name: 'text_hash', kind: 'id' }],
    textHashes.map((textHash) => [textHash]),
  );
  const own = [{ own: 'text_hash', key: 'text_hash' }];
  const same = { scope_id: scopeId, model_id: key.id };
  const { sql, parameters } = dialect.deleteKeys('svc_embed_queue', own, keys, same);
  await executor.run(sql, parameters);
}

async function postpone(
  executor: Executor,
  dialect: Dialect,
  key: ModelKey,
  tasks: readonly EmbedTask[],
  { delayMs, isRefused }: { delayMs: number; isRefused: boolean },
): Promise<void> {
  if (tasks.length === 0) return;
  const keys = dialect.keySet(
    TEXT_KEY,
    tasks.map(({ scope, textHash }) => [toScopeId(scope), textHash]),
  );
  // Not those that someone else has finished meanwhile.
  const rows = await executor.all(
    'select q.scope_id, q.text_hash, q.file_no, q.attempts' +
      ` from ${keys.sql} k cross join svc_embed_queue q` +
      ' on q.scope_id = k.scope_id and q.model_id = ? and q.text_hash = k.text_hash',
    [...keys.parameters, key.id],
  );
  const dueAt = (await readNow(executor, dialect)) + delayMs;
  await insertRecords(
    executor,
    dialect,
    QUEUE_ROW,
    rows.map((row) => {
      const task = toQueueRow(row, key, dueAt);
      return isRefused ? { ...task, attempts: task.attempts + 1 } : task;
    }),
    { keys: QUEUE_KEY, update: ['attempts', 'due_at'] },
  );
}

async function sweep(executor: Executor, dialect: Dialect, scopeId: number): Promise<number> {
  // No list changes meanwhile: a text that comes back is either seen here, or queued afterwards.
  await lockIndex(executor, dialect, scopeId);
  const holders = await readHolders(executor, scopeId);
  const rows = await executor.all('select distinct text_hash from svc_vector where scope_id = ?', [
    scopeId,
  ]);
  const orphans = rows
    .map((row) => toHex(row['text_hash'] as Uint8Array))
    .filter((textHash) => !holders.has(textHash));
  if (orphans.length === 0) return 0;
  const keys = dialect.keySet(
    [{ name: 'text_hash', kind: 'id' }],
    orphans.map((textHash) => [textHash]),
  );
  const own = [{ own: 'text_hash', key: 'text_hash' }];
  const { sql, parameters } = dialect.deleteKeys('svc_vector', own, keys, { scope_id: scopeId });
  return await executor.run(sql, parameters);
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
