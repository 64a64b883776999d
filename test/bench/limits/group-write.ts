// A write with its revision and its access row in process, many in one transaction.

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { type NoteSet, pickWritten, toNote } from '../support/notes.ts';
import { createDatabase } from './database.ts';
import { createGroupWriter } from './group-writer.ts';

/** Group commit on one `sqlite3` connection, without any index of the words. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  const writer = await createGroupWriter(filename);
  return {
    operations: {
      async write(n) {
        const content = toNote(1_000_000 + n);
        await writer.write({ ...pickWritten(set, n), content, revisionId: randomUUID() });
      },
    },
    close: () => writer.close(),
  };
};
