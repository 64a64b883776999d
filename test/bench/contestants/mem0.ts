// mem0's open-source memory without inference: its own store, and a stub in place of its embedder.

import path from 'node:path';
import type { OpenContestant } from '../support/contestant.ts';
import { importPeer } from '../support/import-peer.ts';
import { listPlaces, type NoteSet, pickPlace, pickQuery, toNote } from '../support/notes.ts';
import { DIMENSIONS, embeddings } from '../support/stub-embedder.ts';

interface Mem0 {
  add(
    messages: { role: string; content: string }[],
    options: { userId: string; infer: false },
  ): Promise<{ results: { id: string }[] }>;
  get(id: string): Promise<object | null>;
  search(
    query: string,
    options: { filters: { user_id: string }; topK: number },
  ): Promise<{ results: object[] }>;
}

type Module = { Memory: new (config: object) => Mem0 };

/** Notes as memories of their users. */
export const open: OpenContestant<{ set: NoteSet }> = async ({ set, directory }) => {
  const { Memory } = await importPeer<Module>('mem0ai/oss');
  const memory = new Memory({
    embedder: { provider: 'langchain', config: { model: embeddings } },
    llm: { provider: 'langchain', config: { model: { invoke: () => Promise.resolve('') } } },
    vectorStore: {
      provider: 'memory',
      config: {
        collectionName: 'bench',
        dimension: DIMENSIONS,
        dbPath: path.join(directory, 'vectors.db'),
      },
    },
    historyDbPath: path.join(directory, 'history.db'),
  });
  const add = async (userId: string, content: string): Promise<string> => {
    const { results } = await memory.add([{ role: 'user', content }], { userId, infer: false });
    const id = results[0]?.id;
    if (id === undefined) throw new Error('Nothing was added.');
    return id;
  };
  const ids: string[] = [];
  for (const [seed, { userId }] of listPlaces(set).entries()) {
    ids.push(await add(userId, toNote(seed)));
  }
  return {
    operations: {
      async read(n) {
        const id = ids[(Math.imul(n + 1, 0x9e3779b1) >>> 0) % ids.length] ?? '';
        if ((await memory.get(id)) === null) throw new Error('There is no such memory.');
      },
      write: (n) => add(pickPlace(set, n).userId, toNote(n)),
      search: (n) =>
        memory.search(pickQuery(n), { filters: { user_id: pickPlace(set, n).userId }, topK: 10 }),
    },
    close: () => undefined,
  };
};
