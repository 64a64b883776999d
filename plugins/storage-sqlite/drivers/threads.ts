import { once } from 'node:events';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Row, SqlValue } from '../../../core/plugin.ts';
import type { OpenOptions, SqliteConnection } from '../connection.ts';

/** Where a synchronous module is, and the file to open with it. */
export interface ThreadOptions extends OpenOptions {
  /** `node:sqlite`, or the absolute path of better-sqlite3. */
  entry: string;
  filename: string;
}

/** A statement for the thread, or the end of the connection. */
interface Request {
  call: 'all' | 'run' | 'exec' | 'close';
  sql: string;
  parameters: readonly SqlValue[];
}

type Answer = { result: unknown } | { error: { message: string; code: string } };

interface Pending {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

/**
 * Opens a connection of a synchronous module on a thread of its own, so that no statement, and no
 * wait for a lock, holds up the event loop. The thread keeps the process alive only while it works.
 */
export async function openOnThread(options: ThreadOptions): Promise<SqliteConnection> {
  const worker = new Worker(`(${serveConnection.toString()})(require)`, {
    eval: true,
    workerData: options,
    // Node 22 prints for each thread that its SQLite is experimental.
    execArgv: ['--no-warnings'],
  });
  const waiting: Pending[] = [];
  let failure: Error | null = null;
  let isClosing = false;

  function fail(error: Error): void {
    failure ??= error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  }

  worker.on('message', (answer: Answer) => {
    const pending = waiting.shift();
    if (waiting.length === 0 && !isClosing) worker.unref();
    if ('result' in answer) pending?.resolve(answer.result as never);
    else pending?.reject(toError(answer.error));
  });
  worker.on('error', (error) =>
    fail(toError({ message: error.message, code: 'SQLITE_INTERRUPT' })),
  );
  worker.on('exit', () => {
    fail(toError({ message: 'The thread of the connection has ended.', code: 'SQLITE_INTERRUPT' }));
  });

  function answered<T>(send: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (failure !== null) return reject(failure);
      waiting.push({ resolve, reject });
      worker.ref();
      send();
    });
  }

  function call<T>(name: Request['call'], sql = '', parameters: readonly SqlValue[] = []) {
    const request: Request = { call: name, sql, parameters: parameters.map(toMessage) };
    return answered<T>(() => worker.postMessage(request));
  }

  async function all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    return (await call<Row[]>('all', sql, parameters)).map(toRow);
  }

  // The first answer is that of the opening.
  await answered<null>(() => undefined);
  return {
    all,
    get: async (sql, parameters) => (await all(sql, parameters))[0] ?? null,
    run: (sql, parameters) => call<number>('run', sql, parameters),
    exec: (sql) => call<undefined>('exec', sql),
    async close() {
      isClosing = true;
      const exit = failure === null ? once(worker, 'exit') : null;
      await call<undefined>('close');
      await exit;
    },
  };
}

function toError({ message, code }: { message: string; code: string }): Error {
  return Object.assign(new Error(message), { code });
}

/** A view would be sent with all of the memory behind it. */
function toMessage(value: SqlValue): SqlValue {
  return value instanceof Uint8Array && value.byteLength < value.buffer.byteLength
    ? Uint8Array.prototype.slice.call(value)
    : value;
}

/** The thread's binary values arrive as plain arrays; the other modules return buffers. */
function toRow(row: Row): Row {
  for (const name in row) {
    const value = row[name];
    if (value instanceof Uint8Array) {
      row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  }
  return row;
}

/**
 * What runs on the thread. Its text is sent there, because Node 20 cannot start a thread from
 * TypeScript: so it uses nothing from outside of itself.
 */
function serveConnection(require: NodeJS.Require): void {
  const { parentPort, workerData } = require('node:worker_threads') as {
    parentPort: MessagePort;
    workerData: ThreadOptions;
  };
  const { entry, filename, busyTimeoutMs, isReadOnly = false } = workerData;
  /** As many as in `sqlite3.ts`, but emptied when full. */
  const statements = new Map<string, Prepared>();
  const kept = 256;
  /** Node's own module names only the number. */
  const names: Record<number, string> = {
    3: 'PERM',
    5: 'BUSY',
    6: 'LOCKED',
    7: 'NOMEM',
    8: 'READONLY',
    9: 'INTERRUPT',
    10: 'IOERR',
    11: 'CORRUPT',
    13: 'FULL',
    14: 'CANTOPEN',
    15: 'PROTOCOL',
    19: 'CONSTRAINT',
    22: 'NOLFS',
    23: 'AUTH',
    26: 'NOTADB',
  };

  interface Prepared {
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): { changes: number };
  }
  interface Database {
    exec(sql: string): void;
    prepare(sql: string): Prepared;
    close(): void;
  }

  function open(): Database {
    if (entry === 'node:sqlite') {
      const { DatabaseSync } = require(entry) as {
        DatabaseSync: new (path: string, options: object) => Database;
      };
      return new DatabaseSync(filename, {
        enableForeignKeyConstraints: false,
        readOnly: isReadOnly,
      });
    }
    return new (require(entry) as new (path: string, options: object) => Database)(filename, {
      readonly: isReadOnly,
    });
  }

  function prepare(sql: string): Prepared {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    if (statements.size >= kept) statements.clear();
    statements.set(sql, statement);
    return statement;
  }

  /** Both modules would bind a whole number as a real one. */
  function bind(parameters: readonly SqlValue[]): unknown[] {
    return parameters.map((value) =>
      Number.isSafeInteger(value) ? BigInt(value as number) : value,
    );
  }

  function answer(work: () => unknown): void {
    try {
      parentPort.postMessage({ result: work() });
    } catch (error) {
      const { code, errcode, message } = error as Error & { code?: string; errcode?: number };
      const name = errcode === undefined ? null : `SQLITE_${names[errcode & 0xff] ?? 'ERROR'}`;
      parentPort.postMessage({ error: { message, code: name ?? code ?? 'SQLITE_ERROR' } });
    }
  }

  let database: Database;
  answer(() => {
    database = open();
    database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    return null;
  });
  parentPort.on('message', ({ call, sql, parameters }: Request) => {
    answer(() => {
      if (call === 'all') return prepare(sql).all(...bind(parameters));
      if (call === 'run') return Number(prepare(sql).run(...bind(parameters)).changes);
      if (call === 'exec') return database.exec(sql);
      statements.clear();
      return database.close();
    });
    if (call === 'close') parentPort.close();
  });
}
