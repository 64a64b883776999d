import sqlite3 from 'sqlite3';
import { listPlaces, type NoteSet, toNote } from '../support/notes.ts';

/** One connection of `sqlite3`, with promises in place of callbacks. */
export interface Connection {
  exec(sql: string): Promise<void>;
  prepare(sql: string): Promise<Statement>;
  close(): Promise<void>;
}

export interface Statement {
  get(...values: unknown[]): Promise<Record<string, unknown> | undefined>;
  run(...values: unknown[]): Promise<void>;
  finalize(): Promise<void>;
}

/** What durable means for everyone: WAL, and the log synced at each commit. */
export const PRAGMAS =
  'pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000;';

/** The least that a memory file, its revisions and its logs take. */
export const SCHEMA = `
  create table file (
    user_id text not null, path text not null, version integer not null,
    updated_at integer not null, content text not null, primary key (user_id, path));
  create table revision (
    id text primary key, user_id text not null, path text not null, version integer not null,
    actor text not null, at integer not null, content text not null);
  create index revision_file on revision (user_id, path, version);
  create table access_log (
    id text primary key, at integer not null, user_id text not null, path text not null,
    actor text not null, action text not null);
  create index access_log_file on access_log (user_id, path, id);
  create table event (
    id text primary key, trace_id text not null, name text not null, user_id text not null,
    at integer not null, duration_ms real not null, attributes text not null);
  create index event_trace on event (trace_id);
`;

/** The point read that every read limit makes. */
export const READ_SQL =
  'select content, version, updated_at from file where user_id = ? and path = ?';

/** Opens a connection. */
export async function connect(filename: string): Promise<Connection> {
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(filename, (error) =>
      error === null ? resolve(opened) : reject(error),
    );
  });
  const settle =
    (resolve: () => void, reject: (error: Error) => void) =>
    (error: Error | null | undefined): void =>
      error ? reject(error) : resolve();
  return {
    exec: (sql) => new Promise((resolve, reject) => database.exec(sql, settle(resolve, reject))),
    close: () => new Promise((resolve, reject) => database.close(settle(resolve, reject))),
    async prepare(sql) {
      const statement = await new Promise<sqlite3.Statement>((resolve, reject) => {
        const prepared: sqlite3.Statement = database.prepare(sql, (error: Error | null) =>
          error === null ? resolve(prepared) : reject(error),
        );
      });
      return {
        get: (...values) =>
          new Promise((resolve, reject) => {
            statement.get(values, (error: Error | null, row?: Record<string, unknown>) =>
              error === null ? resolve(row) : reject(error),
            );
          }),
        run: (...values) =>
          new Promise((resolve, reject) => {
            statement.run(values, settle(resolve, reject));
          }),
        finalize: () =>
          new Promise((resolve, reject) => statement.finalize(settle(resolve, reject))),
      };
    },
  };
}

/** Creates the tables in a new database and fills in the notes. */
export async function createDatabase(filename: string, set: NoteSet): Promise<void> {
  const connection = await connect(filename);
  await connection.exec(PRAGMAS);
  await connection.exec(SCHEMA);
  const rows = listPlaces(set).map(({ userId, path }, seed) => [userId, path, toNote(seed)]);
  const fill = await connection.prepare(
    `insert into file select value ->> 0, value ->> 1, 1, ${Date.now()}, value ->> 2
     from json_each(?)`,
  );
  await fill.run(JSON.stringify(rows));
  await fill.finalize();
  await connection.close();
}

/** A reader of files: prepared once on each of so many connections, which take turns. */
export async function openReader(
  filename: string,
  connections: number,
): Promise<{
  read(userId: string, path: string): Promise<Record<string, unknown> | undefined>;
  close(): Promise<void>;
}> {
  const readers = await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await connect(filename);
      await connection.exec('pragma query_only = on');
      return { connection, statement: await connection.prepare(READ_SQL) };
    }),
  );
  let next = 0;
  return {
    read(userId, path) {
      const reader = readers[(next = (next + 1) % readers.length)];
      if (reader === undefined) throw new Error('There is no connection.');
      return reader.statement.get(userId, path);
    },
    async close() {
      for (const { connection, statement } of readers) {
        await statement.finalize();
        await connection.close();
      }
    },
  };
}
