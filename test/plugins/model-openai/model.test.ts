import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig, openConfig } from '../../../core/config/index.ts';
import { openai, type OpenAIModelOptions } from '../../../plugins/model-openai/index.ts';
import { CHAT, TRANSPORT } from '../../support/provider-server/misbehaviour.ts';
import {
  type Behaviour,
  chatAnswer,
  type Exchange,
  type ProviderServer,
  startProviderServer,
} from '../../support/provider-server/server.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';

let server: ProviderServer;
/** What the model says; `null`: an echo. */
let said: string | null = null;
beforeAll(async () => {
  server = await startProviderServer({
    reply: ({ messages }) => said ?? `You said: ${messages.at(-1).content}`,
  });
});
beforeEach(() => {
  said = null;
  server.always(null);
  server.received.length = 0;
});
afterAll(async () => {
  await server.close();
  expect(server.violations).toEqual([]);
});

const SCHEMA = {
  type: 'object',
  properties: { drink: { type: 'string' } },
  required: ['drink'],
  additionalProperties: false,
};
const QUESTION = { system: 'Be brief.', prompt: 'What does she drink?' };

function model(options: Partial<OpenAIModelOptions> = {}) {
  return openai({ baseUrl: server.baseUrl, name: 'small', retryDelayMs: 1, ...options });
}

const say =
  (content: string): Behaviour =>
  ({ body, sendJson }) =>
    sendJson(200, chatAnswer(body.model, content));

const refuse =
  (message: string, more: object = {}): Behaviour =>
  ({ sendJson }) =>
    sendJson(400, { error: { message, type: 'invalid_request_error', ...more } });

