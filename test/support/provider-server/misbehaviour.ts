import { gzipSync } from 'node:zlib';
import type { Behaviour, Exchange } from './server.ts';

/** A way in which a server can go wrong, and what the caller is to be told. */
export interface Misbehaviour {
  name: string;
  behave: Behaviour;
  reason: string;
  /** The reason in words, or their beginning. */
  why: string;
  /** Whether the same request is to be sent again. */
  isRetried?: boolean;
  /** Whether half of the texts are to be sent in its place, where there are several. */
  isHalved?: boolean;
  /** It never ends: the call needs a short time limit. */
  isEndless?: boolean;
  /** Seconds that the error must pass on. */
  retryAfterSeconds?: number;
  /** It asks to be left alone, and is. */
  asksToWait?: boolean;
}

const sendText =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };

const fail =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  ({ sendJson }) =>
    sendJson(status, { error: { message: 'SECRET-OF-THE-PROVIDER', type: 'error' } }, headers);

const raw =
  (bytes: string): Behaviour =>
  ({ socket }) => {
    socket.end(bytes);
  };

/** What can happen to any request, below the API. */
export const TRANSPORT: readonly Misbehaviour[] = [
  {
    name: 'says nothing',
    behave: () => undefined,
    reason: 'timeout',
    why: 'the provider did not answer in ',
    isEndless: true,
    isHalved: true,
  },
  {
    name: 'sends headers and no body',
    behave: ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
    },
    reason: 'timeout',
    why: 'the provider did not answer in ',
    isEndless: true,
    isHalved: true,
  },
  {
    name: 'drips its answer',
    behave({ response }) {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(timer));
    },
    reason: 'timeout',
    why: 'the provider did not answer in ',
    isEndless: true,
    isHalved: true,
  },
  {
    name: 'hangs up at once',
    behave: ({ socket }) => socket.destroy(),
    reason: 'unreachable',
    why: 'the connection was closed before the answer was complete',
    isRetried: true,
  },
  {
    name: 'hangs up in the headers',
    behave: raw('HTTP/1.1 200 OK\r\ncontent-ty'),
    reason: 'unreachable',
    why: 'the connection was closed before the answer was complete',
    isRetried: true,
  },
  {
    name: 'hangs up in the body',
    behave({ response, socket }) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
      response.write('{"data": [', () => socket.destroy());
    },
    reason: 'unreachable',
    why: 'the connection was closed before the answer was complete',
    isRetried: true,
  },
  {
    name: 'hangs up in a packed body',
    behave({ response, socket }) {
      const packed = gzipSync(Buffer.alloc(100_000, 'x'));
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length });
      response.write(packed.subarray(0, 40), () => socket.destroy());
    },
    reason: 'unreachable',
    why: 'the connection was closed before the answer was complete',
    isRetried: true,
  },
  {
    name: 'does not speak HTTP',
    behave: raw('220 mail.example.org ESMTP\r\n\r\n'),
    reason: 'unreachable',
    why: 'the answer was not HTTP',
    isRetried: true,
  },
  {
    name: 'answers 500',
    behave: fail(500),
    reason: 'unavailable',
    why: 'the provider answered 500',
    isRetried: true,
  },
  {
    name: 'answers 503',
    behave: fail(503),
    reason: 'unavailable',
    why: 'the provider answered 503',
    isRetried: true,
  },
  {
    name: 'answers 408',
    behave: fail(408),
    reason: 'unavailable',
    why: 'the provider answered 408',
    isRetried: true,
  },
  {
    name: 'answers 502 with a page',
    behave: sendText(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }),
    reason: 'unavailable',
    why: 'the provider answered 502',
    isRetried: true,
  },
  {
    name: 'answers 429',
    behave: fail(429),
    reason: 'rate_limited',
    why: 'the provider answered 429; it allows no more requests for now',
    isRetried: true,
  },
  {
    name: 'answers 429 for an hour',
    behave: fail(429, { 'retry-after': '3600' }),
    reason: 'rate_limited',
    why: 'the provider answered 429; it allows no more requests for now',
    retryAfterSeconds: 3_600,
    asksToWait: true,
  },
  {
    name: 'answers 503 until a date far away',
    behave: fail(503, { 'retry-after': 'Fri, 31 Dec 2199 23:59:59 GMT' }),
    reason: 'unavailable',
    why: 'the provider answered 503',
    asksToWait: true,
  },
  {
    name: 'answers 500 and asks not to come again',
    behave: fail(500, { 'x-should-retry': 'false' }),
    reason: 'unavailable',
    why: 'the provider answered 500',
  },
  {
    name: 'answers 401',
    behave: fail(401),
    reason: 'unauthorized',
    why: 'the provider answered 401; check the API key',
  },
  {
    name: 'answers 403',
    behave: fail(403),
    reason: 'unauthorized',
    why: 'the provider answered 403; check what the API key may use',
  },
  {
    name: 'answers 404',
    behave: fail(404),
    reason: 'rejected',
    why: 'the provider answered 404; check the base URL and the name of the model',
  },
  {
    name: 'answers 413',
    behave: fail(413),
    reason: 'rejected',
    why: 'the provider answered 413',
    isHalved: true,
  },
  {
    name: 'answers 402',
    behave: fail(402),
    reason: 'no_credit',
    why: 'the provider answered 402; the account of the provider has no credit left; check its billing',
  },
  {
    name: 'answers 429 because the quota is used up',
    behave: ({ sendJson }) => sendJson(429, { error: { code: 'insufficient_quota' } }),
    reason: 'no_credit',
    why: 'the account of the provider has no credit left; check its billing (insufficient_quota)',
  },
  {
    name: 'answers 529',
    behave: fail(529),
    reason: 'unavailable',
    why: 'the provider answered 529',
    isRetried: true,
  },
  {
    name: 'answers 501',
    behave: fail(501),
    reason: 'rejected',
    why: 'the provider answered 501',
  },
  {
    name: 'redirects to the metadata of a cloud',
    behave: fail(302, { location: 'http://169.254.169.254/latest/meta-data/' }),
    reason: 'redirected',
    why: 'the provider answered 302; redirects are not followed, check the base URL',
  },
  {
    name: 'redirects for good, method and body kept',
    behave: fail(308, { location: '/v1/elsewhere' }),
    reason: 'redirected',
    why: 'the provider answered 308; redirects are not followed, check the base URL',
  },
  {
    name: 'answers 200 with nothing',
    behave: sendText(200, ''),
    reason: 'empty',
    why: 'the answer was empty',
    isRetried: true,
  },
  {
    name: 'answers 204',
    behave: ({ response }) => void response.writeHead(204).end(),
    reason: 'empty',
    why: 'the answer was empty',
    isRetried: true,
  },
  {
    name: 'answers 200 with a page',
    behave: sendText(200, '<html>Log in</html>', { 'content-type': 'text/html' }),
    reason: 'malformed',
    why: 'the answer was not JSON',
  },
  {
    name: 'answers broken JSON',
    behave: sendText(200, '{"data": [{'),
    reason: 'malformed',
    why: 'the answer was not JSON',
  },
  {
    name: 'answers null',
    behave: sendText(200, 'null'),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'answers a list',
    behave: sendText(200, '[]'),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'answers an error as 200',
    behave: sendText(200, '{"error": {"message": "The model is overloaded."}}'),
    reason: 'unavailable',
    why: 'the provider failed (The model is overloaded)',
    isRetried: true,
  },
  {
    name: 'answers 100,000 brackets',
    behave: sendText(200, '['.repeat(100_000)),
    reason: 'too_large',
    why: 'the answer is nested too deeply, or has too many parts',
    isHalved: true,
  },
  {
    name: 'answers 40 MB',
    behave: ({ response }) => endlessly(response, Buffer.alloc(1 << 20, 'x'), 40),
    reason: 'too_large',
    why: 'the answer was too large',
    isHalved: true,
  },
  {
    name: 'announces 40 MB',
    behave({ response }) {
      response.writeHead(200, { 'content-length': String(40 << 20) });
      response.write('x');
    },
    reason: 'too_large',
    why: 'the answer was too large',
    isHalved: true,
  },
  {
    name: 'answers 64 MB in 64 KB of gzip',
    behave: sendText(200, gzipSync(Buffer.alloc(64 << 20)), { 'content-encoding': 'gzip' }),
    reason: 'too_large',
    why: 'the answer was too large',
    isHalved: true,
  },
  {
    name: 'calls gzip what is none',
    behave: sendText(200, '{"data": []}', { 'content-encoding': 'gzip' }),
    reason: 'malformed',
    why: 'the answer could not be unpacked',
  },
];

