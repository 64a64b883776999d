import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Embedder } from '../../../../core/contracts/embedder.ts';
import type { Storage } from '../../../../core/contracts/storage.ts';
import type { Core } from '../../../../core/service.ts';
import { openai } from '../../../../plugins/embedder-openai/index.ts';
import { sharedMariadb } from '../../../support/mariadb.ts';
import { createDatabase } from '../../../support/mariadb-server.ts';
import { embedWords } from '../../../support/provider-server/embed.ts';
import { EMBEDDINGS, TRANSPORT } from '../../../support/provider-server/misbehaviour.ts';
import { startProviderServer } from '../../../support/provider-server/server.ts';
import { call, openCore, temporaryDatabase } from '../../../support/service.ts';
import { mysql, sqlite } from '../../../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const WRITES = isRelease ? 10_000 : 100;
const SWITCHES = isRelease ? 300 : 2;
const DIMENSIONS = 16;
/** By default a test has three minutes. */
const LONG = isRelease ? { timeout: 1_800_000 } : {};

interface Found {
  mode: string;
  degraded?: string;
  results: { path: string; signals?: Record<string, number> }[];
}

const find = async (core: Core, query: string, more: object = {}) =>
  (await call<Found>(core, 'ann', 'memory_find', { query, ...more })).result;

/** The same data again, each time it is opened. */
async function onSqlite(): Promise<() => Storage> {
  const filename = await temporaryDatabase();
  return () => sqlite({ filename, synchronous: 'normal' });
}

async function onMariadb(): Promise<() => Storage> {
  const url = await createDatabase(await sharedMariadb());
  return () => mysql({ url });
}

describe.each([
  ['SQLite', onSqlite],
  ['MariaDB', onMariadb],
])('on %s, an embedder that fails or changes', (_, openings) => {
  it(
    `fails none of ${WRITES} writes during an outage; finds go by the words, and the queue drains later (F12)`,
    LONG,
    async () => {
      const server = await startProviderServer({ dimensions: DIMENSIONS });
      onTestFinished(() => server.close());
      const openStorage = await openings();
      let isDown = false;
      const open = () => {
        const waiting = (timeoutMs: number) =>
          openai({
            baseUrl: server.baseUrl,
            name: 'words',
            dimensions: DIMENSIONS,
            timeoutMs,
            maxRetries: 0,
          });
        const [patient, hasty] = [waiting(60_000), waiting(100)];
        const embedder: Embedder = {
          ...patient,
          embed: (...args) => (isDown ? hasty : patient).embed(...args),
        };
        const limits = { maxFilesPerUser: WRITES };
        return openCore({ storage: openStorage(), limits, embedder });
      };
      const core = await open();
      const [from, to] = [WRITES / 5, (WRITES * 4) / 5];
      const ways = [...TRANSPORT, ...EMBEDDINGS];
      let asked = 0;
      for (let n = 0; n < WRITES; n += 1) {
        if (n === from) {
          // Each request fails in the next of all the ways to misbehave.
          isDown = true;
          server.always((exchange) => ways[asked++ % ways.length]?.behave(exchange));
        }
        if (n === to) {
          const found = await find(core, `note ${n} tea`);
          expect(found).toMatchObject({
            mode: 'text',
            degraded: expect.stringMatching(/embedder/),
          });
          expect(found.results.length).toBeGreaterThan(0);
        }
        const args = { path: `user/${n}.md`, content: `Note ${n} on tea.\n` };
        await call(core, 'ann', 'memory_write', args);
      }
      expect(asked).toBeGreaterThan(0);
      await core.close();

      // Back again, for a service that knows nothing of what failed.
      isDown = false;
      server.always(null);
      const next = await open();
      await next.indexer.drain();
      while ((await next.embeddings?.progress())?.state !== 'idle') await next.embeddings?.drain();
      expect(await next.embeddings?.progress()).toMatchObject({ filesWaiting: 0, textsWaiting: 0 });
      expect(await find(next, 'tea')).toMatchObject({ mode: 'hybrid' });
      // Not one without its vector, and none but its own.
      const own = await find(next, 'Note 7 on tea.', { limit: 50, explain: true });
      const last = `Note ${to - 1} on tea.`;
      const late = await find(next, last, { explain: true });
      for (const { results } of [own, late])
        expect(results[0]?.signals).toHaveProperty('similarity');
      expect(late.results[0]?.path).toBe(`user/${to - 1}.md`);
      expect(late.results[0]?.signals?.['similarity']).toBeCloseTo(1, 4);
    },
  );

  it(
    'never compares vectors of two models, and keeps none that is not one, whatever models follow each other (T29)',
    LONG,
    async () => {
      const openStorage = await openings();
      const texts = [
        'She drinks tea.',
        'He has a dog.',
        'They live in Oslo.',
        'The colour is blue.',
      ];
      /** The same words with every model, each in directions of its own. */
      const vectorOf = (model: number, text: string, dimensions: number): Float32Array => {
        const words = embedWords(`model${model} ${text}`, dimensions);
        return Float32Array.from(words, (value, at) => value * ((at + model) % 2 === 0 ? 1 : -1));
      };
      const spoil = {
        none: (vector: Float32Array) => vector,
        'not a number': (vector: Float32Array) => vector.fill(Number.NaN, 1, 2),
        endless: (vector: Float32Array) => vector.fill(Number.POSITIVE_INFINITY, 0, 1),
        zeros: (vector: Float32Array) => vector.fill(0),
        'too short': (vector: Float32Array) => vector.subarray(1),
      };
      const kind = fc.constantFrom(...(Object.keys(spoil) as (keyof typeof spoil)[]));
      const step = fc.record({ model: fc.nat(2), dimensions: fc.constantFrom(8, 12), kind });
      const sequence = fc.array(step, { minLength: SWITCHES, maxLength: SWITCHES });
      const [steps] = fc.sample(sequence, { numRuns: 1, seed: 29 });
      // Each kind is seen, whatever was drawn.
      const every = Object.keys(spoil).map((name) => ({
        model: 0,
        dimensions: 8,
        kind: name as keyof typeof spoil,
      }));
      for (const [at, { model, dimensions, kind: spoilt }] of [
        ...every,
        ...(steps ?? []),
      ].entries()) {
        const embedder: Embedder = {
          name: 'test',
          model: `model${model}`,
          dimensions,
          embed: async (given) =>
            given.map((text) => {
              const vector = vectorOf(model, text, dimensions);
              return text.includes('dog') ? spoil[spoilt](vector) : vector;
            }),
        };
        const core = await openCore({ storage: openStorage(), embedder });
        if (at < texts.length) {
          await call(core, 'ann', 'memory_write', {
            path: `user/${at}.md`,
            content: `${texts[at]}\n`,
          });
        }
        await core.indexer.drain();
        await core.embeddings?.drain().catch(() => undefined);
        for (const text of texts.slice(0, at + 1).filter((one) => !one.includes('dog'))) {
          const { results } = await find(core, text, { explain: true });
          for (const { path: file, signals } of results) {
            if (signals?.['similarity'] === undefined) continue;
            const own = texts[Number(file.slice('user/'.length, -'.md'.length))] ?? '';
            const expected = cosine(
              vectorOf(model, text, dimensions),
              vectorOf(model, own, dimensions),
            );
            expect(signals['similarity'], `step ${at}: ${text} and ${own}`).toBeCloseTo(
              expected,
              4,
            );
          }
        }
        await core.close();
      }
    },
  );
});

function cosine(left: Float32Array, right: Float32Array): number {
  const dot = left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
  return dot / (Math.hypot(...left) * Math.hypot(...right));
}
