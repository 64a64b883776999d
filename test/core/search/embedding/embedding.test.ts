import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, beforeEach, describe, expect, it } from 'vitest';
import type { Embedder } from '../../../../core/contracts/embedder.ts';
import type { CoreConfig } from '../../../../core/service.ts';
import { MemoryError } from '../../../../core/errors.ts';
import type { Core } from '../../../../core/service.ts';
import { openai } from '../../../../plugins/embedder-openai/index.ts';
import { skipTime, stopClock } from '../../../support/clock.ts';
import { embedMeaning, embedWords, isSample } from '../../../support/provider-server/embed.ts';
import { EMBEDDINGS, TRANSPORT } from '../../../support/provider-server/misbehaviour.ts';
import {
  type Behaviour,
  type ProviderServer,
  type ProviderServerOptions,
  startProviderServer,
} from '../../../support/provider-server/server.ts';
import { call, openCore } from '../../../support/service.ts';
import { makeDatabase, openDatabase } from '../../../support/tables.ts';

let server: ProviderServer;
async function start(options: ProviderServerOptions = {}): Promise<void> {
  const own = await startProviderServer({ embed: embedMeaning, ...options });
  onTestFinished(async () => {
    await own.close();
    expect(own.violations).toEqual([]);
  });
  server = own;
}

const embedder = (name = 'meaning', dimensions = 8) =>
  openai({ baseUrl: server.baseUrl, name, dimensions, retryDelayMs: 1, maxRetries: 0 });

async function write(core: Core, userId: string, file: string, content: string): Promise<void> {
  await call(core, userId, 'memory_write', { path: `user/${file}`, content });
}

interface Found {
  mode: string;
  degraded?: string;
  results: { path: string; score: number; snippet: string; signals?: Record<string, number> }[];
}

async function find(core: Core, userId: string, query: string, more: object = {}): Promise<Found> {
  return (await call<Found>(core, userId, 'memory_find', { query, ...more })).result;
}

const embed = async (core: Core): Promise<void> => {
  await core.indexer.drain();
  await core.embeddings?.drain();
};

/** The worker in the background may have come first. */
async function untilFailed(core: Core): Promise<void> {
  do await embed(core).catch(() => undefined);
  while ((await core.embeddings?.progress())?.failures === 0);
}

/** The requests for passages and questions, each with these texts alone: without the samples. */
const sent = () =>
  server.received
    .map(({ body }) => ({
      model: body.model as string,
      texts: (body.input as string[]).filter((text) => !isSample(text)),
    }))
    .filter(({ texts }) => texts.length > 0);
const textsSent = (): string[] => sent().flatMap(({ texts }) => texts);

/** Opens services one after the other, or beside each other, on one database. */
async function makeOpener(): Promise<(config: Partial<CoreConfig>) => Promise<Core>> {
  const database = await makeDatabase();
  return (config) => openCore({ storage: openDatabase(database), ...config });
}

beforeEach(() => start());

describe('passages get their vectors behind the writes', () => {
  it('and are then found by what they mean', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'profile.md', '# Ann\n\nShe likes coffee.\n');
    await write(core, 'ann', 'home.md', 'The puppy sleeps a lot.\n');
    await embed(core);
    const found = await find(core, 'ann', 'beverage', { explain: true });
    expect(found.mode).toBe('hybrid');
    expect(found.degraded).toBeUndefined();
    expect(found.results[0]).toMatchObject({ path: 'user/profile.md' });
    expect(found.results[0]?.signals).toMatchObject({ vectorRank: 1 });
    expect(found.results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    expect(found.results[0]?.signals).not.toHaveProperty('textRank');
  });

  it('with the places in both rankings explained', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await write(core, 'ann', 'b.md', 'He likes coffee.\n');
    await embed(core);
    const { results } = await find(core, 'ann', 'tea', { explain: true });
    expect(results.map(({ path: file }) => file)).toEqual(['user/a.md', 'user/b.md']);
    expect(results[0]?.signals).toMatchObject({ textRank: 1, vectorRank: 1, matched: 1 });
    expect(results[1]?.signals).toMatchObject({ vectorRank: 2, textPart: 0 });
    for (const { score, signals = {} } of results) {
      const { textPart = NaN, vectorPart = NaN, agreement, zScore } = signals;
      expect(textPart + vectorPart).toBeCloseTo(score, 12);
      expect(agreement).toBeGreaterThan(0);
      expect(zScore).toBeTypeOf('number');
    }
  });

  it('and a search by words has the same scores with an embedder as without one', async () => {
    const [plain, hybrid] = [await openCore(), await openCore({ embedder: embedder() })];
    const answers: unknown[] = [];
    for (const core of [plain, hybrid]) {
      await write(core, 'ann', 'a.md', 'She drinks tea.\n\nTea is green.\n');
      await write(core, 'ann', 'b.md', 'He likes coffee and green tea.\n');
      await embed(core);
      const { results } = await find(core, 'ann', 'green tea', { mode: 'text', explain: true });
      answers.push(results.map(({ path: file, signals }) => ({ file, signals })));
    }
    expect(answers[1]).toEqual(answers[0]);
  });

  it('by text: what moves, or stands in two files, is embedded once', async () => {
    const core = await openCore({ embedder: embedder(), tools: { move: true } });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await write(core, 'ann', 'b.md', 'She drinks tea.\n');
    await embed(core);
    await call(core, 'ann', 'memory_move', { from: 'user/a.md', to: 'user/c.md' });
    await embed(core);
    expect(textsSent()).toEqual(['She drinks tea.']);
    expect((await find(core, 'ann', 'beverage')).results).toHaveLength(2);
  });

  it('and only the passages that changed are embedded again', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n\nShe has a dog.\n');
    await embed(core);
    await write(core, 'ann', 'a.md', 'She drinks tea.\n\nShe has a puppy.\n');
    await embed(core);
    expect(textsSent()).toEqual(['She drinks tea.', 'She has a dog.', 'She has a puppy.']);
  });

  it('and a text keeps its vector while its file’s index is behind', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    await write(core, 'ann', 'a.md', 'Something new.\n\nShe drinks tea.\n');
    const found = await find(core, 'ann', 'beverage');
    expect(found.mode).toBe('hybrid');
    expect(found.results[0]?.snippet).toContain('She drinks tea.');
  });

  it('whose texts are gone are forgotten', async () => {
    const core = await openCore({ embedder: embedder(), tools: { delete: true } });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await write(core, 'ann', 'b.md', 'She has a dog.\n');
    await embed(core);
    await call(core, 'ann', 'memory_delete', { path: 'user/a.md' });
    await embed(core);
    expect(await core.storage.vectors?.sweep('u:ann')).toBe(0);
    // Written again, it has to be embedded again.
    await write(core, 'ann', 'c.md', 'She drinks tea.\n');
    await embed(core);
    expect(textsSent().filter((text) => text === 'She drinks tea.')).toHaveLength(2);
  });
});

