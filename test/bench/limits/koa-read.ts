// One read of one file behind HTTP, with nothing recorded.

import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import type { NoteSet } from '../support/notes.ts';
import { createDatabase, openReader } from './database.ts';
import { serveTools } from './koa-tools.ts';

const CONNECTIONS = 4;

/** Koa + router + body + Ajv + a statement prepared on four `sqlite3` connections. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  const reader = await openReader(filename, CONNECTIONS);
  const server = await serveTools(async ({ context, arguments: { path: virtual } }) => {
    const row = await reader.read(context.userId, virtual.replace('user/', ''));
    if (row === undefined) throw new Error('There is no such file.');
    const { content, version, updated_at: updatedAt } = row;
    return { path: virtual, content, version, updatedAt: new Date(Number(updatedAt)) };
  });
  return {
    port: server.port,
    async close() {
      await server.close();
      await reader.close();
    },
  };
};
