import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Socket } from 'node:net';
import { embedWords } from './embed.ts';
import { checkChat, checkEmbeddings, checkMessages } from './schemas.ts';

/** A request as it arrived. */
export interface Received {
  path: string;
  headers: http.IncomingHttpHeaders;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever was sent
  body: any;
}

/** What a behaviour can do with a request. */
export interface Exchange extends Received {
  response: http.ServerResponse;
  socket: Socket;
  /** The answer of a server that behaves. */
  proper(): unknown;
  sendJson(status: number, value: unknown, headers?: http.OutgoingHttpHeaders): void;
}

/** One way to answer; without a call of anything, the request stays open. */
export type Behaviour = (exchange: Exchange) => void;

export interface ProviderServer {
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string;
  readonly origin: string;
  readonly received: Received[];
  /** What was wrong with a request by the provider's own schema; must stay empty. */
  readonly violations: string[];
  /** Behaviours of the next requests, the first first; then `always`, or the proper answer. */
  next(...behaviours: Behaviour[]): void;
  always(behaviour: Behaviour | null): void;
  close(): Promise<void>;
}

export interface ProviderServerOptions {
  dimensions?: number;
  /** What the model says; default an echo. */
  reply?: (body: Received['body'], path: string) => string;
  embed?: (text: string, dimensions: number) => number[];
  /** What the list of models names; default `small` and `claude`. */
  models?: readonly string[];
  port?: number;
}

/** A provider on loopback that speaks the wire protocols of OpenAI and Anthropic. */
export async function startProviderServer(
  options: ProviderServerOptions = {},
): Promise<ProviderServer> {
  const { dimensions = 8, embed = embedWords, models = ['small', 'claude'] } = options;
  const reply = options.reply ?? ((body) => `You said: ${lastMessage(body)}`);
  const received: Received[] = [];
  const violations: string[] = [];
  const queue: Behaviour[] = [];
  let standing: Behaviour | null = null;
  const sockets = new Set<Socket>();

  const apis: Record<
    string,
    { check: (body: unknown) => unknown; answer: (body: Received['body']) => unknown }
  > = {
    '/v1/embeddings': {
      check: checkEmbeddings,
      answer: (body) => ({
        object: 'list',
        model: body.model,
        data: (body.input as string[]).map((text, index) => ({
          object: 'embedding',
          index,
          embedding: embed(text, body.dimensions ?? dimensions),
        })),
        usage: { prompt_tokens: 3 * body.input.length, total_tokens: 3 * body.input.length },
      }),
    },
    '/v1/chat/completions': {
      check: checkChat,
      answer: (body) =>
        chatAnswer(body.model, reply(body, '/v1/chat/completions'), body.tool_choice),
    },
    '/v1/messages': {
      check: checkMessages,
      answer: (body) => messagesAnswer(body, reply(body, '/v1/messages')),
    },
  };

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      const sendJson: Exchange['sendJson'] = (status, value, headers = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(value));
      };
      const listed = request.method === 'GET' ? listModels(path, models) : undefined;
      const api = listed === undefined ? apis[path] : { check: () => null, answer: () => listed };
      let body: Received['body'];
      try {
        body = listed === undefined ? JSON.parse(Buffer.concat(chunks).toString('utf8')) : null;
        if (api === undefined) throw new Error(`There is no such path.`);
        api.check(body);
        if (listed === undefined) checkHeaders(path, request.headers);
      } catch (error) {
        violations.push(`${path}: ${describe(error)}`);
        sendJson(400, { error: { message: 'invalid request', type: 'invalid_request_error' } });
        return;
      }
      const entry = { path, headers: request.headers, body };
      received.push(entry);
      const behaviour = queue.shift() ?? standing;
      const exchange: Exchange = {
        ...entry,
        response,
        socket: request.socket,
        proper: () => api?.answer(body),
        sendJson,
      };
      if (behaviour !== null) behaviour(exchange);
      else sendJson(listed === null ? 404 : 200, exchange.proper() ?? NO_SUCH_MODEL);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: `${origin}/v1`,
    origin,
    received,
    violations,
    next: (...behaviours) => queue.push(...behaviours),
    always(behaviour) {
      standing = behaviour;
    },
    async close() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((done) => server.close(done));
    },
  };
}

const NO_SUCH_MODEL = { error: { type: 'not_found_error', message: 'There is no such model.' } };

/** The list of models, or one of them; `null` for one that is not there, `undefined` for other paths. */
function listModels(path: string, models: readonly string[]): object | null | undefined {
  const items = models.map((id) => ({ id, object: 'model', type: 'model' }));
  if (path === '/v1/models') return { object: 'list', data: items };
  if (!path.startsWith('/v1/models/')) return undefined;
  return items.find(({ id }) => path === `/v1/models/${encodeURIComponent(id)}`) ?? null;
}

/** A Chat Completions answer, as OpenAI's reference shows it. */
export function chatAnswer(
  model: string,
  text: string,
  choice?: { function: { name: string } },
): object {
  const call = { name: choice?.function.name, arguments: text };
  const said =
    choice === undefined
      ? { content: text }
      : { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_767_225_600,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...said, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  };
}

function messagesAnswer(body: Received['body'], text: string): object {
  const tool = body.tool_choice?.name;
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content:
      tool === undefined
        ? [{ type: 'text', text }]
        : [{ type: 'tool_use', id: 'toolu_1', name: tool, input: parseOr(text) }],
    stop_reason: tool === undefined ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 7 },
  };
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

function lastMessage(body: Received['body']): string {
  return body.messages.at(-1).content;
}

function checkHeaders(path: string, headers: http.IncomingHttpHeaders): void {
  if (!/^application\/json(?:;|$)/.test(headers['content-type'] ?? '')) {
    throw new Error('The content-type is not JSON.');
  }
  if (path === '/v1/messages') {
    if (headers['anthropic-version'] === undefined) throw new Error('The version is missing.');
    // The API takes the key as either.
    if (headers['x-api-key'] !== undefined) return;
  }
  if (!/^Bearer .+$/.test(headers.authorization ?? '')) {
    throw new Error('authorization is missing.');
  }
}

function describe(error: unknown): string {
  const { message, details } = error as { message: string; details?: unknown };
  return details === undefined ? message : `${message} ${JSON.stringify(details)}`;
}