describe('a model of an OpenAI-compatible server', () => {
  it('answers with text and the tokens that the provider counted', async () => {
    expect(await model().generate(QUESTION)).toEqual({
      text: 'You said: What does she drink?',
      inputTokens: 11,
      outputTokens: 7,
    });
    expect(server.received[0]?.body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What does she drink?' },
    ]);
  });

  it('counts no tokens where the server counts none', async () => {
    server.next(({ proper, sendJson }) => sendJson(200, { ...(proper() as object), usage: null }));
    expect(await model().generate(QUESTION)).toMatchObject({ inputTokens: 0, outputTokens: 0 });
  });

  it('is asked for JSON by its schema, strictly where the schema can be', async () => {
    server.next(say('{"drink":"tea"}'), say('{}'));
    expect((await model().generate({ ...QUESTION, schema: SCHEMA })).text).toBe('{"drink":"tea"}');
    const { required: _required, ...loose } = SCHEMA;
    await model().generate({ ...QUESTION, schema: loose });
    expect(server.received.map(({ body }) => body.response_format.json_schema)).toEqual([
      { name: 'answer', schema: SCHEMA, strict: true },
      { name: 'answer', schema: loose, strict: false },
    ]);
  });

  it('is asked to call a tool, from then on, where the server takes no schema', async () => {
    const own = model();
    server.always(({ body, proper, sendJson }) =>
      'response_format' in body
        ? refuse('response_format is not supported')({ sendJson } as Exchange)
        : sendJson(200, proper()),
    );
    said = '{"drink":"tea"}';
    const request = { ...QUESTION, schema: SCHEMA };
    expect((await own.generate(request)).text).toBe('{"drink":"tea"}');
    await own.generate(request);
    const sent = server.received.map(({ body }) => body);
    expect(sent.map((body) => ['response_format' in body, 'tools' in body])).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ]);
    expect(sent[1]).toMatchObject({
      tools: [{ type: 'function', function: { name: 'answer', parameters: SCHEMA } }],
      tool_choice: { type: 'function', function: { name: 'answer' } },
    });
    // What is no object goes into one, and comes out again.
    said = '{"value":["tea"]}';
    const list = { type: 'array', items: { type: 'string' } };
    expect((await own.generate({ ...QUESTION, schema: list })).text).toBe('["tea"]');
    expect(server.received.at(-1)?.body.tools[0].function.parameters.properties).toEqual({
      value: list,
    });
  });

  it('gives what it has of a reply that was cut off to a request that accepts that', async () => {
    const cut = (message: object) => (exchange: Exchange) =>
      exchange.sendJson(200, { choices: [{ message, finish_reason: 'length' }] });
    const request = { ...QUESTION, schema: { ...SCHEMA, title: 'drinks' } };
    const own = model();
    const begun = { content: '{"drink":"te' };
    server.next(cut(begun), cut(begun), cut({ content: '```json\n{"drink":"te' }), cut({}));
    expect(await own.generate({ ...request, acceptsCutOff: true })).toMatchObject({
      text: '{"drink":"te',
      isCutOff: true,
    });
    expect((await rejection(own.generate(request))).details).toMatchObject({ reason: 'cut_off' });
    const { text } = await own.generate({ ...request, acceptsCutOff: true });
    expect(text).toBe('{"drink":"te');
    // Thoughts took all the tokens.
    const empty = await rejection(own.generate({ ...request, acceptsCutOff: true }));
    expect(empty.details).toMatchObject({ reason: 'cut_off' });
    // It kept to the schema: the prompt need not repeat it.
    expect(server.received.at(-1)?.body.messages[0].content).toBe(QUESTION.system);
  });

  it('calls a tool of the schema’s name, and gives what it has of arguments that were cut off', async () => {
    const schema = { ...SCHEMA, title: 'drinks' };
    const call = { function: { name: 'drinks', arguments: '{"drink":"te' } };
    server.next(refuse('no response_format'), ({ body, sendJson }) => {
      expect(body.tool_choice.function.name).toBe('drinks');
      sendJson(200, { choices: [{ message: { tool_calls: [call] }, finish_reason: 'length' }] });
    });
    expect(await model().generate({ ...QUESTION, schema, acceptsCutOff: true })).toMatchObject({
      text: '{"drink":"te',
      isCutOff: true,
    });
  });

  it.each([
    ['as words', { content: '```json\n{"drink":"tea"}\n```' }],
    [
      'as an object',
      { tool_calls: [{ function: { name: 'answer', arguments: { drink: 'tea' } } }] },
    ],
    [
      'behind another call',
      {
        tool_calls: [
          { function: { name: 'search', arguments: '{}' } },
          { function: { name: 'answer', arguments: '{"drink":"tea"}' } },
        ],
      },
    ],
  ])('may give what it calls the tool with %s', async (_what, message) => {
    server.next(refuse('no response_format'), ({ sendJson }) =>
      sendJson(200, { choices: [{ message: { content: null, ...message } }] }),
    );
    const { text } = await model().generate({ ...QUESTION, schema: SCHEMA });
    expect(text).toBe('{"drink":"tea"}');
  });

  it.each([
    ['null', null],
    ['a number', 7],
    ['a list', '[1]'],
  ])('calls the tool with %s in vain', async (_what, input) => {
    server.next(refuse('no response_format'), ({ sendJson }) =>
      sendJson(200, {
        choices: [
          { message: { tool_calls: [{ function: { name: 'answer', arguments: input } }] } },
        ],
      }),
    );
    const error = await rejection(
      model({ maxRetries: 0 }).generate({ ...QUESTION, schema: SCHEMA }),
    );
    expect(error.details).toMatchObject({ reason: 'malformed' });
  });

  it('is asked for JSON in the prompt, from then on, where the server takes neither', async () => {
    const own = model();
    server.next(refuse('no response_format'), refuse('no tools'), say('{"drink":"tea"}'));
    const request = { ...QUESTION, schema: SCHEMA };
    expect((await own.generate(request)).text).toBe('{"drink":"tea"}');
    await own.generate(request);
    const sent = server.received.map(({ body }) => body);
    expect(sent.map((body) => 'response_format' in body || 'tools' in body)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const prompt = sent[3].messages[0].content as string;
    expect(prompt).toContain('Be brief.');
    expect(prompt).toContain(JSON.stringify(SCHEMA));
  });

  it('is told the schema in words as well, from then on, where it does not keep to it', async () => {
    const own = model();
    server.next(say('She drinks tea.'), say('{"drink":"tea"}'));
    const request = { ...QUESTION, schema: SCHEMA };
    expect((await own.generate(request)).text).toBe('She drinks tea.');
    expect((await own.generate(request)).text).toBe('{"drink":"tea"}');
    const said = server.received.map(({ body }) => [
      'response_format' in body,
      (body.messages[0].content as string).includes(JSON.stringify(SCHEMA)),
    ]);
    expect(said).toEqual([
      [true, false],
      [true, true],
    ]);
  });

  it('is asked by schema again when it was not the schema that was refused', async () => {
    const own = model();
    const long = refuse('the prompt is too long');
    server.next(long, long, long);
    const request = { ...QUESTION, schema: SCHEMA };
    expect((await rejection(own.generate(request))).details).toMatchObject({ reason: 'rejected' });
    server.next(say('{}'));
    await own.generate(request);
    expect(server.received.at(-1)?.body).toHaveProperty('response_format');
  });

  it.each([
    ['a code fence', '```json\n{"drink":"tea"}\n```'],
    ['a bare fence', '```\n{"drink":"tea"}\n```'],
    ['thoughts', '<think>She said {"drink":"?"}\n</think>\n\n{"drink":"tea"}'],
    ['both', '<think>hm</think>```json\n{"drink":"tea"}\n```'],
    ['blanks', '\n {"drink":"tea"} \n'],
  ])('its JSON is freed from %s', async (_what, content) => {
    server.next(say(content));
    expect((await model().generate({ ...QUESTION, schema: SCHEMA })).text).toBe('{"drink":"tea"}');
  });

  it('keeps a reply that is not to be JSON as it is', async () => {
    server.next(say('```\ncode\n```'));
    expect((await model().generate(QUESTION)).text).toBe('```\ncode\n```');
  });

  it('is given the limit of tokens under the name that the server takes', async () => {
    const own = model();
    server.next(
      refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", {
        param: 'max_tokens',
      }),
    );
    await own.generate({ ...QUESTION, maxTokens: 50 });
    await own.generate({ ...QUESTION, maxTokens: 60 });
    const limits = server.received.map(({ body }) => [body.max_tokens, body.max_completion_tokens]);
    expect(limits).toEqual([
      [50, undefined],
      [undefined, 50],
      [undefined, 60],
    ]);
  });

  it('finds both out in one call', async () => {
    server.next(refuse('no max_tokens here'), refuse('no response_format here'), say('{}'));
    const request = { ...QUESTION, schema: SCHEMA, maxTokens: 50 };
    expect((await model().generate(request)).text).toBe('{}');
    expect(server.received).toHaveLength(3);
  });
});