const toVector = (text: string) => Float32Array.from(embedWords(text, 8));

describe('a drain', () => {
  it('ends when what the background has taken is embedded, too', async () => {
    let embedNow = () => undefined as void;
    const mayEmbed = new Promise<void>((resolve) => (embedNow = resolve));
    let asked = 0;
    const slow: Embedder = {
      name: 'slow',
      model: 'slow',
      dimensions: 8,
      async embed(texts) {
        if (texts.some((text) => !isSample(text))) {
          asked += 1;
          await mayEmbed;
        }
        return texts.map(toVector);
      },
    };
    const core = await openCore({ embedder: slow });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await expect.poll(() => asked).toBe(1);
    let hasEnded = false;
    const drained = core.embeddings?.drain().finally(() => (hasEnded = true));
    await sleep(50);
    expect(hasEnded).toBe(false);
    embedNow();
    await drained;
    expect(await core.embeddings?.progress()).toMatchObject({ state: 'idle', textsEmbedded: 1 });
  });

  it('sends no text that the background has sent, nor the other way round', async () => {
    const sent: string[] = [];
    const slow: Embedder = {
      name: 'slow',
      model: 'slow',
      dimensions: 8,
      async embed(texts) {
        sent.push(...texts.filter((text) => !isSample(text)));
        await sleep(120);
        return texts.map(toVector);
      },
    };
    const core = await openCore({ embedder: slow });
    for (const text of ['tea', 'coffee', 'water']) {
      await write(core, 'ann', `${text}.md`, `She drinks ${text}.\n`);
      // The background wakes 50 ms after the index is made, in the middle of the drain's request.
      await embed(core);
    }
    expect(sent).toEqual(['She drinks tea.', 'She drinks coffee.', 'She drinks water.']);
  });
});

describe('a search by meaning', () => {
  it('ranks no one else’s passages', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She has a dog.\n');
    await write(core, 'bob', 'b.md', 'He drinks tea.\n');
    await embed(core);
    const { results } = await find(core, 'ann', 'beverage drink tea coffee');
    expect(results.map(({ path: file }) => file)).toEqual(['user/a.md']);
    expect(JSON.stringify(results)).not.toContain('He drinks');
  });

  it('looks below a path alone when one is given', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'x/a.md', 'She drinks tea.\n');
    await write(core, 'ann', 'y/b.md', 'She drinks coffee.\n');
    await embed(core);
    const { results } = await find(core, 'ann', 'beverage', { path: 'user/y/' });
    expect(results.map(({ path: file }) => file)).toEqual(['user/y/b.md']);
  });

  it('answers by words when that is asked for, without a question to the embedder', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    const before = server.received.length;
    expect(await find(core, 'ann', 'tea', { mode: 'text' })).toMatchObject({ mode: 'text' });
    expect(server.received).toHaveLength(before);
  });

  it('asks the embedder once for the same question', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    const before = server.received.length;
    await find(core, 'ann', 'beverage');
    await find(core, 'ann', 'beverage', { limit: 3 });
    expect(server.received).toHaveLength(before + 1);
  });

  it('gives the passages themselves when those are asked for', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n\nThe weather.\n\nHe drinks coffee.\n');
    await embed(core);
    const { results } = await find(core, 'ann', 'beverage', { group: 'passage', limit: 2 });
    expect(results).toHaveLength(2);
    expect(results.every(({ path: file }) => file === 'user/a.md')).toBe(true);
  });

  it('leaves a ranking out whose weight is 0', async () => {
    const search = { textWeight: 0, vectorWeight: 1 };
    const core = await openCore({ embedder: embedder(), search });
    await write(core, 'ann', 'a.md', 'Nothing of this has a meaning: zebra.\n');
    await write(core, 'ann', 'b.md', 'She drinks tea.\n');
    await embed(core);
    const { results } = await find(core, 'ann', 'zebra drink');
    expect(results[0]?.path).toBe('user/b.md');
  });
});

