// The write path on its storage, in a process that can be killed: without HTTP, so that it starts in
// a tenth of a second. Takes operations as JSON lines on standard input, and answers each with a
// line on standard output once it is acknowledged.
//
//   node bare-writer.mjs <database>… [--acknowledge-early] [--kill-at=<n>]
//
// A database is an SQLite file, or a mysql:// URL; an operation's `at` says which one it is for, from
// 0: a kill of the process is one of each of them. With --kill-at, on SQLite, it kills itself before
// the nth statement of the transaction of an operation that says `isVictim`; where that has n − 1
// statements, between the commit and the answer.

import { createInterface } from 'node:readline';
import { randomUUID, createHash } from 'node:crypto';
import { acknowledgeEarly } from './acknowledge-early.mjs';

const databases = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const killAt = Number(flags.find((flag) => flag.startsWith('--kill-at='))?.slice(10) ?? 0);

/** @param {string} path */
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const [
  { createFiles },
  { createKnownErasures },
  { createIdSource },
  { noTrace },
  { createStorage },
] = await Promise.all([
  load('core/files/files.js'),
  load('core/files/known-erasures.js'),
  load('core/ids/ids.js'),
  load('core/telemetry/tracer.js'),
  load('core/storage/storage.js'),
]);

let isArmed = false;
let statements = 0;
let isInTransaction = false;

/** @param {string} sql */
function countStatement(sql) {
  if (sql === 'begin immediate') isInTransaction = true;
  if (!isArmed || !isInTransaction) return;
  statements += 1;
  if (statements === killAt) process.kill(process.pid, 'SIGKILL');
}

/** @param {string} sql */
function countEnd(sql) {
  if (sql !== 'commit') return;
  // One more: committed, and nobody was told.
  countStatement('');
  isInTransaction = false;
}

const now = Date.now;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const writers = await Promise.all(databases.map(openWriter));

/** @param {string} database */
async function openWriter(database) {
  const isMysql = database.startsWith('mysql:');
  const real = createStorage(await (isMysql ? openMysql(database) : openSqlite(database)));
  const storage = flags.includes('--acknowledge-early') ? acknowledgeEarly(real) : real;
  const erasures = createKnownErasures({ storage, async onEnd() {} });
  const files = createFiles({
    storage,
    erasures,
    limits: { maxFileBytes: 262_144, maxBodyBytes: 1_048_576, maxFilesPerUser: 5_000 },
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

/** @param {string} database */
async function openSqlite(database) {
  const { sqlite } = await load('plugins/storage-sqlite/index.js');
  return sqlite({ filename: database, ...(killAt > 0 ? { driver: await countingDriver() } : {}) });
}

/** The driver, and the statements of the victim's transaction counted. */
async function countingDriver() {
  const { loadSqliteModule } = await load('plugins/storage-sqlite/drivers/load.js');
  const native = await loadSqliteModule('sqlite3');
  return {
    ...native,
    /** @type {typeof native.open} */
    async open(/** @type {any[]} */ ...args) {
      const connection = await native.open(...args);
      return {
        ...connection,
        all(/** @type {string} */ sql, /** @type {unknown[]} */ parameters) {
          countStatement(sql);
          return connection.all(sql, parameters);
        },
        async run(/** @type {string} */ sql, /** @type {unknown[]} */ parameters) {
          countStatement(sql);
          const changes = await connection.run(sql, parameters);
          countEnd(sql);
          return changes;
        },
      };
    },
  };
}

/** @param {any} operation */
async function execute({ number, at = 0, userId, tool, args, key, isVictim }) {
  isArmed ||= isVictim === true;
  let isReplayed = false;
  const call = {
    userId,
    actor: 'agent',
    tool,
    toolCallId: randomUUID(),
    trace: noTrace(),
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
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  void execute(JSON.parse(line));
}
await Promise.all(writers.map(({ storage }) => storage.close()));
