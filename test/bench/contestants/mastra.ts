// Mastra's working memory on a libSQL file: markdown that an agent keeps for a user, without vectors.
// Its writes call no fsync: they survive the process and not the machine.

import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { importPeer } from '../support/import-peer.ts';
import { listPlaces, type NoteSet, pickPlace, toNote } from '../support/notes.ts';

interface MastraMemory {
  createThread(thread: { threadId: string; resourceId: string; title: string }): Promise<object>;
  updateWorkingMemory(change: Place & { workingMemory: string }): Promise<void>;
  getWorkingMemory(place: Place): Promise<string | null>;
}

interface Place {
  threadId: string;
  resourceId: string;
}

type MemoryModule = { Memory: new (config: object) => MastraMemory };
type LibsqlModule = { LibSQLStore: new (config: { url: string }) => object };

/** Each note as the working memory of a resource; it has one each, so a write changes one. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const { Memory } = await importPeer<MemoryModule>('@mastra/memory');
  const { LibSQLStore } = await importPeer<LibsqlModule>('@mastra/libsql');
  const memory = new Memory({
    storage: new LibSQLStore({ url: `file:${path.join(directory, 'mastra.db')}` }),
    options: {
      lastMessages: false,
      semanticRecall: false,
      workingMemory: { enabled: true, scope: 'resource' },
    },
  });
  const toMastra = ({ userId, path: file }: { userId: string; path: string }): Place => ({
    threadId: `${userId}/${file}`,
    resourceId: `${userId}/${file}`,
  });
  for (const [seed, place] of listPlaces(set).entries()) {
    const own = toMastra(place);
    await memory.createThread({ ...own, title: 'note' });
    await memory.updateWorkingMemory({ ...own, workingMemory: toNote(seed) });
  }
  return {
    operations: {
      async read(n) {
        const text = await memory.getWorkingMemory(toMastra(pickPlace(set, n)));
        if (text === null || text.length < 100) throw new Error('There is no such memory.');
      },
      write: (n) =>
        memory.updateWorkingMemory({ ...toMastra(pickPlace(set, n)), workingMemory: toNote(n) }),
    },
    close: () => undefined,
  };
};