const NO_FIT = 'the answer did not fit the schema';

describe('an embedder that is too slow for a batch', () => {
  it('gets half of the texts, until it makes them in time', async () => {
    const sizes: number[] = [];
    const slow: Embedder = {
      name: 'slow',
      model: 'slow',
      dimensions: 8,
      async embed(texts) {
        sizes.push(texts.filter((text) => !isSample(text)).length);
        if (texts.length > 12) {
          throw new MemoryError('EMBEDDING_FAILED', undefined, { details: { reason: 'timeout' } });
        }
        return texts.map((text) => Float32Array.from(embedMeaning(text, 8)));
      },
    };
    const core = await openCore({ embedder: slow });
    const content = Array.from({ length: 40 }, (_, at) => `# Part ${at}\n\nShe likes tea ${at}.\n`);
    await write(core, 'ann', 'a.md', content.join('\n'));
    while ((await core.embeddings?.progress())?.textsEmbedded !== 40) {
      await embed(core).catch(() => undefined);
      await sleep(50);
    }
    const batches = sizes.filter((size) => size > 0);
    // Two samples go with each.
    expect(batches.slice(0, 3)).toEqual([6, 12, 6]);
  });
});

/** An embedder whose calls end when the test says so, or take a time that only the clock knows. */
function createSteps(onCall: (texts: readonly string[]) => Promise<void> | void): {
  embedder: Embedder;
  calls: string[][];
} {
  const calls: string[][] = [];
  const embedder: Embedder = {
    name: 'steps',
    model: 'steps',
    dimensions: 8,
    async embed(texts) {
      calls.push([...texts]);
      await onCall(texts);
      return texts.map(toVector);
    },
  };
  return { embedder, calls };
}

const manyParts = (count: number, words = 'She likes tea') =>
  Array.from({ length: count }, (_, at) => `# Part ${at}\n\n${words} ${at}.\n`).join('\n');
const isPassage = (text: string) => text.includes('She likes tea');

describe('questions go before passages', () => {
  it('and no batch of passages begins while a question is being answered', async () => {
    const held: { texts: readonly string[]; answer: () => void }[] = [];
    let isHeld = false;
    const { embedder: steps, calls } = createSteps((texts) => {
      if (!isHeld) return;
      return new Promise<void>((answer) => void held.push({ texts, answer }));
    });
    const core = await openCore({ embedder: steps });
    await write(core, 'ann', 'tea.md', 'She drinks tea.\n');
    await embed(core);
    isHeld = true;
    await write(core, 'bob', 'import.md', manyParts(40));
    await expect.poll(() => held.length).toBe(1);
    const found = find(core, 'ann', 'what does she drink');
    await expect.poll(() => held.length).toBe(2);
    const [passages, question] = held as [(typeof held)[0], (typeof held)[0]];
    expect(passages.texts.some(isPassage)).toBe(true);
    expect(question.texts).toEqual(['what does she drink']);
    passages.answer();
    await expect
      .poll(async () => (await core.embeddings?.progress())?.textsEmbedded)
      .toBeGreaterThan(1);
    const before = calls.length;
    await sleep(100);
    expect(calls).toHaveLength(before);
    isHeld = false;
    question.answer();
    expect(await found).toMatchObject({ mode: 'hybrid' });
    await embed(core);
    expect(await core.embeddings?.progress()).toMatchObject({ textsEmbedded: 41, textsWaiting: 0 });
  });

  it.each([
    ['short', 'She likes tea'],
    ['long', 'She likes tea with milk and the sugar of the beet '.repeat(10)],
  ])(
    'and a batch of %s passages takes a part of the time of a question, samples included',
    async (_what, words) => {
      const skip = skipTime({ isStill: true });
      const MS_PER_CHAR = 0.1;
      const took: number[] = [];
      const { embedder: steps } = createSteps((texts) => {
        const ms = texts.join('').length * MS_PER_CHAR;
        if (texts.some(isPassage)) took.push(ms);
        skip(ms);
      });
      const core = await openCore({ embedder: steps, search: { embedTimeoutMs: 1_000 } });
      await write(core, 'ann', 'import.md', manyParts(100, words));
      await embed(core);
      expect(took.length).toBeGreaterThan(1);
      expect(Math.max(...took)).toBeLessThan(1_000 / 2);
      expect((await core.embeddings?.progress())?.textsEmbedded).toBe(100);
    },
  );

  it('and a batch shrinks at once when the embedder gets slower, and grows again', async () => {
    const skip = skipTime({ isStill: true });
    const sizes: number[] = [];
    let msPerText = 1;
    const { embedder: steps } = createSteps((texts) => {
      if (texts.some(isPassage)) sizes.push(texts.length);
      if (sizes.length === 6) msPerText = 50;
      if (sizes.length === 9) msPerText = 1;
      skip(texts.length * msPerText);
    });
    const core = await openCore({ embedder: steps, search: { embedTimeoutMs: 1_000 } });
    await write(core, 'ann', 'import.md', manyParts(500));
    await embed(core);
    expect(sizes.slice(0, 5)).toEqual([8, 14, 26, 50, 64]);
    const slow = sizes.slice(6, 9);
    expect(Math.max(...slow)).toBeLessThanOrEqual(9);
    expect(Math.max(...sizes.slice(9))).toBeGreaterThan(40);
  });
});

