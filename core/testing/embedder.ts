import assert from 'node:assert/strict';
import type { Embedder } from '../contracts/embedder.ts';
import {
  assertRefused,
  CANARY,
  checkProvider,
  type CheckProviderOptions,
  type ProviderCase,
  type ProviderSetup,
  withinLimit,
} from './check-provider.ts';
import type { CaseResult } from './report.ts';

/** Makes the embedders that the suite checks. */
export type EmbedderSetup = ProviderSetup<Embedder>;

/** More texts than a provider takes in one request. */
const MANY = 300;
/** Time limit of an aborted or unreachable call. */
const LIMIT_MS = 20_000;
/** Least cosine of two vectors of one text: models on several graphics cards are not exact. */
const ALIKE = 0.99;

const TEXTS = ['She likes tea.', 'The train to Berlin leaves at noon.', 'Blue is his colour.'];

const ANY_TEXTS = [
  'Grüße aus Zürich, 東京 и Москва',
  '👩‍👩‍👧‍👦 emoji, of several code points each 🏳️‍🌈',
  'line\nline\r\n\ttab',
  ' blanks around ',
  '{"json": ["null", null]}',
  'word '.repeat(200),
  '.',
];

/** Every rule of the contract `Embedder`. */
export const embedderCases: readonly ProviderCase<EmbedderSetup>[] = [
  on('names itself, its model and the length of its vectors', async (embedder) => {
    assert.ok(embedder.name !== '' && typeof embedder.name === 'string');
    assert.ok(embedder.model !== '' && typeof embedder.model === 'string');
    assert.ok(Number.isInteger(embedder.dimensions) && embedder.dimensions > 0);
    await assertWorks(embedder);
  }),

  on('gives each text one vector of its length, of finite numbers', async (embedder) => {
    const vectors = await embedder.embed(TEXTS, {});
    assert.equal(vectors.length, TEXTS.length);
    vectors.forEach((vector) => assertVector(vector, embedder));
  }),

  on('gives vectors in the order of the texts', async (embedder) => {
    const together = await embedder.embed(TEXTS, {});
    for (const [place, text] of TEXTS.entries()) {
      const [alone] = await embedder.embed([text], {});
      const others = together.map((vector) => cosine(vector, alone));
      assert.equal(others.indexOf(Math.max(...others)), place);
      assert.ok(
        (others[place] ?? 0) > ALIKE,
        'A text gets another vector when it is embedded with others.',
      );
    }
  }),

  on('gives the same text the same vector each time, as a copy of its own', async (embedder) => {
    const [first] = await embedder.embed(TEXTS.slice(0, 1), {});
    const before = first?.slice();
    first?.fill(0);
    const [second, third] = await embedder.embed([TEXTS[0] ?? '', TEXTS[0] ?? ''], {});
    assert.ok(cosine(before, second) > ALIKE);
    assert.ok(cosine(second, third) > ALIKE);
    assert.notEqual(second?.buffer === third?.buffer && second?.byteOffset, third?.byteOffset);
  }),

  on('takes texts of any kind', async (embedder) => {
    const vectors = await embedder.embed(ANY_TEXTS, {});
    assert.equal(vectors.length, ANY_TEXTS.length);
    vectors.forEach((vector) => assertVector(vector, embedder));
  }),

  on('takes more texts than fit into one request', async (embedder) => {
    const texts = Array.from({ length: MANY }, (_, n) => `Note ${n} of many.`);
    const vectors = await embedder.embed(texts, {});
    assert.equal(vectors.length, MANY);
    const [last] = await embedder.embed(texts.slice(-1), {});
    assert.ok(cosine(vectors.at(-1), last) > ALIKE);
  }),

  on('gives nothing for no texts', async (embedder) => {
    await assertWorks(embedder);
    assert.deepEqual(await embedder.embed([], {}), []);
  }),

  on('keeps calls apart that come at once, and leaves the texts as they are', async (embedder) => {
    const lists = [TEXTS, [...TEXTS].reverse(), ANY_TEXTS, TEXTS.slice(1)].map((texts) =>
      Object.freeze([...texts]),
    );
    const apart = await Promise.all(lists.map((texts) => embedder.embed(texts, {})));
    for (const [at, texts] of lists.entries()) {
      const alone = await embedder.embed(texts, {});
      assert.equal(apart[at]?.length, texts.length);
      alone.forEach((vector, place) => {
        assert.ok(cosine(vector, apart[at]?.[place]) > ALIKE);
      });
    }
  }),

  on('is not asked by a caller who gave up before', async (embedder) => {
    await assertWorks(embedder);
    const call = embedder.embed([CANARY], { signal: AbortSignal.abort() });
    await withinLimit(assertRefused(call, ['EMBEDDING_FAILED']), LIMIT_MS);
  }),

  on('ends a call that is given up', async (embedder) => {
    await assertWorks(embedder);
    const controller = new AbortController();
    const call = embedder.embed([CANARY], { signal: controller.signal });
    controller.abort();
    await withinLimit(assertRefused(call, ['EMBEDDING_FAILED']), LIMIT_MS);
  }),

  {
    name: 'rejects with EMBEDDING_FAILED when its provider cannot be reached, and repeats no text',
    async run(setup) {
      await assertWorks(await setup.make());
      const embedder = await setup.makeUnreachable();
      const call = embedder.embed([CANARY], {});
      await withinLimit(assertRefused(call, ['EMBEDDING_FAILED']), LIMIT_MS);
    },
  },
];

/**
 * Checks an embedder against every rule of the contract, one after the other. Never rejects because
 * of the embedder: a broken rule is `failed` with its reason.
 *
 * @example
 * import { checkEmbedder, formatResults } from 'memory-service/testing';
 *
 * const results = await checkEmbedder({
 *   make: () => myEmbedder({ url }),
 *   makeUnreachable: () => myEmbedder({ url: 'http://127.0.0.1:9' }),
 * });
 * console.log(formatResults(results));
 */
export async function checkEmbedder(
  setup: EmbedderSetup,
  options: CheckProviderOptions = {},
): Promise<readonly CaseResult[]> {
  return await checkProvider(setup, embedderCases, options);
}

function on(name: string, run: (embedder: Embedder) => Promise<void>): ProviderCase<EmbedderSetup> {
  return { name, run: async (setup) => run(await setup.make()) };
}

/** Otherwise an embedder that refuses every call would pass the rules about refusals. */
async function assertWorks(embedder: Embedder): Promise<void> {
  const [vector] = await embedder.embed(['Does it work?'], {});
  assert.ok(vector instanceof Float32Array, 'A vector is a Float32Array.');
  assert.ok(
    vector.some((value) => value !== 0),
    'A vector is not all zeros.',
  );
}

function assertVector(vector: unknown, { dimensions }: Embedder): void {
  assert.ok(vector instanceof Float32Array, 'A vector is a Float32Array.');
  assert.equal(vector.length, dimensions);
  assert.ok(vector.every(Number.isFinite), 'A vector holds finite numbers.');
  assert.ok(
    vector.some((value) => value !== 0),
    'A vector is not all zeros.',
  );
}

function cosine(left: Float32Array | undefined, right: Float32Array | undefined): number {
  assert.ok(left !== undefined && right !== undefined && left.length === right.length);
  const dot = left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
  return dot / (Math.hypot(...left) * Math.hypot(...right));
}
