import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import type { Storage } from '../../../../core/contracts/storage.ts';
import type {
  EmbeddingModel,
  EmbedTask,
  KnownVectors,
  ListCursor,
  ModelKey,
  ScopeVectors,
  VectorStore,
} from '../../../../core/contracts/vectors.ts';
import { write } from '../../../support/rows.ts';
import { byBytes, onStore, refusal, type StorageCase } from './storage-case.ts';

/** Vectors of passages, lists of passages, and the queue of texts without a vector. */
export function vectorCases(): StorageCase[] {
  return [
    onVectors(
      'knows an embedding model by provider, name and length, each change as another epoch',
      async ({ vectors }) => {
        const one = await vectors.useModel(MODEL);
        assert.deepEqual(await vectors.useModel(MODEL), one);
        assert.equal(one.dimensions, MODEL.dimensions);
        const others = [
          { ...MODEL, provider: 'elsewhere' },
          { ...MODEL, model: 'another' },
          { ...MODEL, model: MODEL.model.toUpperCase() },
          { ...MODEL, dimensions: 4 },
        ];
        const keys = [one];
        for (const model of others) keys.push(await vectors.useModel(model));
        const again = await vectors.useModel(MODEL);
        assert.equal(new Set(keys.map(({ id }) => id)).size, keys.length);
        assert.equal(again.id, one.id);
        const epochs = [...keys, again].map(({ epoch }) => epoch);
        assert.deepEqual(
          epochs,
          [...new Set(epochs)].sort((left, right) => left - right),
        );
      },
    ),

    onVectors(
      'queues each text of a scope once that has no vector, and says whose lists it read',
      async ({ vectors, list }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['tea', 'cup', 'tea']);
        await list('u:alice', 'b', ['tea', 'pot']);
        await list('u:bob', 'a', ['tea']);
        assert.deepEqual(await vectors.countWaiting(key), { files: 3, texts: 0 });
        const scopes = [...(await vectors.enqueue(key, 2)), ...(await vectors.enqueue(key, 9))];
        assert.deepEqual([...new Set(scopes)].sort(byBytes), ['u:alice', 'u:bob']);
        assert.deepEqual(await vectors.enqueue(key, 9), []);
        assert.deepEqual(await vectors.countWaiting(key), { files: 0, texts: 4 });
        const tasks = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        assert.deepEqual(toNames(tasks), [
          'u:alice cup',
          'u:alice pot',
          'u:alice tea',
          'u:bob tea',
        ]);
        await vectors.complete(key, tasks.map(toResult));
        assert.deepEqual(await vectors.countWaiting(key), { files: 0, texts: 0 });
        // A text with a vector is not queued again for another file.
        await list('u:alice', 'c', ['cup', 'kettle']);
        await vectors.enqueue(key, 9);
        assert.deepEqual(toNames(await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS })), [
          'u:alice kettle',
        ]);
      },
    ),

    onVectors(
      'gives a text to one alone of all who ask at once, until its lease ends',
      async ({ vectors, list }) => {
        const key = await vectors.useModel(MODEL);
        const texts = Array.from({ length: 60 }, (_, n) => `text ${n}`);
        await list('u:alice', 'a', texts);
        await vectors.enqueue(key, 9);
        const claims = await Promise.all(
          Array.from({ length: 12 }, () => vectors.claim(key, { limit: 7, leaseMs: LEASE_MS })),
        );
        const names = claims.flatMap(toNames);
        assert.equal(new Set(names).size, names.length, 'A text was given twice.');
        for (const claim of claims) assert.ok(claim.length <= 7);
        while (names.length < texts.length) {
          const more = toNames(await vectors.claim(key, { limit: 7, leaseMs: LEASE_MS }));
          assert.ok(more.length > 0, 'A text was lost.');
          names.push(...more);
        }
        assert.equal(new Set(names).size, texts.length);
        assert.deepEqual(await vectors.claim(key, { limit: 7, leaseMs: LEASE_MS }), []);
      },
    ),

    onVectors(
      'keeps the lease of a text in the database, and gives the text out when it has ended',
      async ({ vectors, list, reopen }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['held', 'left']);
        await vectors.enqueue(key, 9);
        const tasks = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        await vectors.postpone(
          key,
          tasks.filter(({ textHash }) => textHash === hashOf('left')),
          { delayMs: 0, isRefused: false },
        );
        const next = await reopen();
        assert.deepEqual(await next.useModel(MODEL), key);
        assert.deepEqual(toNames(await next.claim(key, { limit: 9, leaseMs: 0 })), [
          'u:alice left',
        ]);
        // A lease of 0 ms has ended, as that of a dead holder does.
        assert.deepEqual(toNames(await next.claim(key, { limit: 9, leaseMs: LEASE_MS })), [
          'u:alice left',
        ]);
        assert.deepEqual(await next.claim(key, { limit: 9, leaseMs: LEASE_MS }), []);
      },
    ),

    onVectors(
      'gives postponed texts out when they are due, and counts those that were refused',
      async ({ vectors, list }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['refused', 'failed', 'later']);
        await vectors.enqueue(key, 9);
        const tasks = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        const only = (text: string) => tasks.filter(({ textHash }) => textHash === hashOf(text));
        const now = { delayMs: 0, isRefused: false };
        await vectors.postpone(key, only('refused'), { ...now, isRefused: true });
        await vectors.postpone(key, only('failed'), now);
        await vectors.postpone(key, only('later'), { delayMs: LEASE_MS, isRefused: true });
        const due = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        const attempts = due.map(({ textHash, attempts: count }) => [textOf(textHash), count]);
        assert.deepEqual(Object.fromEntries(attempts), { refused: 1, failed: 0 });
        // A task that was completed meanwhile does not come back.
        await vectors.complete(key, due.map(toResult));
        await vectors.postpone(key, due, now);
        assert.deepEqual(await vectors.countWaiting(key), { files: 0, texts: 1 });
      },
    ),

    onVectors(
      'shows a search the vectors of its scope and its model, number for number, and of no other',
      async ({ vectors, list, embedAll, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['tea', 'cup', 'tea']);
        await list('u:bob', 'a', ['tea', 'secret']);
        await embedAll(key);
        const seen = await view('u:alice', key);
        assert.deepEqual(
          seen.lists.map(({ fileNo, hashes }) => [fileNo, toTexts(hashes)]),
          [[1, ['tea', 'cup', 'tea']]],
        );
        assert.deepEqual(toNumbers(seen), {
          cup: [...vectorOf('cup', MODEL.dimensions)],
          tea: [...vectorOf('tea', MODEL.dimensions)],
        });
        assert.deepEqual(seen.isWhole, { lists: true, vectors: true });

        // The same length: only the name differs.
        const other = await vectors.useModel({ ...MODEL, model: 'another' });
        assert.deepEqual(toNumbers(await view('u:alice', other)), {});
        assert.deepEqual(await vectors.countWaiting(other), { files: 2, texts: 0 });
        await embedAll(other, -1);
        const tea = toNumbers(await view('u:alice', other))['tea'];
        assert.deepEqual(
          tea,
          [...vectorOf('tea', MODEL.dimensions)].map((value) => -value),
        );
        assert.deepEqual(toNumbers(await view('u:alice', key)), toNumbers(seen));
        assert.deepEqual(toNumbers(await view('u:nobody', key)), {});
      },
    ),

    onVectors(
      'keeps all vectors of a text that was embedded in parts, beside those of one part',
      async ({ vectors, list, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['long', 'short']);
        await vectors.enqueue(key, 9);
        const tasks = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        const parts = { long: ['one', 'two', 'three'], short: ['short'] };
        const join = (text: string) =>
          (parts[text as keyof typeof parts] ?? []).flatMap((part) => [
            ...vectorOf(part, MODEL.dimensions),
          ]);
        await vectors.complete(
          key,
          tasks.map((task) => ({ task, vector: Float32Array.from(join(textOf(task.textHash))) })),
        );
        const expected = { long: join('long'), short: join('short') };
        assert.deepEqual(toNumbers(await view('u:alice', key)), expected);
      },
    ),

    onVectors(
      'tells a search what changed since what it knows, and all when that is not to be known',
      async ({ vectors, list, embedAll, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['tea', 'cup']);
        await embedAll(key);
        const first = await view('u:alice', key);
        const same = await view('u:alice', key, first.known);
        assert.deepEqual([same.lists, toNumbers(same)], [[], {}]);
        assert.deepEqual(same.isWhole, { lists: false, vectors: false });

        await list('u:alice', 'b', ['pot', 'tea']);
        await embedAll(key);
        const next = await view('u:alice', key, first.known);
        assert.deepEqual(
          next.lists.map(({ hashes }) => toTexts(hashes)),
          [['pot', 'tea']],
        );
        assert.deepEqual(Object.keys(toNumbers(next)), ['pot']);
        assert.notEqual(next.vectorGeneration, first.vectorGeneration);

        const ahead = {
          indexGeneration: next.known.indexGeneration + 1,
          vectorGeneration: next.known.vectorGeneration + 1,
        };
        const all = await view('u:alice', key, ahead);
        assert.deepEqual(all.isWhole, { lists: true, vectors: true });
        assert.equal(all.lists.length, 2);
        assert.deepEqual(Object.keys(toNumbers(all)), ['cup', 'pot', 'tea']);
      },
    ),

    onVectors(
      'shows no list of a file’s version before, nor one of a file that is gone',
      async ({ vectors, list, remove, embedAll, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['tea']);
        await list('u:alice', 'b', ['cup']);
        await list('u:alice', 'c', ['pot']);
        await embedAll(key);
        await list('u:alice', 'a', ['tea', 'kettle']);
        // Indexed by an instance without an embedder.
        await list('u:alice', 'b', null);
        await remove('u:alice', 'c');
        const { lists } = await view('u:alice', key);
        assert.deepEqual(
          lists.map(({ hashes }) => toTexts(hashes)),
          [['tea', 'kettle']],
        );
      },
    ),

    onVectors(
      'gives the task of a text that its file no longer has to another file that has it',
      async ({ vectors, list, embedAll, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['moved', 'gone']);
        await vectors.enqueue(key, 9);
        const tasks = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        await list('u:alice', 'a', ['new']);
        await list('u:alice', 'b', ['moved']);
        await list('u:bob', 'a', ['gone']);
        await vectors.complete(
          key,
          tasks.map((task) => ({ task, vector: null })),
        );
        const [left, ...more] = await vectors.claim(key, { limit: 9, leaseMs: LEASE_MS });
        assert.deepEqual(more, []);
        assert.deepEqual([left?.scope, left?.textHash], ['u:alice', hashOf('moved')]);
        assert.notEqual(left?.fileNo, tasks[0]?.fileNo);
        await vectors.complete(key, left === undefined ? [] : [toResult(left)]);
        await embedAll(key);
        assert.deepEqual(Object.keys(toNumbers(await view('u:alice', key))), ['moved', 'new']);
      },
    ),

    onVectors(
      'sweeps the vectors of texts that no file of the scope has, in that scope alone',
      async ({ vectors, list, remove, embedAll, view }) => {
        const key = await vectors.useModel(MODEL);
        await list('u:alice', 'a', ['kept', 'dropped']);
        await list('u:alice', 'b', ['kept', 'removed']);
        await list('u:bob', 'a', ['dropped', 'removed']);
        await embedAll(key);
        assert.equal(await vectors.sweep('u:alice'), 0);
        await list('u:alice', 'a', ['kept']);
        await remove('u:alice', 'b');
        assert.equal(await vectors.sweep('u:alice'), 2);
        assert.equal(await vectors.sweep('u:alice'), 0);
        assert.deepEqual(Object.keys(toNumbers(await view('u:alice', key))), ['kept']);
        assert.deepEqual(Object.keys(toNumbers(await view('u:bob', key))), ['dropped', 'removed']);
      },
    ),

    onVectors(
      'drops the vectors of all models, and queues each text again',
      async ({ vectors, list, embedAll, view }) => {
        const before = await vectors.useModel({ ...MODEL, model: 'before' });
        await list('u:alice', 'a', ['tea', 'cup']);
        await list('u:bob', 'a', ['tea']);
        await embedAll(before);
        const key = await vectors.useModel(MODEL);
        await embedAll(key);
        await list('u:alice', 'b', ['waiting']);
        await vectors.enqueue(key, 9);
        const { known } = await view('u:alice', key);
        await vectors.dropAll();
        for (const model of [before, key]) {
          assert.deepEqual(toNumbers(await view('u:alice', model)), {});
        }
        // A search that comes before the texts are embedded again, and one that comes later.
        const { isWhole } = await view('u:alice', key, known);
        assert.equal(isWhole.vectors, true, 'A search would keep dropped vectors.');
        assert.deepEqual(await vectors.countWaiting(key), { files: 3, texts: 0 });
        await embedAll(key);
        assert.deepEqual(Object.keys(toNumbers(await view('u:alice', key))), [
          'cup',
          'tea',
          'waiting',
        ]);
        const later = await view('u:alice', key, known);
        assert.equal(later.isWhole.vectors, true, 'A search would keep dropped vectors.');
        assert.equal(later.vectors.length, 3);
      },
    ),

    onVectors(
      'marks indexed files without a list of their version as stale, page by page',
      async ({ storage, vectors, list }) => {
        await list('u:alice', 'a', null);
        await list('u:alice', 'b', ['listed']);
        await list('u:bob', 'a', null);
        await list('u:bob', 'b', ['listed', 'before']);
        await list('u:bob', 'b', null);
        assert.equal(await storage.files.countBehind(), 0);
        let marked = 0;
        let after: ListCursor = null;
        for (let pages = 0; ; pages += 1) {
          assert.ok(pages < 9, 'The walk does not end.');
          const page: Awaited<ReturnType<VectorStore['markUnlisted']>> = await vectors.markUnlisted(
            after,
            1,
          );
          marked += page.marked;
          if (page.next === null) break;
          after = page.next;
        }
        assert.equal(marked, 3);
        const tasks = await storage.index.listStale(9);
        assert.deepEqual(tasks.map(({ scope, fileNo }) => `${scope} ${fileNo}`).sort(byBytes), [
          'u:alice 1',
          'u:bob 1',
          'u:bob 2',
        ]);
      },
    ),

    onVectors('refuses vectors of a scope that is none', async ({ vectors, view }) => {
      const key = await vectors.useModel(MODEL);
      for (const scope of ['', 'alice', 'u:', 'u:../bob', 'u:a b', 's2'] as ScopeKey[]) {
        const task = { scope, textHash: hashOf('tea'), fileNo: 1, attempts: 0 };
        const refusals = [
          await refusal(vectors.sweep(scope)),
          await refusal(vectors.complete(key, [toResult(task)])),
          await refusal(view(scope, key)),
        ];
        for (const { code } of refusals) assert.match(code, /^INVALID_(?:USER_ID|PATH)$/);
      }
    }),
  ];
}

