import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MemoryError } from '../../../core/errors.ts';
import { openai, type OpenAIEmbedderOptions } from '../../../plugins/embedder-openai/index.ts';
import { embedWords } from '../../support/provider-server/embed.ts';
import { EMBEDDINGS, TRANSPORT } from '../../support/provider-server/misbehaviour.ts';
import {
  type Behaviour,
  type ProviderServer,
  type Received,
  startProviderServer,
} from '../../support/provider-server/server.ts';
import { rejection } from '../../support/rejection.ts';

let server: ProviderServer;
beforeAll(async () => {
  server = await startProviderServer();
});
beforeEach(() => {
  server.received.length = 0;
});
afterAll(async () => {
  await server.close();
  expect(server.violations).toEqual([]);
});

const TEXTS = ['She likes tea.', 'He likes coffee.'];

function embedder(options: OpenAIEmbedderOptions = {}) {
  return openai({
    baseUrl: server.baseUrl,
    name: 'words',
    dimensions: 8,
    retryDelayMs: 1,
    ...options,
  });
}

describe('embeddings of an OpenAI-compatible server', () => {
  it('gives a vector for each text, in order', async () => {
    const vectors = await embedder().embed(TEXTS, {});
    expect(vectors).toEqual(TEXTS.map((text) => Float32Array.from(embedWords(text, 8))));
  });

  it('takes the order from the indexes of the answer', async () => {
    server.next(({ proper, sendJson }) => {
      const answer = proper() as { data: unknown[] };
      sendJson(200, { ...answer, data: answer.data.reverse() });
    });
    const vectors = await embedder().embed(TEXTS, {});
    expect(vectors[0]).toEqual(Float32Array.from(embedWords(TEXTS[0] as string, 8)));
  });

  it('sends no more texts in a request than the batch size, and counts the tokens of all', async () => {
    const texts = Array.from({ length: 7 }, (_, index) => `text ${index}`);
    let tokens = 0;
    const vectors = await embedder({ batchSize: 3 }).embed(texts, {
      onTokens: (count) => (tokens += count),
    });
    expect(server.received.map(({ body }) => body.input.length)).toEqual([3, 3, 1]);
    expect(vectors).toHaveLength(7);
    expect(tokens).toBe(21);
  });

  it('asks nothing for no texts', async () => {
    expect(await embedder().embed([], {})).toEqual([]);
    expect(server.received).toEqual([]);
  });

  it('asks without dimensions, from then on, where the server refuses them', async () => {
    const own = embedder();
    server.next(({ sendJson }) =>
      sendJson(400, { error: { message: 'does not support matryoshka representation' } }),
    );
    await own.embed(TEXTS, {});
    await own.embed(TEXTS, {});
    expect(server.received.map(({ body }) => body.dimensions)).toEqual([8, undefined, undefined]);
  });

  it('goes on with dimensions when it was not they that were refused', async () => {
    const own = embedder();
    server.always(({ sendJson }) => sendJson(400, {}));
    expect((await rejection(own.embed(TEXTS, {}))).details).toMatchObject({ reason: 'rejected' });
    server.always(null);
    await own.embed(TEXTS, {});
    expect(server.received.at(-1)?.body.dimensions).toBe(8);
  });

  it('knows the dimensions of OpenAI’s own models, and sends them only when others are asked for', async () => {
    const own = (dimensions?: number) =>
      openai({
        baseUrl: server.baseUrl,
        name: 'text-embedding-3-large',
        ...(dimensions === undefined ? {} : { dimensions }),
      });
    expect(own().dimensions).toBe(3_072);
    await own(256).embed(TEXTS, {});
    expect(server.received.at(-1)?.body.dimensions).toBe(256);
    await rejection(own().embed(TEXTS, {}));
    expect(server.received.at(-1)?.body).not.toHaveProperty('dimensions');
  });

  it('sends the key, and nothing about this machine', async () => {
    await embedder({ apiKey: 'sk-1' }).embed(TEXTS, {});
    const headers = server.received[0]?.headers ?? {};
    expect(headers.authorization).toBe('Bearer sk-1');
    expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual([]);
    expect(headers['user-agent']).toBe('memory-service');
  });
});

type Item = { index?: unknown; embedding: unknown };

