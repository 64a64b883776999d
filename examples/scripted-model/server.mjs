// A scripted model on loopback that speaks OpenAI's Chat Completions and Responses APIs and
// Anthropic's Messages API, streamed or not. Agents run without a key and always say the same.

import { createServer } from 'node:http';
import { chatCompletions } from './chat-completions.mjs';
import { messages } from './messages.mjs';
import { responses } from './responses.mjs';

/**
 * One turn of the model: tool calls or its final text. `isCutOff` ends it at the token limit, in the
 * middle of the arguments of its last call.
 *
 * @typedef {{ calls: { name: string, arguments: unknown }[], isCutOff?: boolean } | { text: string }} Turn
 *
 * The answer of a tool.
 * @typedef {{ callId: string, text: string, isError: boolean | null }} ToolAnswer
 *
 * One of the APIs: how to read its requests and write its answers.
 * @typedef {object} Api
 * @property {string} path
 * @property {(body: any) => ToolAnswer[]} toAnswers the answers of the tools, oldest first
 * @property {(turn: Turn, callIds: string[], body: any) => object} toReply
 * @property {(reply: any) => Iterable<{ event?: string, data: object | string }>} toStream
 * @property {(message: string) => object} toError
 *
 * A received request.
 * @typedef {{ path: string, headers: import('node:http').IncomingHttpHeaders, body: any, answers: ToolAnswer[] }} ModelRequest
 *
 * A turn, or a function that makes it from the tools' answers and the request.
 * @typedef {Turn | ((answers: ToolAnswer[], body: any) => Turn)} Script
 *
 * @typedef {object} ScriptedModel
 * @property {string} url for Anthropic's clients, and for OpenAI's with or without `/v1`
 * @property {ModelRequest[]} requests in the order of arrival
 * @property {() => Promise<void>} close
 */

/** @type {readonly Api[]} */
const APIS = [chatCompletions, responses, messages];

/**
 * Starts the model on a free port. Each conversation gets the turns in order; a turn can use the
 * answers of the tools. If `check` throws, the answer is 400. With `background`, the server does not
 * keep the process running.
 *
 * @param {readonly Script[]} turns
 * @param {{ check?: (request: ModelRequest) => void, isInBackground?: boolean }} [options]
 * @returns {Promise<ScriptedModel>}
 */
export async function startScriptedModel(turns, { check, isInBackground = false } = {}) {
  /** @type {ModelRequest[]} */
  const requests = [];
  const server = createServer((request, response) => {
    /** @type {Buffer[]} */
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const [path = ''] = (request.url ?? '').split('?');
      const api = APIS.find((one) => one.path === path || one.path === `/v1${path}`);
      if (api === undefined || request.method !== 'POST') {
        response.writeHead(404).end();
        return;
      }
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const { headers } = request;
      const asked = { path, headers, body, answers: api.toAnswers(body) };
      requests.push(asked);
      try {
        check?.(asked);
      } catch (error) {
        sendJson(response, 400, api.toError(/** @type {Error} */ (error).message));
        return;
      }
      const number = nextTurn(asked.answers);
      const scripted = turns[number] ?? { text: 'Done.' };
      const turn = typeof scripted === 'function' ? scripted(asked.answers, body) : scripted;
      const callIds =
        'calls' in turn ? turn.calls.map((_, index) => `call_${number}_${index}`) : [];
      const reply = api.toReply(turn, callIds, body);
      if (body.stream === true) sendStream(response, api.toStream(reply));
      else sendJson(response, 200, reply);
    });
  });
  if (isInBackground) server.unref().on('connection', (socket) => socket.unref());
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/**
 * Finds the turn of a conversation by the ids of the answered calls.
 *
 * @param {ToolAnswer[]} answers
 */
function nextTurn(answers) {
  return Math.max(0, ...answers.map(({ callId }) => Number(callId.split('_')[1]) + 1));
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {object} body
 */
function sendJson(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {Iterable<{ event?: string, data: object | string }>} events
 */
function sendStream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const { event, data } of events) {
    if (event !== undefined) response.write(`event: ${event}\n`);
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}