const MODEL: EmbeddingModel = { provider: 'test', model: 'small', dimensions: 3 };
/** Longer than any case runs. */
const LEASE_MS = 3_600_000;

/** The storage of a case, with helpers. */
interface VectorBench {
  storage: Storage;
  vectors: VectorStore;
  /** Writes a file and indexes it with the list of its passages; `null`: without a list. */
  list(scope: ScopeKey, path: string, texts: readonly string[] | null): Promise<void>;
  /** Deletes a file and removes it from the index. */
  remove(scope: ScopeKey, path: string): Promise<void>;
  /** Stores a vector for every text, multiplied by `sign`. */
  embedAll(key: ModelKey, sign?: number): Promise<void>;
  /** What a search reads, and `known` for its next read. */
  view(
    scope: ScopeKey,
    key: ModelKey,
    known?: KnownVectors,
  ): Promise<ScopeVectors & { known: KnownVectors }>;
  /** Closes the storage and opens another one on the same data. */
  reopen(): Promise<VectorStore>;
}

function onVectors(name: string, run: (bench: VectorBench) => Promise<void>): StorageCase {
  return onStore('vectors', name, async (vectors, { storage, open }) => {
    await run({
      storage,
      vectors,
      list: (scope, path, texts) => index(storage, scope, path, texts),
      async remove(scope, path) {
        await write(storage, { scope, path }, null);
        const tasks = await storage.index.listStale(9);
        const removed = tasks.map(({ fileNo }) => fileNo);
        await storage.index.add(scope, { ...SEGMENT, marks: tasks, passages: [], removed });
      },
      async embedAll(key, sign = 1) {
        await vectors.enqueue(key, 99);
        for (let rounds = 0; ; rounds += 1) {
          assert.ok(rounds < 99, 'The queue does not end.');
          const tasks = await vectors.claim(key, { limit: 5, leaseMs: LEASE_MS });
          if (tasks.length === 0) return;
          await vectors.complete(
            key,
            tasks.map((task) => {
              const { vector } = toResult(task);
              return { task, vector: vector.map((value) => sign * value) };
            }),
          );
        }
      },
      view: (scope, key, known) => look(storage, scope, key, known ?? null),
      async reopen() {
        await storage.close();
        return (await open(storage)).vectors ?? assert.fail('The reopened storage has no vectors.');
      },
    });
  });
}

