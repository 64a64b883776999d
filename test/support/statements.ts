// Records the statements that the service sends to databases during the tests. vitest.config.ts loads
// this file before each test file. test/core/storage/query-plans.test.ts reads the records at the end.

import { AsyncLocalStorage } from 'node:async_hooks';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { inject } from 'vitest';

/** A statement of the service on its tables, with the first values that it was sent with. */
export interface RecordedStatement {
  database: 'sqlite' | 'mysql';
  sql: string;
  values: unknown[];
  /** The line of the service that sent it. */
  from: string;
}

/** What this run has recorded so far, each statement once. */
export function readStatements(database: RecordedStatement['database']): RecordedStatement[] {
  const directory = inject('statements');
  const statements = new Map<string, RecordedStatement>();
  for (const file of readdirSync(directory)) {
    for (const line of readFileSync(join(directory, file), 'utf8').trim().split('\n')) {
      const statement = JSON.parse(line, reviveBytes) as RecordedStatement;
      if (statement.database === database) statements.set(toShape(statement.sql), statement);
    }
  }
  return [...statements.values()];
}

type Method = (this: unknown, ...args: unknown[]) => unknown;
type Methods = Record<string, Method>;

const require = createRequire(import.meta.url);
// The drivers are loaded once for all test files of a worker.
const worker = globalThis as { memoryTestStatements?: Set<string> };
if (worker.memoryTestStatements === undefined) {
  worker.memoryTestStatements = new Set();
  const sqlite3 = require('sqlite3') as { Database: { prototype: Methods } };
  const mysql2 = require('mysql2') as { Connection: { prototype: Methods } };
  observe(sqlite3.Database.prototype, 'prepare', 'sqlite');
  observe(mysql2.Connection.prototype, 'execute', 'mysql');
  observe(mysql2.Connection.prototype, 'query', 'mysql');
  for (const client of ['client', 'dialects/sqlite3', 'dialects/mysql']) {
    const { prototype } = require(`knex/lib/${client}`) as { prototype: Methods };
    for (const name of ['queryBuilder', 'raw']) {
      if (Object.hasOwn(prototype, name)) observeBuilder(prototype, name);
    }
  }
}

function observe(prototype: Methods, name: string, database: RecordedStatement['database']): void {
  const method = prototype[name] as Method;
  prototype[name] = function (sql, ...rest) {
    if (typeof sql === 'string' && hasPlan(sql)) {
      record({ database, sql, values: Array.isArray(rest[0]) ? (rest[0] as unknown[]) : [] });
    }
    return method.call(this, sql, ...rest);
  };
}

/** Knex sends a statement when nothing tells any more who has built it. */
function observeBuilder(prototype: Methods, name: string): void {
  const method = prototype[name] as Method;
  prototype[name] = function (...args) {
    const builder = method.apply(this, args) as { then: Method };
    const { then } = builder;
    const built = takeStack();
    builder.then = function (...callbacks) {
      sending += 1;
      const sent = building.run(built, () => then.apply(this, callbacks)) as Promise<unknown>;
      const settle = () => {
        sending -= 1;
        if (sending === 0) building.disable();
      };
      sent.then(settle, settle);
      return sent;
    };
    return builder;
  };
}

function record(statement: Omit<RecordedStatement, 'from'>): void {
  const known = worker.memoryTestStatements as Set<string>;
  const key = `${statement.database} ${toShape(statement.sql)}`;
  if (known.has(key)) return;
  const from = findOrigin();
  if (from === null) return;
  known.add(key);
  const file = join(inject('statements'), `${process.pid}.jsonl`);
  appendFileSync(file, `${JSON.stringify({ ...statement, from })}\n`);
}

const building = new AsyncLocalStorage<Error>();
/** While none is sent the store is off: it slows every promise down. */
let sending = 0;
const ROOT = join(import.meta.dirname, '..', '..');
/** What stands between a store and its driver. */
const BETWEEN =
  /^(?:test\/support\/statements\.ts|plugins\/storage-sqlite\/(?:(?:connection|dialect)\.ts|drivers\/)|plugins\/storage-mysql\/(?:connections|dialect)\.ts|core\/storage\/(?:knex-connection|open-database|schema\/row-sets|read\/kept-contents|read\/page|read\/id-walk)\.ts)/;

/** The line of the service that sends a statement; `null` for a test's own statement. */
function findOrigin(): string | null {
  const { stack = '' } = takeStack();
  const isOfKnex = /core\/storage\/(?:knex-connection|open-database)\.ts/.test(stack);
  const built = isOfKnex ? building.getStore()?.stack : undefined;
  for (const line of (built ?? stack).split('\n')) {
    const [, file = '', row = ''] = /(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/.exec(line) ?? [];
    const name = relative(ROOT, file);
    if (file === '' || name.startsWith('..') || name.includes('node_modules')) continue;
    if (BETWEEN.test(name)) continue;
    return /^(?:test|core\/testing)\//.test(name) ? null : `${name}:${row}`;
  }
  return 'an unknown line';
}

function takeStack(): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 60;
  const taken = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return taken;
}

/** The statement without what differs by the number of its values. */
function toShape(sql: string): string {
  return sql.replaceAll(/\(\?(?:, \?)*\)/g, '(…)').replaceAll(/\(…\)(?:, \(…\))+/g, '(…)');
}

/** Whether a statement finds rows of a table of the service: an INSERT of values has no plan. */
function hasPlan(sql: string): boolean {
  return (
    /^(?:select|with|insert|update|delete)\b/i.test(sql) &&
    /(?:\bfrom|join|\bupdate)\s+`?svc_/i.test(sql)
  );
}

function reviveBytes(_key: string, value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: number[] };
  return type === 'Buffer' && Array.isArray(data) ? Buffer.from(data) : value;
}
