// A database for the service: a file of libSQL, with the dialect of the SQLite plugin.

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@libsql/client';
import { MemoryError } from 'memory-service/plugin';
import {
  classifySqliteError,
  createSqliteDialect,
  toSqliteStatement,
  translateSqliteError,
} from 'memory-service/plugins/storage-sqlite';

/** @import { Client, Transaction, Value } from '@libsql/client' */
/** @import { Connection, Dialect, SqlDatabase } from 'memory-service/plugin' */

/** Snapshots at once, each on a connection of its own. */
const SNAPSHOTS = 8;

/**
 * Stores memory in one file of libSQL, for one process at a time.
 *
 * @param {{ filename: string }} options
 * @returns {SqlDatabase}
 */
export function libsql({ filename }) {
  // Beyond its connections, a client refuses a transaction.
  const slots = createSlots(SNAPSHOTS);
  const turns = createSlots(1);
  /** @type {Clients & Reader | null} */
  let opened = null;
  const live = () => {
    if (opened === null) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not opened yet.');
    return opened;
  };

  return {
    apiVersion: 1,
    name: 'libsql',
    filename,
    limits: { writers: 'one', groupSize: 64, groupedReads: 1, lockTimeoutMs: 2_000 },
    mayRemain: ['Removed rows in free pages of the file and in its log: VACUUM writes both anew.'],
    classify: classifySqliteError,
    explain: translateSqliteError,

    open: () =>
      explained(async () => {
        await mkdir(dirname(resolve(filename)), { recursive: true });
        const url = urlOf(filename);
        // A locked file is an error at once.
        const writer = createClient({ url, concurrency: 1 });
        // With a log, others can commit while a snapshot is read.
        await writer.execute('pragma journal_mode = wal');
        const snapshots = createClient({ url, concurrency: SNAPSHOTS });
        opened = { writer, snapshots, ...(await openReader(filename)) };
      }),

    async close() {
      opened?.reader.close();
      opened?.snapshots.close();
      opened?.writer.close();
      opened = null;
    },

    examine: (run) =>
      explained(async () => {
        // To open a file that is not there would make it.
        if (!existsSync(filename)) return await run(null);
        const { reader, version, dialect } = await openReader(filename);
        try {
          return await run({ version, connection: toConnection(reader, dialect) });
        } finally {
          reader.close();
        }
      }),

    ping: () => explained(async () => void (await live().reader.execute('select 1'))),

    async describe() {
      const { version } = live();
      return { name: 'libsql', driver: '@libsql/client', version, settings: {} };
    },

    async read(run) {
      // Each statement is a transaction of its own, so it sees the newest state. The client runs all
      // statements on this thread, so another connection would not make lists faster.
      const { reader, dialect } = live();
      return await run(toConnection(reader, dialect));
    },

    async snapshot(run) {
      const { snapshots, dialect } = live();
      await slots.take();
      try {
        const transaction = await snapshots.transaction('deferred');
        try {
          await transaction.execute('pragma query_only = on');
          return await run(toConnection(transaction, dialect));
        } finally {
          transaction.close();
        }
      } finally {
        slots.leave();
      }
    },

    // #region transact
    async transact(run) {
      /** @type {Transaction | null} */
      let transaction = null;
      let isCommitting = false;
      await turns.take();
      try {
        const { writer, dialect } = live();
        // Takes the lock at once: begin immediate.
        transaction = await writer.transaction('write');
        const result = await run(toConnection(transaction, dialect));
        isCommitting = true;
        await transaction.commit();
        return { status: 'done', result };
      } catch (error) {
        await transaction?.rollback().catch(() => undefined);
        // A statement that failed stays open, and would be in the way of the next commit.
        await opened?.writer.reconnect();
        // What the disk failed to write completely may be whole at the next start.
        const isUnknown = isCommitting && classifySqliteError(error) === 'disk';
        return { status: 'failed', error, isUnknown };
      } finally {
        turns.leave();
      }
    },
    // #endregion

    backUp: (target) =>
      explained(async () => {
        const client = createClient({ url: urlOf(filename), concurrency: 1 });
        try {
          await client.execute({ sql: 'vacuum into ?', args: [target] });
        } finally {
          client.close();
        }
      }),
  };
}

/** @typedef {{ writer: Client, snapshots: Client }} Clients */
/** @typedef {{ reader: Client, version: string, dialect: Dialect }} Reader */

/**
 * Opens one connection that can't write.
 *
 * @param {string} filename
 * @returns {Promise<Reader>}
 */
async function openReader(filename) {
  const reader = createClient({ url: urlOf(filename), concurrency: 1 });
  await reader.execute('pragma query_only = on');
  const { rows } = await reader.execute('select sqlite_version()');
  const version = String(rows[0]?.[0]);
  return { reader, version, dialect: createSqliteDialect(version) };
}

/** @param {string} filename */
function urlOf(filename) {
  return pathToFileURL(filename).href;
}

// #region connection
/**
 * @param {Pick<Transaction, 'execute'>} target
 * @param {Dialect} dialect
 * @returns {Connection}
 */
function toConnection(target, dialect) {
  /** @type {(...statement: Parameters<Connection['all']>) => ReturnType<Transaction['execute']>} */
  const execute = (sql, parameters) =>
    target.execute({ sql: toSqliteStatement(sql), args: [...parameters] });
  return {
    dialect,
    async all(sql, parameters) {
      const { columns, rows } = await execute(sql, parameters);
      return rows.map((row) =>
        Object.fromEntries(columns.map((name, at) => [name, toValue(row[at])])),
      );
    },
    async run(sql, parameters) {
      return (await execute(sql, parameters)).rowsAffected;
    },
  };
}

/** @param {Value | undefined} value */
function toValue(value) {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}
// #endregion

/**
 * Runs work, and throws its error as a `MemoryError`.
 *
 * @template T
 * @param {() => Promise<T>} work
 */
async function explained(work) {
  try {
    return await work();
  } catch (error) {
    throw translateSqliteError(error);
  }
}

/** Lets that many callers in at once; the others wait in line. @param {number} free */
function createSlots(free) {
  /** @type {((entered: unknown) => void)[]} */
  const waiting = [];
  return {
    async take() {
      if (free > 0) free -= 1;
      else await new Promise((enter) => waiting.push(enter));
    },
    leave() {
      const enter = waiting.shift();
      if (enter === undefined) free += 1;
      else enter(undefined);
    },
  };
}