async function index(
  storage: Storage,
  scope: ScopeKey,
  path: string,
  texts: readonly string[] | null,
): Promise<void> {
  const { version } = await write(storage, { scope, path }, `${path} ${texts?.join() ?? ''}`);
  const [task] = (await storage.index.listStale(9)).filter((each) => each.scope === scope);
  if (task === undefined) assert.fail('A written file is not stale.');
  assert.equal(task.version, version);
  const { fileNo } = task;
  const passages = texts === null ? [] : [{ fileNo, version, hashes: toHashes(texts) }];
  await storage.index.add(scope, { ...SEGMENT, marks: [task], passages, removed: [] });
}

/** Vectors do not look into it. */
const SEGMENT = { format: 1, files: 1, head: Buffer.from('head'), blocks: [] };

async function look(
  storage: Storage,
  scope: ScopeKey,
  key: ModelKey,
  known: KnownVectors | null,
): Promise<ScopeVectors & { known: KnownVectors }> {
  return await storage.index.snapshot(async (view) => {
    const [opened] = await view.open(isOpenable(scope) ? [scope] : []);
    const indexGeneration = opened?.state.generation ?? 0;
    const read = await view.vectors?.(scope, { model: key, indexGeneration, known });
    if (read === undefined)
      assert.fail('The storage has vectors, but its snapshots have no vectors().');
    const { vectorGeneration } = read;
    return { ...read, known: { indexGeneration, vectorGeneration } };
  });
}

