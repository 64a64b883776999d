// What one writes first: Knex's builder, a transaction a call, everything recorded in it.

import knexFactory, { type Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import type { NoteSet } from '../support/notes.ts';
import { createDatabase } from './database.ts';
import { serveTools } from './koa-tools.ts';

/**
 * Reads with an access row and a trace row in the call; writes with revision, access row, trace row
 * and full-text index in one transaction. A call with content is a write.
 */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  const knex = knexFactory({
    client: 'sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate: (
        connection: { exec(sql: string, done: (error: Error | null) => void): void },
        done: (error: Error | null, connection: unknown) => void,
      ) =>
        connection.exec('pragma synchronous = full; pragma busy_timeout = 5000', (error) =>
          done(error, connection),
        ),
    },
  });
  await knex.raw('create virtual table file_text using fts5(content)');
  await knex.raw('insert into file_text (rowid, content) select rowid, content from file');
  const server = await serveTools(({ context, arguments: { path: virtual, content } }) =>
    content === undefined
      ? read(knex, context.userId, virtual)
      : write(knex, context.userId, virtual, content),
  );
  return {
    port: server.port,
    async close() {
      await server.close();
      await knex.destroy();
    },
  };
};

async function read(knex: Knex, userId: string, virtual: string): Promise<object> {
  const where = { user_id: userId, path: virtual.replace('user/', '') };
  const row: unknown = await knex('file').where(where).first();
  if (typeof row !== 'object' || row === null) throw new Error('There is no such file.');
  await record(knex, userId, where.path, 'read');
  const { content, version, updated_at: updatedAt } = row as Record<string, unknown>;
  return { path: virtual, content, version, updatedAt };
}

function write(knex: Knex, userId: string, virtual: string, content: string): Promise<object> {
  const where = { user_id: userId, path: virtual.replace('user/', '') };
  return knex.transaction(async (transaction) => {
    const before = (await transaction('file')
      .select('rowid as file_id', 'version', 'content')
      .where(where)
      .first()) as { file_id: number; version: number; content: string } | undefined;
    const version = (before?.version ?? 0) + 1;
    const at = Date.now();
    const row = { version, updated_at: at, content };
    let rowid = before?.file_id;
    if (rowid === undefined) [rowid] = await transaction('file').insert({ ...where, ...row });
    else await transaction('file').where(where).update(row);
    const former = before?.content ?? '';
    const revision = { id: randomUUID(), ...where, version, actor: 'agent', at, content: former };
    await transaction('revision').insert(revision);
    await transaction('file_text').where({ rowid }).delete();
    await transaction('file_text').insert({ rowid, content });
    await record(transaction, userId, where.path, 'write');
    return { path: virtual, version, revisionId: revision.id };
  });
}

async function record(knex: Knex, userId: string, file: string, action: string): Promise<void> {
  const at = Date.now();
  await knex('access_log').insert({
    id: randomUUID(),
    at,
    user_id: userId,
    path: file,
    actor: 'agent',
    action,
  });
  await knex('event').insert({
    id: randomUUID(),
    trace_id: randomUUID(),
    name: `execute_tool memory_${action}`,
    user_id: userId,
    at,
    duration_ms: 1,
    attributes: '{}',
  });
}
