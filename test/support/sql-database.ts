import type { Connection } from '../../core/storage/dialect.ts';
import type { Failure, SqlDatabase } from '../../core/storage/sql-database.ts';
import * as mysqlPlugin from '../../plugins/storage-mysql/index.ts';
import * as postgresPlugin from '../../plugins/storage-postgres/index.ts';
import * as sqlitePlugin from '../../plugins/storage-sqlite/index.ts';

/** The database itself, by its file name or URL, without the stores. */
export function openSqlDatabase(database: string): SqlDatabase {
  if (database.startsWith('mysql:')) return mysqlPlugin.mysql({ url: database });
  if (database.startsWith('postgres:')) return postgresPlugin.postgres({ url: database });
  return sqlitePlugin.sqlite({ filename: database });
}

/** Calls `end` at the end of each write transaction, before its COMMIT. */
export function beforeCommit(database: SqlDatabase, end: () => Promise<void>): SqlDatabase {
  const transact = database.transact.bind(database);
  database.transact = (run, options) =>
    transact(async (connection) => {
      const result = await run(connection);
      await end();
      return result;
    }, options);
  return database;
}

/**
 * Loses the answer to the COMMIT of the next transaction that `isMeant`: it takes place, or it is rolled
 * back as if it never came to the database.
 */
export function loseCommits(database: SqlDatabase) {
  let lose: { isMeant: (written: readonly string[]) => boolean; takesPlace: boolean } | null = null;
  let lost = 0;
  const answer = new Error('The answer to the COMMIT was lost.');
  const transact = database.transact.bind(database);
  const classify = database.classify.bind(database);
  database.classify = (error) => (error === answer ? 'lost' : classify(error));
  database.transact = async (run, options) => {
    const written: string[] = [];
    let isLost = false;
    const outcome = await transact(async (connection) => {
      const result = await run(noting(connection, written));
      isLost = lose?.isMeant(written) ?? false;
      if (isLost && lose?.takesPlace === false) throw answer;
      return result;
    }, options);
    if (!isLost) return outcome;
    lose = null;
    lost += 1;
    return { status: 'failed', error: answer, isUnknown: true };
  };
  return {
    database,
    lost: () => lost,
    lose: (next: NonNullable<typeof lose>) => void (lose = next),
  };
}

function noting(connection: Connection, written: string[]): Connection {
  return {
    dialect: connection.dialect,
    all: (sql, parameters) => connection.all(sql, parameters),
    run: (sql, parameters) => {
      written.push(sql);
      return connection.run(sql, parameters);
    },
  };
}

/**
 * Makes write transactions fail: each once at each of its statements and at its COMMIT, before it
 * succeeds. All of it is rolled back, as after a kill.
 */
export function failEachStatement(database: SqlDatabase) {
  const error = new Error('The statement fails.');
  let kind: Failure | null = null;
  let failAt = 1;
  let failures = 0;
  const transact = database.transact.bind(database);
  const classify = database.classify.bind(database);
  database.classify = (found) => (found === error ? (kind ?? 'other') : classify(found));
  database.transact = async (run, options) => {
    let statements = 0;
    const outcome = await transact(async (connection) => {
      // Others' changes may share the transaction.
      const count = (): void => {
        if (kind === null || ++statements !== failAt) return;
        failures += 1;
        throw error;
      };
      const counted: Connection = {
        dialect: connection.dialect,
        all: (sql, parameters) => {
          count();
          return connection.all(sql, parameters);
        },
        run: (sql, parameters) => {
          count();
          return connection.run(sql, parameters);
        },
      };
      const result = await run(counted);
      count();
      return result;
    }, options);
    if (statements === 0) return outcome;
    failAt = outcome.status === 'done' ? 1 : failAt + 1;
    return outcome;
  };
  return {
    database,
    failures: () => failures,
    /** Runs work whose transactions fail like this. */
    async during<T>(what: Failure, work: () => Promise<T>): Promise<T> {
      kind = what;
      return await work().finally(() => (kind = null));
    },
  };
}