/** `open` must not refuse before `vectors` does. */
function isOpenable(scope: ScopeKey): boolean {
  return scope === 's' || /^u:[a-z]+$/.test(scope);
}

const textsByHash = new Map<string, string>();

function hashOf(text: string): string {
  const hash = createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 32);
  textsByHash.set(hash, text);
  return hash;
}

function textOf(hash: string): string {
  return textsByHash.get(hash) ?? hash;
}

function toHashes(texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.map(hashOf).join(''), 'hex');
}

function toTexts(hashes: Uint8Array): string[] {
  const hex = Buffer.from(hashes).toString('hex');
  return Array.from({ length: hex.length / 32 }, (_, at) =>
    textOf(hex.slice(at * 32, (at + 1) * 32)),
  );
}

/** Numbers of different magnitudes, one negative: shows rounding and wrong byte order. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const seed = Buffer.from(hashOf(text), 'hex');
  return Float32Array.from(
    { length: dimensions },
    (_, at) => ((seed[at] ?? 0) + 1 / 3) * (at === 1 ? -1e-7 : 1e-3),
  );
}

function toResult(task: EmbedTask): { task: EmbedTask; vector: Float32Array } {
  return { task, vector: vectorOf(textOf(task.textHash), MODEL.dimensions) };
}

function toNames(tasks: readonly EmbedTask[]): string[] {
  return tasks.map(({ scope, textHash }) => `${scope} ${textOf(textHash)}`).sort(byBytes);
}

/** Vectors by text, sorted. */
function toNumbers({ vectors }: ScopeVectors): Record<string, number[]> {
  const entries = vectors.map(({ textHash, vector }): [string, number[]] => [
    textOf(textHash),
    [...vector],
  ]);
  return Object.fromEntries(entries.sort(([left], [right]) => byBytes(left, right)));
}
