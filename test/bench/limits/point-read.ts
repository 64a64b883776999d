// The same point read in process.

import knexFactory from 'knex';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { type NoteSet, pickPlace } from '../support/notes.ts';
import { createDatabase, openReader } from './database.ts';

/** A statement prepared on so many `sqlite3` connections, or Knex's builder on a pool of as many. */
export const open: OpenContestant<{
  set: NoteSet;
  connections: number;
  builder: 'prepared' | 'knex';
}> = async ({ set, connections, builder, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  if (builder === 'prepared') {
    const reader = await openReader(filename, connections);
    return {
      operations: {
        async read(n) {
          const place = pickPlace(set, n);
          assertFound(await reader.read(place.userId, place.path));
        },
      },
      close: () => reader.close(),
    };
  }
  const knex = knexFactory({
    client: 'sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: { min: connections, max: connections },
  });
  return {
    operations: {
      async read(n) {
        const place = pickPlace(set, n);
        const where = { user_id: place.userId, path: place.path };
        const row: unknown = await knex('file')
          .select('content', 'version', 'updated_at')
          .where(where)
          .first();
        assertFound(row);
      },
    },
    close: () => knex.destroy(),
  };
};

function assertFound(row: unknown): void {
  if (row === undefined) throw new Error('There is no such file.');
}