describe('an embedder that is slower than the call may be', () => {
  it('leaves the find time of its own, and is named: not the database', async () => {
    await start();
    const core = await openCore({ embedder: embedder() }, { callDeadlineMs: 2_000 });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    server.always(() => undefined);
    const found = await find(core, 'ann', 'tea');
    expect(found).toMatchObject({
      mode: 'text',
      results: [{ path: 'user/a.md' }],
      degraded: expect.stringMatching(
        /^The embedder failed: the provider did not answer in (?:0\.\d+|1) s\.$/,
      ),
    });
    server.always(null);
  });

  it('is not asked by a call that has no time left, nor blamed for one that has little', async () => {
    await start();
    const core = await openCore({ embedder: embedder() }, { callDeadlineMs: 120_000 });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    server.always(() => undefined);
    for (const query of ['tea', 'a drink', 'drinks tea']) {
      const arrivedAt = performance.now() - 119_600;
      const request = { context: { userId: 'ann' }, arguments: { query }, arrivedAt };
      const { result } = await core.tools.execute('memory_find', request);
      expect(result).toMatchObject({ mode: 'text', results: [{ path: 'user/a.md' }] });
    }
    server.always(null);
    // Three failures in a row would have opened the circuit.
    expect(await find(core, 'ann', 'what does she drink')).toMatchObject({ mode: 'hybrid' });
  });
});

