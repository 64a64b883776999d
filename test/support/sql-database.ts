import type { Connection } from '../../core/storage/dialect.ts';
import type { SqlDatabase } from '../../core/storage/sql-database.ts';
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