describe('a server that misbehaves', () => {
  it.each([...TRANSPORT, ...CHAT])('$name: $reason', async (misbehaviour) => {
    const { behave, reason, why, isRetried, isEndless, retryAfterSeconds } = misbehaviour;
    const own = model(isEndless === true ? { timeoutMs: 250 } : {});
    server.always(behave);
    const error = await rejection(own.generate(QUESTION));
    expect(error.code).toBe(reason === 'timeout' ? 'MODEL_TIMEOUT' : 'MODEL_FAILED');
    expect(error.details).toMatchObject({ provider: 'openai', reason });
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('SECRET-OF-THE-PROVIDER');
    expect(server.received).toHaveLength(isRetried === true ? 3 : 1);
    if (retryAfterSeconds !== undefined) expect(error.retryAfterSeconds).toBe(retryAfterSeconds);
    // And nothing of it stays behind.
    server.always(null);
    expect((await model().generate(QUESTION)).text).toMatch(/^You said/);
    if (isEndless !== true) expect((await own.generate(QUESTION)).text).toMatch(/^You said/);
  });

  it('is left alone once the caller gives up', async () => {
    const controller = new AbortController();
    server.next(() => controller.abort());
    const error = await rejection(model().generate({ ...QUESTION, signal: controller.signal }));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { reason: 'aborted' } });
    expect(server.received).toHaveLength(1);
  });
});

describe('options', () => {
  it.each([
    [{}, /name of model-openai is missing/],
    [{ name: 'm', baseUrl: 'ftp://localhost' }, /baseUrl of model-openai must be/],
    [{ name: 'm' }, /apiKey is missing, and https:\/\/api\.openai\.com asks for one/],
    [{ name: 'm', apiKey: 'k', timeoutMs: 0 }, /timeoutMs of model-openai must be/],
    [
      { name: 'm', apiKye: 'k' },
      /apiKye in the options of model-openai is not known; did you mean apiKey/,
    ],
  ])('%o is refused: %s', (options: Partial<OpenAIModelOptions>, message) => {
    const given = options.name === undefined ? { ...options, apiKey: 'k' } : options;
    expect(() => openai(given as OpenAIModelOptions)).toThrow(message);
  });
});

describe('by name, as the environment says it', () => {
  async function openModel(env: Record<string, string>) {
    const cwd = await temporaryDirectory();
    const all = { SERVICE_DATABASE_URL: 'sqlite::memory:', SERVICE_MODEL_NAME: 'small', ...env };
    return (await openConfig(await loadConfig({ argv: [], env: all, cwd }))).service.model;
  }

  it.each([
    ['openai', () => server.baseUrl],
    ['anthropic', () => server.origin],
  ])('%s answers', async (provider, url) => {
    const own = await openModel({
      SERVICE_MODEL_PROVIDER: provider,
      SERVICE_MODEL_BASE_URL: url(),
      SERVICE_MODEL_API_KEY: 'sk-named',
    });
    expect(own).toMatchObject({ name: provider, model: 'small' });
    expect((await own?.generate(QUESTION))?.text).toMatch(/^You said/);
    expect(server.received[0]?.headers.authorization).toBe('Bearer sk-named');
  });

  it('what is missing stops the start, and is named', async () => {
    await expect(openModel({ SERVICE_MODEL_PROVIDER: 'openai' })).rejects.toThrow(
      /SERVICE_MODEL_PROVIDER: model-openai refuses: apiKey is missing/,
    );
  });
});
