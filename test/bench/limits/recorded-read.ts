// The same point read, with the least that records it: an access row and an event, in batches.

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { type NoteSet, pickPlace } from '../support/notes.ts';
import { connect, createDatabase, openReader, PRAGMAS } from './database.ts';

/** Reads whose rows share a transaction. */
const BATCH = 2_048;
/** Rows that wait at most: whoever comes then waits, too. */
const LIMIT = 20_000;

type Cells = (string | number)[];

/** A statement prepared on so many `sqlite3` connections, and another connection for the rows. */
export const open: OpenContestant<{ set: NoteSet; connections: number }> = async ({
  set,
  connections,
  directory,
}) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  const reader = await openReader(filename, connections);
  const writer = await connect(filename);
  await writer.exec(PRAGMAS);
  const toInsert = (table: string, columns: number) =>
    `insert into ${table} select ${Array.from({ length: columns }, (_, at) => `value ->> ${at}`).join(', ')} from json_each(?)`;
  const begin = await writer.prepare('begin immediate');
  const insertAccess = await writer.prepare(toInsert('access_log', 6));
  const insertEvents = await writer.prepare(toInsert('event', 7));
  const commit = await writer.prepare('commit');

  let access: Cells[] = [];
  let events: Cells[] = [];
  let writing: Promise<void> | null = null;

  async function writeRows(least: number): Promise<void> {
    while (access.length >= least) {
      const [rows, calls] = [access.slice(0, BATCH), events.slice(0, BATCH)];
      await begin.run();
      await insertAccess.run(JSON.stringify(rows));
      await insertEvents.run(JSON.stringify(calls));
      await commit.run();
      access = access.slice(BATCH);
      events = events.slice(BATCH);
    }
  }

  return {
    operations: {
      async read(n) {
        const begun = performance.now();
        const { userId, path: file } = pickPlace(set, n);
        const row = await reader.read(userId, file);
        if (row === undefined) throw new Error('There is no such file.');
        const at = Date.now();
        const traceId = randomUUID();
        access.push([randomUUID(), at, userId, file, 'agent', 'read']);
        const took = performance.now() - begun;
        events.push([randomUUID(), traceId, 'memory_read', userId, at, took, '{}']);
        if (access.length >= BATCH) writing ??= writeRows(BATCH).finally(() => (writing = null));
        if (access.length >= LIMIT) await writing;
      },
    },
    async finish() {
      await writing;
      await writeRows(1);
    },
    async close() {
      for (const statement of [begin, insertAccess, insertEvents, commit]) {
        await statement.finalize();
      }
      await writer.close();
      await reader.close();
    },
  };
};
