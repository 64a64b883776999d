// A write with its revision and its access row behind HTTP, many in one transaction.

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import type { NoteSet } from '../support/notes.ts';
import { createDatabase } from './database.ts';
import { createGroupWriter } from './group-writer.ts';
import { serveTools } from './koa-tools.ts';

/** Koa + router + body + Ajv + group commit on one `sqlite3` connection, without any index. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  const writer = await createGroupWriter(filename);
  const server = await serveTools(
    async ({ context, arguments: { path: virtual, content = '' } }) => {
      const revisionId = randomUUID();
      const version = await writer.write({
        userId: context.userId,
        path: virtual.replace('user/', ''),
        content,
        revisionId,
      });
      return { path: virtual, version, revisionId };
    },
  );
  return {
    port: server.port,
    async close() {
      await server.close();
      await writer.close();
    },
  };
};