describe('an embedder that is down', () => {
  it('fails no write, and a find goes by the words and says why', async () => {
    const core = await openCore({ embedder: embedder() });
    server.always(({ socket }) => socket.destroy());
    for (let n = 0; n < 20; n += 1) await write(core, 'ann', `${n}.md`, `Note ${n} on tea.\n`);
    const found = await find(core, 'ann', 'tea');
    expect(found.mode).toBe('text');
    expect(found.degraded).toMatch(/embedder/);
    expect(found.results).toHaveLength(10);
  });

  it('is left alone after three failures, and asked again later', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    server.received.length = 0;
    server.always(({ sendJson }) => sendJson(500, {}));
    stopClock();
    for (const query of ['a', 'b', 'c', 'd', 'e']) await find(core, 'ann', `${query} drink`);
    expect(server.received).toHaveLength(3);
    expect((await find(core, 'ann', 'drink f')).degraded).toBe(
      'The embedder failed: the circuit is open after 3 failures: the provider answered 500.',
    );
    expect((await core.embeddings?.progress())?.state).toBe('paused');
  });

  it('is named with its reason in the answer of a find and in its trace, whatever it does', async () => {
    const open = (timeoutMs: number) =>
      openCore({
        embedder: openai({
          baseUrl: server.baseUrl,
          name: 'meaning',
          dimensions: 8,
          timeoutMs,
          maxRetries: 0,
        }),
        search: { embedTimeoutMs: 60_000 },
      });
    const patient = await open(60_000);
    await write(patient, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(patient);
    for (const [at, way] of TRANSPORT.filter(({ asksToWait }) => asksToWait !== true).entries()) {
      const { name, behave, reason, why, isEndless } = way;
      // Only what never ends runs into a short limit: a busy machine may be slow with all else.
      const core = isEndless === true ? await open(200) : patient;
      server.always(behave);
      const { result, traceId } = await call<Found>(core, 'ann', 'memory_find', {
        query: `tea ${at}`,
      });
      expect(result.degraded, name).toMatch(/^The embedder failed: .+\.$/);
      expect(result.degraded, name).toContain(why);
      await core.queue.flush();
      const [found] = (await core.traces.trace(traceId)).calls;
      const span = found?.spans.find(({ kind }) => kind === 'embedding');
      expect(span, name).toMatchObject({
        status: 'error',
        errorCode: 'EMBEDDING_FAILED',
        attributes: { degraded: reason, reason: expect.stringContaining(why) },
      });
      // A good answer in between: it is not left alone.
      server.always(null);
      expect((await find(patient, 'ann', `well ${at}`)).mode, name).toBe('hybrid');
    }
  });

  it.each([500, 429])(
    'is named with its %i when the time for a question ends during a retry',
    async (status) => {
      const { baseUrl } = server;
      const core = await openCore({
        embedder: openai({ baseUrl, name: 'meaning', dimensions: 8 }),
        search: { embedTimeoutMs: 3_000 },
      });
      await write(core, 'ann', 'a.md', 'She drinks tea.\n');
      await embed(core);
      // The retry is never answered.
      let asked = 0;
      server.always(({ sendJson }) => {
        if ((asked += 1) === 1) sendJson(status, {});
      });
      expect(await find(core, 'ann', 'beverage')).toMatchObject({
        mode: 'text',
        degraded: expect.stringContaining(`The embedder failed: the provider answered ${status}`),
        results: [],
      });
      expect(asked).toBe(2);
    },
  );

  it('is named with its reason in the status of the service', async () => {
    const core = await openCore({ embedder: embedder() });
    server.always(({ sendJson }) => sendJson(401, { error: { message: 'SECRET' } }));
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await untilFailed(core);
    expect(await core.embeddings?.progress()).toMatchObject({
      lastFailure: 'unauthorized',
      lastFailureReason: 'the provider answered 401; check the API key',
    });
    server.always(null);
    while ((await core.embeddings?.progress())?.textsEmbedded !== 1) {
      await embed(core).catch(() => undefined);
    }
    expect(await core.embeddings?.progress()).toMatchObject({
      lastFailure: null,
      lastFailureReason: null,
    });
  });

  it('is left alone for as long as it asks for', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    server.received.length = 0;
    server.always(({ sendJson }) => sendJson(429, {}, { 'retry-after': '300' }));
    for (const query of ['a', 'b', 'c']) await find(core, 'ann', `${query} drink`);
    expect(server.received).toHaveLength(1);
    expect(await find(core, 'ann', 'tea')).toMatchObject({
      mode: 'text',
      degraded: expect.stringMatching(/the circuit is open after 1 failure: .+ answered 429/),
    });
  });

  it('keeps its texts in the queue, which drains once it is back', async () => {
    const open = await makeOpener();
    const core = await open({ embedder: embedder() });
    server.always(({ socket }) => socket.destroy());
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await untilFailed(core);
    await core.close();
    server.always(null);
    const next = await open({ embedder: embedder() });
    // What was tried waits for a second.
    while ((await next.embeddings?.progress())?.textsWaiting !== 0) await embed(next);
    expect((await find(next, 'ann', 'beverage')).mode).toBe('hybrid');
  });

  it('that never answers is waited for no longer than the limit', async () => {
    const never: Embedder = {
      name: 'never',
      model: 'never',
      dimensions: 8,
      embed: () => new Promise(() => undefined),
    };
    const core = await openCore({ embedder: never, search: { embedTimeoutMs: 20 } });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    const found = await find(core, 'ann', 'tea');
    expect(found).toMatchObject({
      mode: 'text',
      degraded: 'The embedder failed: the provider did not answer in 0.02 s.',
      results: [{ path: 'user/a.md' }],
    });
  });

  it.each([
    ['nothing', NO_FIT, () => []],
    ['too many', NO_FIT, (vector: Float32Array) => [vector, vector]],
    [
      'another length',
      'the vectors have 7 numbers; set the dimensions of the embedder to 7',
      (vector: Float32Array) => [vector.subarray(1)],
    ],
    ['what is not a number', NO_FIT, (vector: Float32Array) => [vector.fill(NaN)]],
    ['zeros', NO_FIT, (vector: Float32Array) => [vector.fill(0)]],
    ['a list', NO_FIT, (vector: Float32Array) => [[...vector]]],
    ['null', NO_FIT, () => null],
  ])('that gives %s leaves a search by words', async (_what, why, make) => {
    const bad: Embedder = {
      name: 'bad',
      model: 'bad',
      dimensions: 8,
      // It goes wrong for questions alone: passages come with the samples.
      embed: async (texts) =>
        texts.some(isSample)
          ? texts.map(toVector)
          : (make(new Float32Array(8).fill(1)) as Float32Array[]),
    };
    const core = await openCore({ embedder: bad });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    const found = await find(core, 'ann', 'tea');
    expect(found).toMatchObject({ mode: 'text', results: [{ path: 'user/a.md' }] });
    expect(found.degraded).toBe(`The embedder failed: ${why}.`);
  });

  it('that refuses one text gets the others all the same', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n\nThe POISON.\n\nShe has a dog.\n');
    server.always(({ body, sendJson, proper }) =>
      body.input.some((text: string) => text.includes('POISON'))
        ? sendJson(413, {})
        : sendJson(200, proper()),
    );
    await untilFailed(core);
    // A second later each goes by itself.
    while ((await core.embeddings?.progress())?.textsWaiting !== 1) {
      await embed(core).catch(() => undefined);
    }
    expect((await find(core, 'ann', 'puppy')).results[0]?.snippet).toContain('She has a dog.');
    expect((await core.embeddings?.progress())?.state).toBe('embedding');
  });
});

/** Answers with the proper vectors changed. */
const changed =
  (change: (vector: number[]) => number[]): Behaviour =>
  ({ proper, sendJson }) => {
    const answer = proper() as { data: { embedding: number[] }[] };
    const data = answer.data.map((item) => ({ ...item, embedding: change(item.embedding) }));
    sendJson(200, { ...answer, data });
  };
const sameForAll = changed((vector) => vector.map((_, at) => at + 1));
const otherModel = changed((vector) => vector.toReversed());
const ofAnswer = (name: string): Behaviour =>
  EMBEDDINGS.find((way) => way.name === name)?.behave ?? expect.fail(name);

const SAME = 'different texts have the same vector; check the model of the embedder';
const OTHER =
  'the model gives other vectors than those stored under its name; run memory-service reindex --embeddings';

