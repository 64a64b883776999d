// The rows of a write on MariaDB, one bare transaction each.

import { randomUUID } from 'node:crypto';
import mysql from 'mysql2/promise';
import { createDatabase, startMariadb } from '../../support/mariadb-server.ts';
import type { OpenContestant } from '../support/contestant.ts';
import { listPlaces, type NoteSet, pickWritten, toNote } from '../support/notes.ts';

/** As many as the service opens. */
const CONNECTIONS = 10;

const SCHEMA = [
  `create table scope (user_id varchar(128) primary key, version int not null)`,
  `create table file (
     user_id varchar(128), path varchar(200), version int not null, updated_at bigint not null,
     content mediumtext not null, primary key (user_id, path))`,
  `create table revision (
     id char(36) primary key, user_id varchar(128) not null, path varchar(200) not null,
     version int not null, actor varchar(64) not null, at bigint not null,
     content mediumtext not null, key revision_file (user_id, path, version))`,
  `create table access_log (
     id char(36) primary key, at bigint not null, user_id varchar(128) not null,
     path varchar(200) not null, actor varchar(64) not null, action varchar(16) not null,
     key access_log_file (user_id, path, id))`,
];

/** A file with its revision and its access row, under the lock of its user's row. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set }) => {
  const server = await startMariadb();
  const url = new URL(await createDatabase(server.port));
  // The options of the service's own driver.
  url.search = '';
  const pool = mysql.createPool({ uri: url.href, connectionLimit: CONNECTIONS });
  for (const statement of SCHEMA) await pool.query(statement);
  const places = listPlaces(set);
  const users = [...new Set(places.map(({ userId }) => userId))];
  await pool.query('insert into scope values ?', [users.map((userId) => [userId, 0])]);
  await pool.query('insert into file values ?', [
    places.map(({ userId, path }, seed) => [userId, path, 1, Date.now(), toNote(seed)]),
  ]);
  return {
    operations: {
      async write(n) {
        const { userId, path } = pickWritten(set, n);
        const [now, content] = [Date.now(), toNote(1_000_000 + n)];
        const connection = await pool.getConnection();
        try {
          await connection.beginTransaction();
          await connection.execute('select version from scope where user_id = ? for update', [
            userId,
          ]);
          const [[before]] = await connection.execute<mysql.RowDataPacket[]>(
            'select version, content from file where user_id = ? and path = ?',
            [userId, path],
          );
          const version = Number(before?.['version'] ?? 0) + 1;
          await connection.execute('replace into file values (?, ?, ?, ?, ?)', [
            ...[userId, path, version, now, content],
          ]);
          await connection.execute('insert into revision values (?, ?, ?, ?, ?, ?, ?)', [
            ...[randomUUID(), userId, path, version, 'agent', now],
            String(before?.['content'] ?? ''),
          ]);
          await connection.execute('insert into access_log values (?, ?, ?, ?, ?, ?)', [
            ...[randomUUID(), now, userId, path, 'agent', 'write'],
          ]);
          await connection.execute('update scope set version = version + 1 where user_id = ?', [
            userId,
          ]);
          await connection.commit();
        } catch (error) {
          await connection.rollback();
          throw error;
        } finally {
          connection.release();
        }
      },
    },
    async close() {
      await pool.end();
      await server.remove();
    },
  };
};
