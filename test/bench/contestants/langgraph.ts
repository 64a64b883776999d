// LangGraph's InMemoryStore: keeps nothing, so it says what keeping costs.

import type { OpenContestant } from '../support/contestant.ts';
import { importPeer } from '../support/import-peer.ts';
import { listPlaces, type NoteSet, pickPlace, pickQuery, toNote } from '../support/notes.ts';
import { DIMENSIONS, embeddings } from '../support/stub-embedder.ts';

interface Store {
  put(namespace: string[], key: string, value: object): Promise<void>;
  get(namespace: string[], key: string): Promise<object | null>;
  search(namespace: string[], options: { query: string; limit: number }): Promise<object[]>;
}

type Module = { InMemoryStore: new (options: object) => Store };

/** Notes as items in a namespace for each user. */
export const open: OpenContestant<{ set: NoteSet; vectors: boolean }> = async ({
  set,
  vectors,
}) => {
  const { InMemoryStore } = await importPeer<Module>('@langchain/langgraph');
  const index = { dims: DIMENSIONS, embeddings, fields: ['content'] };
  const store = new InMemoryStore(vectors ? { index } : {});
  for (const [seed, { userId, path }] of listPlaces(set).entries()) {
    await store.put([userId], path, { content: toNote(seed) });
  }
  return {
    operations: {
      async read(n) {
        const { userId, path } = pickPlace(set, n);
        if ((await store.get([userId], path)) === null) throw new Error('There is no such item.');
      },
      write: (n) => {
        const { userId, path } = pickPlace(set, n);
        return store.put([userId], n % 2 === 0 ? `new-${n}` : path, { content: toNote(n) });
      },
      ...(vectors && {
        search: (n: number) =>
          store.search([pickPlace(set, n).userId], { query: pickQuery(n), limit: 10 }),
      }),
    },
    close: () => undefined,
  };
};