/** The proper answer with other items. */
const withItems =
  (change: (item: Item, at: number) => unknown): Behaviour =>
  ({ proper, sendJson }) => {
    const answer = proper() as { data: Item[] };
    sendJson(200, { ...answer, data: answer.data.map(change) });
  };

const pack = (embedding: unknown): string =>
  Buffer.from(Float32Array.from(embedding as number[]).buffer).toString('base64');

const expected = (texts: readonly string[]) =>
  texts.map((text) => Float32Array.from(embedWords(text, 8)));

describe('the form of an answer', () => {
  it.each<[string, Behaviour]>([
    ['the index 0 for each vector', withItems((item) => ({ ...item, index: 0 }))],
    ['no index', withItems(({ embedding }) => ({ embedding }))],
    ['an index of null', withItems((item) => ({ ...item, index: null }))],
    ['indexes as texts', withItems((item, at) => ({ ...item, index: String(at) }))],
    ['indexes from 1 on', withItems((item, at) => ({ ...item, index: at + 1 }))],
    ['indexes by parts of a batch', withItems((item, at) => ({ ...item, index: at % 2 }))],
    ['packed vectors', withItems((item) => ({ ...item, embedding: pack(item.embedding) }))],
    ['vectors in lists', withItems((item) => ({ ...item, embedding: [item.embedding] }))],
    ['a list alone', ({ proper, sendJson }) => sendJson(200, (proper() as { data: unknown }).data)],
    [
      'indexes in another order',
      ({ proper, sendJson }) => {
        const answer = proper() as { data: Item[] };
        const data = answer.data.map((item) => ({ ...item, index: String(item.index) }));
        sendJson(200, { ...answer, data: data.reverse() });
      },
    ],
  ])('may have %s', async (_what, behave) => {
    const texts = [...TEXTS, 'They like water.', 'Nobody likes milk.'];
    server.next(behave);
    expect(await embedder().embed(texts, {})).toEqual(expected(texts));
    expect(server.received).toHaveLength(1);
  });

  it.each([
    [[0, 2, 1, 1]],
    [[0, 0, 1, 3]],
    [[2, 3, 4, 5]],
    [[0, 1, 2, 4]],
    [['a', 'b', 'c', 'd']],
    [[0.5, 1, 2, 3]],
  ])('is refused where its indexes may mix texts up: %j', async (indexes) => {
    server.next(withItems((item, at) => ({ ...item, index: indexes[at] })));
    const texts = [...TEXTS, 'They like water.', 'Nobody likes milk.'];
    const error = await rejection(embedder().embed(texts, {}));
    expect(error.details).toMatchObject({ reason: 'malformed' });
  });
});

describe('a format that is refused', () => {
  const refuseIf =
    (isRefused: (body: Received['body']) => boolean, message = 'Bad request'): Behaviour =>
    ({ body, proper, sendJson }) =>
      isRefused(body) ? sendJson(400, { detail: message }) : sendJson(200, proper());
  const sent = () =>
    server.received.map(({ body }) => ['encoding_format' in body, 'dimensions' in body]);

  it('is asked without encoding_format, from then on', async () => {
    const own = embedder();
    server.always(
      refuseIf((body) => 'encoding_format' in body, "Argument 'encoding_format' is not valid."),
    );
    await own.embed(TEXTS, {});
    await own.embed(TEXTS, {});
    expect(sent()).toEqual([
      [true, true],
      [false, true],
      [false, true],
    ]);
    server.always(null);
  });

  it('is found out without a word about it', async () => {
    const own = embedder();
    server.always(refuseIf((body) => 'encoding_format' in body || 'dimensions' in body));
    await own.embed(TEXTS, {});
    await own.embed(TEXTS, {});
    expect(sent().at(-2)).toEqual([false, false]);
    expect(sent().at(-1)).toEqual([false, false]);
    expect(server.received.map(({ body }) => body.input.length)).toEqual([2, 2, 2, 2, 2]);
    server.always(null);
  });

  it('is not looked for in other requests, once one went through', async () => {
    const own = embedder();
    await own.embed(TEXTS, {});
    server.always(({ sendJson }) => sendJson(400, {}));
    await rejection(own.embed(TEXTS.slice(0, 1), {}));
    expect(server.received).toHaveLength(2);
    server.always(null);
  });
});

