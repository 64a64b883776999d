// The write path on its storage, in a process that can be killed: without HTTP, so that it starts in
// a tenth of a second. Takes operations as JSON lines on standard input, and answers each with a
// line on standard output once it is acknowledged.
//
//   node bare-writer.mjs <database>… [--acknowledge-early] [--kill-at=<n>,…]
//
// A database is an SQLite file, or a mysql:// URL; an operation's `at` says which one it is for, from
// 0: a kill of the process is one of each of them. With --kill-at, on SQLite, each database has an n.
// There, an operation that says `isVictim` stands still before the nth statement of its transaction;
// where that has n − 1 statements, between the commit and the answer. Once all of them stand still, or
// are answered, the process kills itself.

import { createInterface } from 'node:readline';
import { randomUUID, createHash } from 'node:crypto';
import { acknowledgeEarly } from './acknowledge-early.mjs';

const databases = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const points =
  flags
    .find((flag) => flag.startsWith('--kill-at='))
    ?.slice(10)
    .split(',') ?? [];
let victims = points.length;

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const [
  { createFiles },
  { KnownErasures },
  { createIdSource },
  { createScreening },
  { noTrace },
  { createStorage },
] = await Promise.all([
  load('core/files/files.js'),
  load('core/files/known-erasures.js'),
  load('core/ids/ids.js'),
  load('core/screening/screening.js'),
  load('core/telemetry/tracer.js'),
  load('core/storage/storage.js'),
]);

/** Databases whose victim has begun. */
const armed = new Set();

function countVictim() {
  victims -= 1;
  if (victims === 0) process.kill(process.pid, 'SIGKILL');
}

const now = Date.now;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const writers = await Promise.all(databases.map((database, at) => openWriter(database, at)));

/**
 * @param {string} database
 * @param {number} at
 */
async function openWriter(database, at) {
  const isMysql = database.startsWith('mysql:');
  const real = createStorage(await (isMysql ? openMysql(database) : openSqlite(database, at)));
  const storage = flags.includes('--acknowledge-early') ? acknowledgeEarly(real) : real;
  const erasures = new KnownErasures({ storage, async onEnd() {} });
  const files = createFiles({
    storage,
    erasures,
    limits: { maxFileBytes: 262_144, maxBodyBytes: 1_048_576, maxFilesPerUser: 5_000 },
    screening: createScreening({ screen: { secrets: 'off', personal: 'off', patterns: null } }),
    sharedWrites: false,
    now,
    confirmedNow: now,
    ids: createIdSource(now),
    // Rows of reads: not what is tried here.
    accessQueue: { access() {}, event() {}, async flush() {}, async close() {} },
    indexer: { wake() {} },
    health: { note() {} },
  });
  await storage.init({ log: quiet, now });
  await erasures.look();
  /** @type {Record<string, (args: unknown, call: unknown) => Promise<unknown>>} */
  const tools = {
    memory_read: files.read,
    memory_write: files.write,
    memory_patch: files.patch,
    memory_delete: files.remove,
    memory_move: files.move,
  };
  return { storage, tools };
}

const sha256 = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex');
// One driver alone is loaded: the other would cost a third of the start.

/** @param {string} database */
async function openMysql(database) {
  const { mysql } = await load('plugins/storage-mysql/index.js');
  return mysql({ url: database });
}

/**
 * @param {string} database
 * @param {number} at
 */
async function openSqlite(database, at) {
  const { sqlite } = await load('plugins/storage-sqlite/index.js');
  const isVictim = points[at] !== undefined;
  return sqlite({ filename: database, ...(isVictim ? { driver: await countingDriver(at) } : {}) });
}

/**
 * The driver, which counts the statements of the victim's transaction, and stands still at its point.
 *
 * @param {number} at
 */
async function countingDriver(at) {
  const { loadSqliteModule } = await load('plugins/storage-sqlite/drivers/load.js');
  const native = await loadSqliteModule('sqlite3');
  let statements = 0;
  let isInTransaction = false;

  /** @param {string} sql */
  async function countStatement(sql) {
    if (sql === 'begin immediate') isInTransaction = true;
    if (!armed.has(at) || !isInTransaction) return;
    statements += 1;
    if (statements !== Number(points[at])) return;
    countVictim();
    await new Promise(() => {});
  }

  /** @param {string} sql */
  async function countEnd(sql) {
    if (sql !== 'commit') return;
    // One more: committed, and nobody was told.
    await countStatement('');
    isInTransaction = false;
  }

  return {
    ...native,
    /** @type {typeof native.open} */
    async open(/** @type {any[]} */ ...args) {
      const connection = await native.open(...args);
      return {
        ...connection,
        async all(/** @type {string} */ sql, /** @type {unknown[]} */ parameters) {
          await countStatement(sql);
          return await connection.all(sql, parameters);
        },
        async run(/** @type {string} */ sql, /** @type {unknown[]} */ parameters) {
          await countStatement(sql);
          const changes = await connection.run(sql, parameters);
          await countEnd(sql);
          return changes;
        },
      };
    },
  };
}

/** @param {any} operation */
async function execute({ number, at = 0, userId, tool, args, key, isVictim }) {
  if (isVictim) armed.add(at);
  let isReplayed = false;
  const call = {
    userId,
    actor: 'agent',
    tool,
    toolCallId: randomUUID(),
    trace: noTrace(randomUUID().replaceAll('-', '')),
    ...(key === undefined
      ? {}
      : { idempotency: { keyHash: sha256(key), requestHash: sha256(JSON.stringify(args)) } }),
    onReplay() {
      isReplayed = true;
    },
  };
  /** @type {object} */
  let answer;
  try {
    answer = {
      status: 'acknowledged',
      result: await writers[at]?.tools[tool]?.(args, call),
      isReplayed,
    };
    // Set by now: it is called before the result is given.
    answer = { ...answer, isReplayed };
  } catch (error) {
    answer = { status: 'refused', code: /** @type {{ code?: string }} */ (error).code };
  }
  process.stdout.write(`${JSON.stringify({ number, answer })}\n`);
  if (isVictim && points[at] !== undefined) countVictim();
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  void execute(JSON.parse(line));
}
await Promise.all(writers.map(({ storage }) => storage.close()));