function endlessly(response: Exchange['response'], chunk: Buffer, times: number): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  let left = times;
  const write = (): void => {
    while (left-- > 0) {
      if (!response.write(chunk)) {
        response.once('drain', write);
        return;
      }
    }
    response.end();
  };
  write();
}

/** What an answer of the embeddings API can have wrong; its texts are two, its vectors of length 8. */
export const EMBEDDINGS: readonly Misbehaviour[] = [
  { name: 'no vectors', behave: vectors(() => []), reason: 'empty', why: 'the answer was empty' },
  {
    name: 'a vector too few',
    behave: vectors((data) => data.slice(1)),
    reason: 'empty',
    why: 'the answer was empty',
    isHalved: true,
  },
  {
    name: 'a vector too many',
    behave: vectors((data) => [...data, { ...data[0], index: 2 }]),
    reason: 'malformed',
    why: 'the answer has not one vector for each text',
    isHalved: true,
  },
  {
    name: 'indexes that go down',
    behave: vectors((data) => data.map((item, at) => ({ ...item, index: 1 - 2 * at }))),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'an index that is none',
    behave: vectors((data) => data.map((item) => ({ ...item, index: -1 }))),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'shorter vectors',
    behave: each((vector) => vector.slice(1)),
    reason: 'malformed',
    why: 'the vectors have 7 numbers; set the dimensions of the embedder to 7',
  },
  {
    name: 'longer vectors',
    behave: each((vector) => [...vector, 1]),
    reason: 'malformed',
    why: 'the vectors have 9 numbers; set the dimensions of the embedder to 9',
  },
  {
    name: 'a null in a vector',
    behave: each(([, ...rest]) => [null, ...rest]),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'a text in a vector',
    behave: each(([, ...rest]) => ['1', ...rest]),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'a number beyond 32 bits',
    behave: each(([, ...rest]) => [1e39, ...rest]),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'vectors of zeros',
    behave: each((vector) => vector.map(() => 0)),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'packed vectors of another length',
    behave: each(() => 'AACAPwAAgD8='),
    reason: 'malformed',
    why: 'the vectors have 2 numbers; set the dimensions of the embedder to 2',
  },
  {
    name: 'vectors that are packed otherwise',
    behave: each(() => 'AACAPwAAgD8=?'),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
];

type Item = { index: number; embedding: unknown };

function vectors(change: (data: Item[]) => unknown[]): Behaviour {
  return ({ proper, sendJson }) => {
    const answer = proper() as { data: Item[] };
    sendJson(200, { ...answer, data: change(answer.data) });
  };
}

function each(change: (vector: number[]) => unknown): Behaviour {
  return vectors((data) =>
    data.map((item) => ({ ...item, embedding: change(item.embedding as number[]) })),
  );
}

/** What an answer of the Chat Completions API can have wrong. */
export const CHAT: readonly Misbehaviour[] = [
  { name: 'no choices', behave: chat(() => []), reason: 'empty', why: 'the answer was empty' },
  {
    name: 'choices that are none',
    behave: chat(() => 'none'),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'no message',
    behave: chat(() => [{ index: 0 }]),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'no content',
    behave: choice({ message: { content: null } }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'empty content',
    behave: choice({ message: { content: '' } }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'blank content',
    behave: choice({ message: { content: ' \n' } }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'content of thoughts alone',
    behave: choice({ message: { content: [{ type: 'thinking', thinking: 'Hello' }] } }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'content of a part without text',
    behave: choice({ message: { content: [{ type: 'text', text: 7 }] } }),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'a part that refuses',
    behave: choice({ message: { content: [{ type: 'refusal', refusal: 'No.' }] } }),
    reason: 'refused',
    why: 'the model refused to answer',
  },
  {
    name: 'an error in a choice',
    behave: choice({
      error: { code: 502, message: 'Upstream is busy.' },
      finish_reason: 'error',
    }),
    reason: 'unavailable',
    why: 'the provider answered 502 (Upstream is busy)',
    isRetried: true,
  },
  {
    name: 'an end in an error',
    behave: choice({ finish_reason: 'insufficient_system_resource' }),
    reason: 'unavailable',
    why: 'the provider failed',
    isRetried: true,
  },
  {
    name: 'an end at the limit, as Mistral says it',
    behave: choice({ finish_reason: 'model_length' }),
    reason: 'cut_off',
    why: 'the answer was cut off',
  },
  {
    name: 'a call of a tool that it was not given',
    behave: choice({
      message: { content: null, tool_calls: [{ id: 'call_1', type: 'function' }] },
      finish_reason: 'tool_calls',
    }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'an end at the limit',
    behave: choice({ finish_reason: 'length' }),
    reason: 'cut_off',
    why: 'the answer was cut off',
  },
  {
    name: 'a filter',
    behave: choice({ finish_reason: 'content_filter' }),
    reason: 'refused',
    why: 'the model refused to answer',
  },
  {
    name: 'a refusal',
    behave: choice({ message: { content: null, refusal: 'I cannot help.' } }),
    reason: 'refused',
    why: 'the model refused to answer',
  },
];

function chat(change: (choices: unknown) => unknown): Behaviour {
  return ({ proper, sendJson }) => {
    const answer = proper() as { choices: unknown };
    sendJson(200, { ...answer, choices: change(answer.choices) });
  };
}

function choice(change: object): Behaviour {
  return chat((choices) => [{ ...(choices as object[])[0], ...change }]);
}

/** What an answer of Anthropic's Messages API can have wrong. */
export const MESSAGES: readonly Misbehaviour[] = [
  {
    name: 'no content',
    behave: messages({ content: [] }),
    reason: 'empty',
    why: 'the answer was empty',
  },
  {
    name: 'content that is none',
    behave: messages({ content: 'Hello' }),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'a block that is none',
    behave: messages({ content: [null] }),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'text that is none',
    behave: messages({ content: [{ type: 'text', text: 7 }] }),
    reason: 'malformed',
    why: 'the answer did not fit the schema',
  },
  {
    name: 'an end at the limit',
    behave: messages({ stop_reason: 'max_tokens' }),
    reason: 'cut_off',
    why: 'the answer was cut off',
  },
  {
    name: 'a refusal',
    behave: messages({ stop_reason: 'refusal' }),
    reason: 'refused',
    why: 'the model refused to answer',
  },
];

function messages(change: object): Behaviour {
  return ({ proper, sendJson }) => sendJson(200, { ...(proper() as object), ...change });
}
