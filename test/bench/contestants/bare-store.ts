// A write with its revision and its access row, or a read, on one driver and nothing else.

import Database from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { createDatabase, openReader, PRAGMAS, READ_SQL } from '../limits/database.ts';
import { createGroupWriter } from '../limits/group-writer.ts';
import type { Contestant, OpenContestant } from '../support/contestant.ts';
import { type NoteSet, pickPlace, pickWritten, toNote } from '../support/notes.ts';

type Options = { set: NoteSet; driver: 'sqlite3' | 'better-sqlite3' };

const READERS = 4;
const GROUP = 64;

/** WAL and synchronous=FULL for both. */
export const open: OpenContestant<Options> = async ({ set, driver, directory }) => {
  const filename = path.join(directory, 'files.db');
  await createDatabase(filename, set);
  return driver === 'sqlite3' ? openAsynchronous(filename, set) : openSynchronous(filename, set);
};

async function openAsynchronous(filename: string, set: NoteSet): Promise<Contestant> {
  const writer = await createGroupWriter(filename);
  const reader = await openReader(filename, READERS);
  return {
    operations: {
      async read(n) {
        const { userId, path: file } = pickPlace(set, n);
        if ((await reader.read(userId, file)) === undefined) throw new Error('No such file.');
      },
      write: (n) => writer.write(toWrite(set, n)),
    },
    async close() {
      await reader.close();
      await writer.close();
    },
  };
}

function openSynchronous(filename: string, set: NoteSet): Contestant {
  const database = new Database(filename);
  database.exec(PRAGMAS);
  const read = database.prepare(READ_SQL);
  const readFile = database.prepare<unknown[], { version: number; content: string }>(
    'select version, content from file where user_id = ? and path = ?',
  );
  const writeFile = database.prepare(
    `insert into file values (?, ?, ?, ?, ?) on conflict (user_id, path) do update
     set version = excluded.version, updated_at = excluded.updated_at, content = excluded.content`,
  );
  const writeRevision = database.prepare('insert into revision values (?,?,?,?,?,?,?)');
  const writeAccess = database.prepare('insert into access_log values (?,?,?,?,?,?)');
  const apply = (n: number): void => {
    const { userId, path: file, content, revisionId } = toWrite(set, n);
    const at = Date.now();
    const before = readFile.get(userId, file);
    const version = (before?.version ?? 0) + 1;
    writeFile.run(userId, file, version, at, content);
    writeRevision.run(revisionId, userId, file, version, 'agent', at, before?.content ?? '');
    writeAccess.run(randomUUID(), at, userId, file, 'agent', 'write');
  };
  const applyOne = database.transaction(apply).immediate;
  const applyGroup = database.transaction((group: readonly Waiting[]) => {
    for (const { n } of group) apply(n);
  }).immediate;

  interface Waiting {
    n: number;
    resolve(): void;
  }
  let waiting: Waiting[] = [];
  const drain = (): void => {
    const group = waiting.slice(0, GROUP);
    waiting = waiting.slice(group.length);
    applyGroup(group);
    for (const { resolve } of group) resolve();
    if (waiting.length > 0) setImmediate(drain);
  };
  return {
    operations: {
      read(n) {
        const { userId, path: file } = pickPlace(set, n);
        if (read.get(userId, file) === undefined) throw new Error('No such file.');
      },
      write: (n) =>
        new Promise<void>((resolve) => {
          waiting.push({ n, resolve });
          if (waiting.length === 1) setImmediate(drain);
        }),
      'write alone': (n) => applyOne(n),
    },
    close: () => void database.close(),
  };
}

function toWrite(set: NoteSet, n: number) {
  return { ...pickWritten(set, n), content: toNote(1_000_000 + n), revisionId: randomUUID() };
}
