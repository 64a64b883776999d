import type { IndexView, Storage } from '../../../core/contracts/storage.ts';
import type {
  EmbedTask,
  PassageList,
  ScopeVectors,
  VectorStore,
} from '../../../core/contracts/vectors.ts';
import type { BrokenStorage } from './broken-storages.ts';

/** Bugs of drivers that keep vectors, each found by one case alone. */
export const brokenVectorStorages: readonly BrokenStorage[] = [
  {
    bug: 'tells embedding models apart by their names alone',
    breaks: 'knows an embedding model by provider, name and length, each change as another epoch',
    wrap: withVectors((good) => {
      const kept = new Map<string, number>();
      return {
        async useModel(model) {
          const key = await good.useModel(model);
          const id = kept.get(model.model) ?? key.id;
          kept.set(model.model, id);
          return { ...key, id };
        },
      };
    }),
  },
  {
    bug: 'names the first of the scopes alone whose lists it read',
    breaks: 'queues each text of a scope once that has no vector, and says whose lists it read',
    wrap: withVectors((good) => ({
      enqueue: async (key) => (await good.enqueue(key, 1_000)).slice(0, 1),
    })),
  },
  {
    bug: 'looks for due texts first, and takes them then',
    breaks: 'gives a text to one alone of all who ask at once, until its lease ends',
    wrap: withVectors((good) => {
      let looking: Promise<readonly EmbedTask[]> | null = null;
      return {
        // Who comes while another one is looking sees the same.
        async claim(key, options) {
          looking ??= good.claim(key, options);
          try {
            return await looking;
          } finally {
            looking = null;
          }
        },
      };
    }),
  },
  {
    bug: 'keeps leases in memory',
    breaks: 'keeps the lease of a text in the database, and gives the text out when it has ended',
    wrap: withVectors((good) => {
      const held = new Set<string>();
      return {
        async claim(key, { limit }) {
          const due = await good.claim(key, { limit: 1_000, leaseMs: 0 });
          const free = due.filter((task) => !held.has(toName(task))).slice(0, limit);
          free.forEach((task) => held.add(toName(task)));
          return free;
        },
        async postpone(key, tasks, options) {
          tasks.forEach((task) => held.delete(toName(task)));
          await good.postpone(key, tasks, options);
        },
        async complete(key, results) {
          results.forEach(({ task }) => held.delete(toName(task)));
          await good.complete(key, results);
        },
      };
    }),
  },
  {
    bug: 'counts each text that is given back as refused',
    breaks: 'gives postponed texts out when they are due, and counts those that were refused',
    wrap: withVectors((good) => ({
      postpone: (key, tasks, options) => good.postpone(key, tasks, { ...options, isRefused: true }),
    })),
  },
  {
    bug: 'keeps half of the digits of a number',
    breaks:
      'shows a search the vectors of its scope and its model, number for number, and of no other',
    wrap: withVectors((good) => ({
      complete: (key, results) =>
        good.complete(
          key,
          results.map(({ task, vector }) => ({
            task,
            vector: vector?.map((value) => Math.round(value * 1e6) / 1e6) ?? null,
          })),
        ),
    })),
  },
  {
    bug: 'keeps as many numbers of a text as the model has dimensions',
    breaks: 'keeps all vectors of a text that was embedded in parts, beside those of one part',
    wrap: withVectors((good) => ({
      complete: (key, results) =>
        good.complete(
          key,
          results.map(({ task, vector }) => ({
            task,
            vector: vector?.slice(0, key.dimensions) ?? null,
          })),
        ),
    })),
  },
  {
    bug: 'takes any generation that it does not have for an older one',
    breaks: 'tells a search what changed since what it knows, and all when that is not to be known',
    wrap: withVectorView((view) => ({
      async vectors(scope, options) {
        const { known } = options;
        const read = await see(view, scope, options);
        const isWhole = { lists: known === null, vectors: known === null };
        return { ...read, isWhole };
      },
    })),
  },
  {
    bug: 'shows the last list that a file had, whatever became of the file',
    breaks: 'shows no list of a file’s version before, nor one of a file that is gone',
    wrap(good) {
      const lists = new Map<string, PassageList[]>();
      const broken = withVectorView((view) => ({
        async vectors(scope, options) {
          const { known } = options;
          const read = await see(view, scope, options);
          const listed = new Set(read.lists.map(({ fileNo }) => fileNo));
          const had = known === null ? (lists.get(scope) ?? []) : [];
          return {
            ...read,
            lists: [...read.lists, ...had.filter((one) => !listed.has(one.fileNo))],
          };
        },
      }))(good, new Map());
      return {
        index: {
          ...good.index,
          ...broken.index,
          update: (scope, files, change) =>
            good.index.update(scope, files, async (current) => {
              const changes = await change(current);
              for (const { fileNo, passages: hashes } of changes?.entries ?? []) {
                if (hashes === undefined) continue;
                lists.set(scope, [...(lists.get(scope) ?? []), { fileNo, hashes }]);
              }
              return changes;
            }),
        },
      };
    },
  },
  {
    bug: 'drops the task of a text with the file that had it',
    breaks: 'gives the task of a text that its file no longer has to another file that has it',
    wrap: withVectors((good) => ({
      async complete(key, results) {
        await good.complete(key, results);
        const gone = results.filter(({ vector }) => vector === null);
        if (gone.length === 0) return;
        const left = await good.claim(key, { limit: 1_000, leaseMs: 0 });
        const names = new Set(gone.map(({ task }) => toName(task)));
        for (const task of left.filter((one) => names.has(toName(one)))) {
          await good.complete(key, [{ task, vector: new Float32Array(key.dimensions).fill(1) }]);
        }
      },
    })),
  },
  {
    bug: 'counts what it sweeps, and sweeps nothing',
    breaks: 'sweeps the vectors of texts that no file of the scope has, in that scope alone',
    wrap: withVectors((good) => ({
      sweep: (scope) => (/^u:[a-z]+$/.test(scope) ? Promise.resolve(0) : good.sweep(scope)),
    })),
  },
  {
    bug: 'drops the vectors, and leaves the lists as done',
    breaks: 'drops the vectors of all models, and queues each text again',
    wrap: withVectors((good) => {
      let isDropped = false;
      return {
        async dropAll() {
          await good.dropAll();
          isDropped = true;
        },
        enqueue: (key, limit) => (isDropped ? Promise.resolve([]) : good.enqueue(key, limit)),
      };
    }),
  },
  {
    bug: 'ends the walk with the first page',
    breaks: 'marks indexed files without a list of their version as stale, page by page',
    wrap: withVectors((good) => ({
      async markUnlisted(after, limit) {
        return { ...(await good.markUnlisted(after, limit)), next: null };
      },
    })),
  },
  {
    bug: 'sweeps whatever it is called with',
    breaks: 'refuses vectors of a scope that is none',
    wrap: withVectors((good) => ({ sweep: (scope) => good.sweep(scope).catch(() => 0) })),
  },
];

function toName({ scope, textHash }: EmbedTask): string {
  return `${scope} ${textHash}`;
}

async function see(
  view: IndexView,
  ...request: Parameters<NonNullable<IndexView['vectors']>>
): Promise<ScopeVectors> {
  const read = await view.vectors?.(...request);
  if (read === undefined) throw new Error('The good driver keeps vectors.');
  return read;
}

function withVectors(change: (good: VectorStore) => Partial<VectorStore>): BrokenStorage['wrap'] {
  return (good) => {
    const { vectors } = good;
    if (vectors === undefined) throw new Error('The good driver keeps vectors.');
    return { vectors: { ...vectors, ...change(vectors) } };
  };
}

function withVectorView(change: (view: IndexView) => Partial<IndexView>): BrokenStorage['wrap'] {
  return (good: Storage) => ({
    index: {
      ...good.index,
      snapshot: (read) => good.index.snapshot((view) => read({ ...view, ...change(view) })),
    },
  });
}