describe('an embedder that goes wrong in the middle of its work', () => {
  it.each<[string, Behaviour, string]>([
    ['becomes slow', () => undefined, 'the provider did not answer in 0.2 s'],
    ['goes away', ({ socket }) => socket.destroy(), 'the connection was closed'],
    ['gives another length', ofAnswer('shorter vectors'), 'the vectors have 7 numbers'],
    ['gives what is not a number', ofAnswer('a null in a vector'), NO_FIT],
    ['gives each text the same vector', sameForAll, SAME],
    ['has another model under its name', otherModel, OTHER],
  ])(
    'and %s leaves search by words with the reason, and all is well once it is back',
    async (_what, behave, why) => {
      const skip = skipTime();
      const hasty = openai({
        baseUrl: server.baseUrl,
        name: 'meaning',
        dimensions: 8,
        timeoutMs: 1_000,
        maxRetries: 0,
      });
      const core = await openCore({ embedder: hasty, search: { embedTimeoutMs: 200 } });
      await write(core, 'ann', 'a.md', 'She drinks tea.\n');
      await write(core, 'ann', 'b.md', 'She has a dog.\n');
      await embed(core);
      expect((await find(core, 'ann', 'tea')).mode).toBe('hybrid');
      server.always(behave);
      // The last check is too long ago.
      skip(300_000);
      let asked = 0;
      const ask = () => find(core, 'ann', `beverage tea ${(asked += 1)}`);
      await expect
        .poll(async () => (await ask()).degraded, { timeout: 20_000 })
        .toContain(`The embedder failed: `);
      await expect.poll(async () => (await ask()).degraded).toContain(why);
      expect(await ask()).toMatchObject({ mode: 'text', results: [{ path: 'user/a.md' }] });
      await write(core, 'ann', 'c.md', 'The puppy sleeps.\n');

      server.always(null);
      // Past the pause of the circuit breaker.
      skip(600_000);
      await expect.poll(async () => (await ask()).mode, { timeout: 20_000 }).toBe('hybrid');
      // With vectors of the right model alone, and none is missing.
      await expect
        .poll(async () => (await core.embeddings?.progress())?.textsEmbedded, { timeout: 20_000 })
        .toBe(3);
      expect(await core.embeddings?.progress()).toMatchObject({
        lastFailure: null,
        textsWaiting: 0,
      });
      const { results } = await find(core, 'ann', 'pet', { explain: true, path: 'user/c.md' });
      expect(results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    },
  );

  it.each<[string, Behaviour, string]>([
    ['gives each text the same vector', sameForAll, SAME],
    ['has another model under its name', otherModel, OTHER],
  ])(
    'and %s just after it was checked has none of its vectors stored',
    async (_what, behave, why) => {
      const core = await openCore({ embedder: embedder() });
      await write(core, 'ann', 'a.md', 'She drinks tea.\n');
      await embed(core);
      server.always(behave);
      await write(core, 'ann', 'b.md', 'The puppy sleeps.\n');
      await embed(core).catch(() => undefined);
      const progress = () => core.embeddings?.progress();
      expect(await progress()).toMatchObject({ textsEmbedded: 1, textsWaiting: 1 });
      await expect.poll(async () => (await find(core, 'ann', 'tea')).degraded).toContain(why);

      server.always(null);
      // Past the pause of the circuit breaker.
      skipTime()(600_000);
      while ((await progress())?.textsWaiting !== 0) await embed(core).catch(() => undefined);
      const { results } = await find(core, 'ann', 'pet', { explain: true, path: 'user/b.md' });
      expect(results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    },
  );

  it('says at the start, and once, that its vectors have another length', async () => {
    const lines: [object, string][] = [];
    const log = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (details: object, message?: string) => void lines.push([details, message ?? '']),
    };
    server.always(ofAnswer('longer vectors'));
    const core = await openCore({ embedder: embedder(), log });
    const reason = 'the vectors have 9 numbers; set the dimensions of the embedder to 9';
    await expect.poll(() => lines).toHaveLength(1);
    for (let n = 0; n < 3; n += 1) {
      await write(core, 'ann', `${n}.md`, `Note ${n} on tea.\n`);
      await embed(core).catch(() => undefined);
    }
    expect(lines).toEqual([
      [
        { provider: 'openai', model: 'meaning' },
        `the embedder does not answer and finds use words only: ${reason}`,
      ],
    ]);
    // No text is blamed for it: all are embedded when the length is right.
    server.always(null);
    skipTime()(600_000);
    while ((await core.embeddings?.progress())?.textsWaiting !== 0) {
      await embed(core).catch(() => undefined);
    }
    expect((await find(core, 'ann', 'beverage')).mode).toBe('hybrid');
  });

  it('that fails by use is logged in one line, and so is its return', async () => {
    const lines: string[] = [];
    const push = (_details: object, message?: string) => void lines.push(message ?? '');
    const log = { debug: () => undefined, warn: () => undefined, info: push, error: push };
    const core = await openCore({ embedder: embedder(), log });
    const embedderLines = () => lines.filter((line) => line.startsWith('the embedder'));
    await expect.poll(() => core.parts.health('embedder').answers).toBe(true);
    server.always(({ sendJson }) => sendJson(401, {}));
    for (const question of ['tea', 'coffee']) await find(core, 'ann', question);
    const outage =
      'the embedder does not answer and finds use words only: the provider answered 401; check the API key';
    expect(embedderLines()).toEqual([outage]);
    server.always(null);
    for (const question of ['cats', 'dogs']) await find(core, 'ann', question);
    expect(embedderLines()).toEqual([outage, 'the embedder answers again']);
  });

  it('whose vectors have another length does not answer, whatever it is asked', async () => {
    server.always(ofAnswer('longer vectors'));
    const core = await openCore({ embedder: embedder() });
    await expect.poll(() => core.parts.health('embedder').answers).toBe(false);
    await find(core, 'ann', 'tea');
    expect(core.parts.health('embedder').answers).toBe(false);
  });

  it('another model under the same name is noticed after a restart, and gets its own vectors on demand', async () => {
    const open = await makeOpener();
    const first = await open({ embedder: embedder() });
    await write(first, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(first);
    await first.close();
    server.always(otherModel);
    const second = await open({ embedder: embedder() });
    await embed(second).catch(() => undefined);
    expect(await find(second, 'ann', 'beverage tea')).toMatchObject({
      mode: 'text',
      degraded: `The embedder failed: ${OTHER}.`,
    });
    await second.embeddings?.reembed();
    while ((await second.embeddings?.progress())?.textsEmbedded !== 1) {
      await embed(second).catch(() => undefined);
    }
    const { mode, results } = await find(second, 'ann', 'beverage', { explain: true });
    expect(mode).toBe('hybrid');
    expect(results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
  });

  it('another model under the same name is compared with no vector of the former one, on any instance', async () => {
    const skip = skipTime();
    const open = await makeOpener();
    const cores = [await open({ embedder: embedder() }), await open({ embedder: embedder() })];
    const [one, two] = cores as [Core, Core];
    const ask = (core: Core) => find(core, 'ann', 'beverage', { explain: true });
    const similarity = async (core: Core) => (await ask(core)).results[0]?.signals?.['similarity'];
    await write(one, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(one);
    for (const core of cores) await expect.poll(() => similarity(core)).toBeGreaterThan(0.9);

    let startEmbedding = () => undefined as void;
    const mayEmbed = new Promise<void>((resolve) => (startEmbedding = resolve));
    server.always((exchange) => {
      const isPassages = (exchange.body.input as string[]).length > 2;
      void (isPassages ? mayEmbed : Promise.resolve()).then(() => otherModel(exchange));
    });
    await one.embeddings?.reembed();
    for (const core of cores) {
      expect(await ask(core)).toMatchObject({
        mode: 'text',
        degraded: 'No passage that was searched has a vector yet.',
      });
    }
    startEmbedding();
    await embed(one);
    await expect.poll(() => similarity(one)).toBeGreaterThan(0.9);
    // At its next check, the other one forgets the vectors of its questions.
    skip(300_000);
    await expect.poll(() => similarity(two)).toBeGreaterThan(0.9);
  });

  it('has its cached questions asked again once it is back', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    const similarity = async () =>
      (await find(core, 'ann', 'beverage', { explain: true })).results[0]?.signals?.['similarity'];
    server.always(otherModel);
    // The change is not noticed yet.
    expect(await similarity()).toBeLessThan(0.5);
    await write(core, 'ann', 'b.md', 'The puppy sleeps.\n');
    await expect
      .poll(async () => (await find(core, 'ann', 'puppy')).degraded)
      .toContain(`The embedder failed: ${OTHER}.`);
    server.always(null);
    skipTime()(600_000);
    await expect.poll(similarity).toBeGreaterThan(0.9);
  });
});

/** A passage about many things that ends with coffee, in about 200 tokens. */
const LONG = `${'The weather was fine, and nothing happened at all. '.repeat(14)}She likes coffee.`;
/** As a model that reads few tokens: it knows nothing of the rest. */
const embedStart = (text: string, dimensions: number) =>
  embedMeaning(text.slice(0, 500), dimensions);
const limited = (maxTokens: number) =>
  openai({ baseUrl: server.baseUrl, name: 'meaning', dimensions: 8, maxTokens, maxRetries: 0 });

describe('a passage that is longer than the model takes', () => {
  it('is embedded in parts, and found by its best part', async () => {
    await start({ embed: embedStart });
    const core = await openCore({ embedder: limited(128) });
    await write(core, 'ann', 'a.md', `# Ann\n\n${LONG}\n`);
    await write(core, 'ann', 'b.md', 'The puppy sleeps a lot.\n');
    await embed(core);
    const sent = textsSent().filter((text) => text.includes('weather'));
    expect(sent.length).toBeGreaterThan(1);
    for (const text of sent) expect(text).toMatch(/^Ann\n\n/);
    const { results } = await find(core, 'ann', 'beverage', { explain: true });
    expect(results[0]).toMatchObject({ path: 'user/a.md' });
    expect(results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    expect(await core.embeddings?.progress()).toMatchObject({ textsEmbedded: 2, textsWaiting: 0 });
  });

  it('and is refused is embedded in smaller parts', async () => {
    server.always(({ body, sendJson, proper }) =>
      body.input.some((text: string) => text.length > 300)
        ? sendJson(400, { error: { message: 'the input is too long' } })
        : sendJson(200, proper()),
    );
    const core = await openCore({ embedder: limited(8_000) });
    await write(core, 'ann', 'a.md', `${LONG}\n`);
    await embed(core);
    const { results } = await find(core, 'ann', 'beverage', { explain: true });
    expect(results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    expect((await core.embeddings?.progress())?.textsWaiting).toBe(0);
  });

  it('gets its parts after an update, though its cut vector was stored before', async () => {
    await start({ embed: embedStart });
    const open = await makeOpener();
    // Versions before knew no limit.
    const { maxTokens: _unknown, ...before } = limited(128);
    const first = await open({ embedder: before });
    await write(first, 'ann', 'a.md', `${LONG}\n`);
    await write(first, 'ann', 'b.md', 'Coffee.\n\nThe puppy.\n');
    await embed(first);
    await first.close();
    const second = await open({ embedder: limited(128) });
    await embed(second);
    const found = await find(second, 'ann', 'beverage', { explain: true, path: 'user/a.md' });
    expect(found.mode).toBe('hybrid');
    expect(found.results[0]?.signals?.['similarity']).toBeGreaterThan(0.9);
    await second.close();
    // An earlier version finds its own vectors still.
    const third = await open({ embedder: before });
    expect((await find(third, 'ann', 'drink')).mode).toBe('hybrid');
  });

  it('is not a question: of that, the beginning is asked', async () => {
    const core = await openCore({ embedder: limited(128) });
    await write(core, 'ann', 'a.md', 'She likes tea.\n');
    await embed(core);
    await find(core, 'ann', `beverage ${LONG}`);
    expect(textsSent().at(-1)).toMatch(/^beverage The weather/);
    expect(textsSent().at(-1)).not.toContain('coffee');
  });
});

describe('another model', () => {
  it('has its own vectors made in the background, and none of another is compared', async () => {
    const open = await makeOpener();
    const first = await open({ embedder: embedder('one') });
    await write(first, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(first);
    await first.close();

    const second = await open({ embedder: embedder('two', 6) });
    const before = await find(second, 'ann', 'beverage drink');
    expect(before).toMatchObject({ mode: 'text', degraded: expect.stringMatching(/no|No/) });
    await embed(second);
    expect(sent().map(({ model }) => model)).toEqual(['one', 'two', 'two']);
    expect((await find(second, 'ann', 'beverage drink')).mode).toBe('hybrid');
    await second.close();

    // And back again: the vectors of the first are still there.
    const third = await open({ embedder: embedder('one') });
    await embed(third);
    expect((await find(third, 'ann', 'puppy tea')).mode).toBe('hybrid');
    expect(textsSent().filter((text) => text === 'She drinks tea.')).toHaveLength(2);
  });

  it('gets the prefixes that it was trained with, and another passage prefix is another model', async () => {
    const open = await makeOpener();
    const prefixed = (passagePrefix: string) =>
      openai({
        baseUrl: server.baseUrl,
        name: 'meaning',
        dimensions: 8,
        questionPrefix: 'query: ',
        passagePrefix,
      });
    const first = await open({ embedder: prefixed('passage: ') });
    await write(first, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(first);
    expect((await find(first, 'ann', 'beverage')).mode).toBe('hybrid');
    expect(textsSent()).toEqual(['passage: She drinks tea.', 'query: beverage']);
    await first.close();

    const second = await open({ embedder: prefixed('document: ') });
    expect((await find(second, 'ann', 'coffee')).mode).toBe('text');
    await embed(second);
    expect(textsSent()).toContain('document: She drinks tea.');
    expect((await find(second, 'ann', 'puppy')).mode).toBe('hybrid');
  });

  it('and the first one embeds what was written before there was any', async () => {
    const open = await makeOpener();
    const plain = await open({});
    await write(plain, 'ann', 'a.md', 'She drinks tea.\n');
    await plain.indexer.drain();
    expect(await find(plain, 'ann', 'tea', { mode: 'hybrid' })).toMatchObject({
      mode: 'text',
      degraded: 'No embedder is configured.',
    });
    await plain.close();
    const core = await open({ embedder: embedder() });
    await embed(core);
    expect((await find(core, 'ann', 'beverage')).results[0]?.path).toBe('user/a.md');
  });

  it('all vectors are made anew on demand', async () => {
    const core = await openCore({ embedder: embedder() });
    await write(core, 'ann', 'a.md', 'She drinks tea.\n');
    await embed(core);
    await core.embeddings?.reembed();
    await embed(core);
    expect(textsSent()).toEqual(['She drinks tea.', 'She drinks tea.']);
    expect((await find(core, 'ann', 'beverage')).mode).toBe('hybrid');
  });
});

describe('several instances', () => {
  it('embed no text twice', async () => {
    const open = await makeOpener();
    const [one, two] = [await open({ embedder: embedder() }), await open({ embedder: embedder() })];
    for (let n = 0; n < 150; n += 1) await write(one, 'ann', `${n}.md`, `Note ${n} on tea.\n`);
    await one.indexer.drain();
    await Promise.all([one.embeddings?.drain(), two.embeddings?.drain()]);
    while ((await one.embeddings?.progress())?.textsWaiting !== 0) await embed(one);
    const sent = textsSent();
    expect(new Set(sent).size).toBe(150);
    expect(sent).toHaveLength(150);
    for (const core of [one, two]) {
      expect((await find(core, 'ann', 'beverage', { limit: 50 })).results).toHaveLength(50);
    }
  });
});
