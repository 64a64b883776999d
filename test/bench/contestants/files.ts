// A directory of files, synced one by one, and grep.

import { execFile } from 'node:child_process';
import { mkdir, open as openFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { OpenContestant } from '../support/contestant.ts';
import {
  listPlaces,
  type NoteSet,
  pickPlace,
  pickQuery,
  pickWritten,
  toNote,
} from '../support/notes.ts';

const run = promisify(execFile);
const GREP_OUTPUT = 64 * 2 ** 20;

/** Notes as files in a directory for each user. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const root = path.join(directory, 'users');
  for (const { userId } of listPlaces({ users: set.users, notes: 1 })) {
    await mkdir(path.join(root, userId, 'notes'), { recursive: true });
  }
  for (const [seed, { userId, path: file }] of listPlaces(set).entries()) {
    await writeFile(path.join(root, userId, file), toNote(seed));
  }

  /** Files with either word, as a list of names. */
  async function grep(folder: string, query: string): Promise<void> {
    const words = query.split(' ').flatMap((word) => ['-e', word]);
    try {
      await run('grep', ['-r', '-l', '-i', '-w', '-F', ...words, folder], {
        maxBuffer: GREP_OUTPUT,
      });
    } catch (error) {
      // Exit code 1: no file has them.
      if ((error as { code?: unknown }).code !== 1) throw error;
    }
  }

  return {
    operations: {
      async read(n) {
        const { userId, path: file } = pickPlace(set, n);
        await readFile(path.join(root, userId, file), 'utf8');
      },
      async write(n) {
        const { userId, path: file } = pickWritten(set, n);
        const handle = await openFile(path.join(root, userId, file), 'w');
        await handle.writeFile(toNote(n));
        await handle.sync();
        await handle.close();
      },
      search: (n) => grep(root, pickQuery(n)),
      'search own folder': (n) => grep(path.join(root, pickPlace(set, n).userId), pickQuery(n)),
    },
    close: () => undefined,
  };
};