describe('a batch', () => {
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
  const sizes = () => server.received.map(({ body }) => body.input.length as number);

  it.each([
    [413, { error: 'batch size 20 > maximum allowed batch size 5', error_type: 'Validation' }],
    [422, { error: 'batch size 20 > maximum allowed batch size 5' }],
    [400, { error: { code: 'InvalidParameter', message: 'Value error' } }],
    [500, { error: { code: 500, message: 'input is too large to process' } }],
  ])('that is too large is halved, and so are the next ones: %i %j', async (status, body) => {
    const own = embedder({ maxRetries: 0 });
    await own.embed(TEXTS, {});
    server.received.length = 0;
    server.always(({ body: { input }, proper, sendJson }) =>
      input.length > 5 ? sendJson(status, body) : sendJson(200, proper()),
    );
    let tokens = 0;
    const options = { onTokens: (count: number) => (tokens += count) };
    expect(await own.embed(texts, options)).toEqual(expected(texts));
    expect(tokens).toBe(60);
    expect(sizes()).toEqual([20, 10, 5, 5, 10, 5, 5]);
    server.received.length = 0;
    await own.embed(texts, {});
    expect(sizes()).toEqual([5, 5, 5, 5]);
    server.always(null);
  });

  it('that comes back with fewer vectors than texts is halved', async () => {
    const own = embedder();
    server.always(({ proper, sendJson }) => {
      const answer = proper() as { data: unknown[] };
      sendJson(200, { ...answer, data: answer.data.slice(0, 8) });
    });
    expect(await own.embed(texts, {})).toEqual(expected(texts));
    expect(sizes()).toEqual([20, 10, 5, 5, 10, 5, 5]);
    server.always(null);
  });

  it('that takes too long is halved, and so are the next ones', async () => {
    const own = embedder({ timeoutMs: 400 });
    server.always(({ body: { input }, proper, sendJson }) => {
      if (input.length <= 5) sendJson(200, proper());
    });
    expect(await own.embed(texts, {})).toEqual(expected(texts));
    expect(sizes().slice(0, 4)).toEqual([20, 10, 5, 5]);
    server.always(null);
  });

  it('with one text that is refused fails with the reason, and is no reason for smaller ones', async () => {
    const own = embedder();
    await own.embed(TEXTS, {});
    server.always(({ body: { input }, proper, sendJson }) =>
      input.includes('text 3') ? sendJson(400, { detail: 'too long' }) : sendJson(200, proper()),
    );
    const error = await rejection(own.embed(texts, {}));
    expect(error.details).toMatchObject({ reason: 'rejected', providerStatus: 400 });
    server.received.length = 0;
    server.always(null);
    await own.embed(texts, {});
    expect(sizes()).toEqual([20]);
  });

  it('of an answer of lists without an end is not parsed', async () => {
    server.always(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"data":[${'[],'.repeat(2_000_000)}1]}`);
    });
    const { details } = await rejection(embedder().embed(TEXTS.slice(0, 1), {}));
    expect(details).toMatchObject({ reason: 'too_large', problem: 'too_complex' });
    server.always(null);
  });
});

describe('a server that misbehaves', () => {
  it.each([...TRANSPORT, ...EMBEDDINGS])('$name: $reason', async (misbehaviour) => {
    const { behave, reason, why, isRetried, isEndless, retryAfterSeconds } = misbehaviour;
    const { isHalved = false } = misbehaviour;
    const own = embedder(isEndless === true ? { timeoutMs: 250 } : {});
    server.always(behave);
    const error = await rejection(own.embed(TEXTS, {}));
    expect(error.code).toBe('EMBEDDING_FAILED');
    expect(error.details).toMatchObject({ provider: 'openai', reason });
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('SECRET-OF-THE-PROVIDER');
    expect(server.received).toHaveLength(isRetried === true ? 3 : isHalved ? 2 : 1);
    if (retryAfterSeconds !== undefined) expect(error.retryAfterSeconds).toBe(retryAfterSeconds);
    // And nothing of it stays behind.
    server.always(null);
    expect(await embedder().embed(TEXTS, {})).toHaveLength(2);
    if (isEndless !== true) expect(await own.embed(TEXTS, {})).toHaveLength(2);
  });

  it('is asked again until it answers', async () => {
    server.next(
      ({ sendJson }) => sendJson(500, {}),
      ({ sendJson }) => sendJson(429, {}, { 'retry-after': '0' }),
    );
    expect(await embedder().embed(TEXTS, {})).toHaveLength(2);
    expect(server.received).toHaveLength(3);
  });

  it('is named with its last answer when the time ends during a retry', async () => {
    let asked = 0;
    server.always(({ sendJson }) => {
      if ((asked += 1) === 1) sendJson(500, {});
    });
    const failures: MemoryError[] = [];
    const call = embedder({ timeoutMs: 2_000 }).embed(TEXTS, {
      onFailure: (error) => failures.push(error),
    });
    const expected = { reason: 'unavailable', providerStatus: 500 };
    expect((await rejection(call)).details).toMatchObject(expected);
    expect(failures).toMatchObject([{ code: 'EMBEDDING_FAILED', details: expected }]);
    expect(asked).toBe(2);
  });

  it('is left alone once the caller gives up', async () => {
    const controller = new AbortController();
    server.next(() => controller.abort());
    const error = await rejection(embedder().embed(TEXTS, { signal: controller.signal }));
    expect(error.details).toMatchObject({ reason: 'aborted' });
    expect(server.received).toHaveLength(1);
  });

  it('is not asked at all when the caller gave up before', async () => {
    const error = await rejection(embedder().embed(TEXTS, { signal: AbortSignal.abort() }));
    expect(error.details).toMatchObject({ reason: 'aborted' });
    expect(server.received).toEqual([]);
  });

  it('is given up while it is waited for', async () => {
    const controller = new AbortController();
    server.next(({ sendJson, response }) => {
      response.on('finish', () => setImmediate(() => controller.abort()));
      sendJson(503, {}, { 'retry-after': '20' });
    });
    const error = await rejection(embedder().embed(TEXTS, { signal: controller.signal }));
    expect(error.details).toMatchObject({ reason: 'aborted' });
  });
});

describe('options', () => {
  it.each([
    [{ baseUrl: 'http://169.254.169.254/v1' }, /baseUrl of embedder-openai must be/],
    [{ baseUrl: 'http://8.8.8.8/v1' }, /baseUrl of embedder-openai must be/],
    [{ baseUrl: 'https://[::ffff:169.254.1.1]/v1' }, /baseUrl of embedder-openai must be/],
    [{ baseUrl: 'https://user:password@example.com/v1' }, /baseUrl of embedder-openai must be/],
    [{ baseUrl: 'https://api.openai.com/v1' }, /apiKey is missing/],
    [{ name: 'my-model' }, /dimensions is missing: .* my-model/],
    [{ dimensions: 0 }, /dimensions of embedder-openai must be a whole number from 1 to 65,536/],
    [{ timeoutMs: 0.5 }, /timeoutMs of embedder-openai must be/],
    [{ maxRetries: 11 }, /maxRetries of embedder-openai must be/],
    [{ batchSize: 0 }, /batchSize of embedder-openai must be/],
  ])('%o is refused: %s', (options: OpenAIEmbedderOptions, message) => {
    const { dimensions, ...rest } = options;
    const all = {
      baseUrl: server.baseUrl,
      ...(options.name === undefined ? { name: 'words', dimensions: 8 } : {}),
      ...rest,
      ...(dimensions === undefined ? {} : { dimensions }),
    };
    expect(() => openai(all)).toThrow(message);
  });

  it.each([
    ['nomic-embed-text:latest', { dimensions: 768, maxTokens: 2_048 }],
    ['intfloat/multilingual-e5-small', { dimensions: 384, maxTokens: 512 }],
    ['BAAI/bge-m3', { dimensions: 1_024, maxTokens: 8_192 }],
    ['all-MiniLM-L6-v2', { dimensions: 384, maxTokens: 256 }],
  ])('of %s are known: %o', (name, known) => {
    expect(openai({ baseUrl: server.baseUrl, name })).toMatchObject(known);
  });

  it('of any other model are 512 tokens, which most models read', () => {
    expect(openai({ baseUrl: server.baseUrl, name: 'words', dimensions: 8 }).maxTokens).toBe(512);
  });
});
