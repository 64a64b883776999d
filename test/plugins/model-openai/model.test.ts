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
import { guardModel } from '../../../core/subagents/guarded-model.ts';
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

const JSON_REQUEST = { ...QUESTION, schema: SCHEMA };
const TEA = '{"drink":"tea"}';

/** An answer with this message, in the form of the server that the case names. */
const answerWith =
  (message: object, choice: object = {}): Behaviour =>
  ({ body, sendJson }) =>
    sendJson(200, {
      ...(chatAnswer(body.model, '') as object),
      choices: [{ index: 0, message: { role: 'assistant', ...message }, ...choice }],
    });

describe('the form of an answer', () => {
  it.each([
    [
      'Mistral’s parts with thoughts',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: '{"drink":"?"}' }] },
          { type: 'text', text: TEA },
        ],
      },
    ],
    [
      'Databricks’ parts with a summary',
      {
        content: [
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
          { type: 'text', text: '{"drink":' },
          { type: 'text', text: '"tea"}' },
        ],
      },
    ],
    ['parts of the Responses API', { content: [{ type: 'output_text', text: TEA }] }],
    ['parts that are texts', { content: ['{"drink":', '"tea"}'] }],
    ['thoughts beside it', { reasoning_content: '{"drink":"?"}', content: TEA }],
    ['JSON that the server took for thoughts', { reasoning_content: ` ${TEA}\n`, content: null }],
    ['the same by its newer name', { reasoning: TEA, content: '' }],
    ['JSON that is no text', { content: { drink: 'tea' } }],
    ['words before a fence', { content: `Here it is:\n\`\`\`json\n${TEA}\n\`\`\`` }],
    [
      'a call in place of the content',
      {
        content: null,
        tool_calls: [{ type: 'function', function: { name: 'answer', arguments: TEA } }],
      },
    ],
    [
      'a call of a proxy’s own tool',
      {
        content: '',
        tool_calls: [{ type: 'function', function: { name: 'json_tool_call', arguments: TEA } }],
      },
    ],
    [
      'a call by its old name',
      { content: null, function_call: { name: 'answer', arguments: TEA } },
    ],
    [
      'a call with a fence in it',
      {
        tool_calls: [{ function: { name: 'answer', arguments: `\`\`\`json\n${TEA}\n\`\`\`` } }],
      },
    ],
  ])('may be %s', async (_what, message) => {
    server.next(answerWith(message, { finish_reason: 'stop' }));
    expect((await model().generate(JSON_REQUEST)).text).toBe(TEA);
    expect(server.received).toHaveLength(1);
  });

  it('may be JSON that calls itself plain text', async () => {
    server.next(({ body, response }) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end(`\uFEFF${JSON.stringify(chatAnswer(body.model, 'Tea.'))}`);
    });
    expect((await model().generate(QUESTION)).text).toBe('Tea.');
  });

  it('is of words without thoughts', async () => {
    server.next(answerWith({ content: '<think>She likes tea.</think>\n\nTea.' }));
    expect((await model().generate(QUESTION)).text).toBe('Tea.');
  });

  it.each(['stop', 'eos', 'eos_token', 'STOP', 'tool_calls', null, undefined])(
    'may end with %s',
    async (ending) => {
      server.next(answerWith({ content: 'Tea.' }, { finish_reason: ending }));
      expect((await model().generate(QUESTION)).text).toBe('Tea.');
    },
  );

  it.each(['content_filter', 'content_filter: SAFETY', 'SAFETY', 'RECITATION'])(
    'is a refusal where it ends with %s',
    async (ending) => {
      server.next(answerWith({ content: null }, { finish_reason: ending }));
      const error = await rejection(model().generate(QUESTION));
      expect(error.details).toMatchObject({ reason: 'refused' });
    },
  );

  it('is not read where it would hold up everybody', async () => {
    server.always(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"choices":[${'[],'.repeat(2_000_000)}1]}`);
    });
    const { details } = await rejection(model().generate(QUESTION));
    expect(details).toMatchObject({ reason: 'too_large', problem: 'too_complex' });
  });
});

describe('an error', () => {
  const told = async (behave: Behaviour) => {
    server.always(behave);
    return await rejection(model().generate(QUESTION));
  };
  const sendError =
    (status: number, body: unknown): Behaviour =>
    ({ sendJson }) =>
      sendJson(status, body);

  it.each([
    [
      'of OpenAI',
      { error: { message: 'No room.', type: 'server_error', code: null } },
      'server_error: No room',
    ],
    ['of Ollama', { error: 'model is loading' }, 'model is loading'],
    [
      'of vLLM',
      { object: 'error', message: 'No room.', type: 'BadRequest', code: 503 },
      'BadRequest: No room',
    ],
    [
      'of Gemini',
      [{ error: { code: 503, message: 'No room.', status: 'UNAVAILABLE' } }],
      'UNAVAILABLE: No room',
    ],
    ['of FastAPI', { detail: 'Service is busy' }, 'Service is busy'],
    [
      'of a validator',
      { detail: [{ loc: ['body'], msg: 'No room.', type: 'missing' }] },
      'missing: No room',
    ],
    ['of Mistral', { message: 'No room.', request_id: 'abc123' }, 'No room'],
  ])('%s is told in its words', async (_of, body, words) => {
    const error = await told(sendError(503, body));
    expect(error.message).toContain(`the provider answered 503 (${words}).`);
    expect(server.received).toHaveLength(3);
  });

  it.each([
    [{ error: { code: 429, message: 'Slow down.' } }, 'rate_limited', 3],
    [{ error: { code: '503', message: 'No.' } }, 'unavailable', 3],
    [{ error: { message: 'Provider returned error', code: 502 } }, 'unavailable', 3],
    [{ type: 'error', error: { type: 'overloaded_error' } }, 'unavailable', 3],
    [{ object: 'error', code: 400, message: 'Too long.' }, 'rejected', 1],
    [{ error: 'Unexpected endpoint or method. (POST /chat/completions)' }, 'rejected', 1],
    [{ error: { code: 'insufficient_quota' } }, 'no_credit', 1],
    [{ error: { code: 401, message: 'User not found.' } }, 'unauthorized', 1],
    [{ error: { status: 'RESOURCE_EXHAUSTED' } }, 'rate_limited', 3],
    [{ error: {}, choices: [] }, 'unavailable', 3],
  ])('that comes as a success is one: %j is %s', async (body, reason, requests) => {
    const error = await told(sendError(200, body));
    expect(error.details).toMatchObject({ reason });
    expect(server.received).toHaveLength(requests);
  });

  it('that is null is none', async () => {
    server.next(({ proper, sendJson }) => sendJson(200, { ...(proper() as object), error: null }));
    expect((await model().generate(QUESTION)).text).toMatch(/^You said/);
  });

  it('of a filter is a refusal, and no reason to ask in another form', async () => {
    server.always(sendError(400, { error: { code: 'content_filter', message: 'No.' } }));
    const error = await rejection(model().generate(JSON_REQUEST));
    expect(error.details).toMatchObject({ reason: 'refused' });
    expect(server.received).toHaveLength(1);
  });

  it('repeats nothing of the prompt or of the key, whatever the provider says', async () => {
    const secret = 'Her PIN is 4821, she lives in Überlingen, メモは秘密です.';
    server.always(({ body, headers, sendJson }) =>
      sendJson(400, {
        error: {
          message: `Invalid input "${body.messages[1].content}" (key ${headers.authorization}), メモは秘密 at 4821.`,
          code: 'Überlingen',
        },
      }),
    );
    const own = model({ apiKey: 'sk-abc-1' });
    const error = await rejection(own.generate({ system: 'Be brief.', prompt: secret }));
    const shown = JSON.stringify([error.message, error.details]);
    for (const part of ['4821', 'PIN', 'lives', 'berlingen', '秘密', 'abc']) {
      expect(shown).not.toContain(part);
    }
    expect(error.message).toContain('(Invalid input');
    expect((error.details?.['providerMessage'] as string).length).toBeLessThanOrEqual(200);
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

describe('a check', () => {
  const paths = () => server.received.map(({ path }) => path);

  it('asks for the model in the list, and the model for nothing', async () => {
    await guardModel(model()).check({});
    expect(paths()).toEqual(['/v1/models']);
  });

  it.each([404, 405, 403])(
    'asks for one token where the list of models is answered with %i',
    async (status) => {
      server.next(({ sendJson }) => sendJson(status, { error: { message: 'no' } }));
      await guardModel(model({ maxRetries: 0 })).check({});
      expect(paths()).toEqual(['/v1/models', '/v1/chat/completions']);
      expect(server.received[1]?.body).toMatchObject({ max_tokens: 1 });
    },
  );

  it('fails with the reason where the key is refused, without a second question', async () => {
    server.next(({ sendJson }) => sendJson(401, { error: { message: 'no' } }));
    const error = await rejection(guardModel(model({ maxRetries: 0 })).check({}));
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      details: { reason: 'unauthorized', providerStatus: 401 },
    });
    expect(paths()).toEqual(['/v1/models']);
  });

  it('fails where the server has no such model', async () => {
    server.next(
      ({ sendJson }) => sendJson(200, { data: [{ id: 'another' }] }),
      ({ sendJson }) => sendJson(404, { error: { message: 'no such model' } }),
    );
    const error = await rejection(guardModel(model({ maxRetries: 0 })).check({}));
    expect(error).toMatchObject({ details: { providerStatus: 404 } });
  });

  it.each([
    [{ max_model_len: 16_384 }, 16_384],
    [{ context_length: 131_072 }, 131_072],
    [{ loaded_context_length: 8_192, max_context_length: 40_960 }, 8_192],
    [{ context_window: '32k' }, undefined],
    [{ max_model_len: 512 }, undefined],
    [{}, undefined],
  ])('learns how much the model reads from a list that has %j', async (told, expected) => {
    server.next(({ sendJson }) => sendJson(200, { data: [{ id: 'small', ...told }] }));
    const guarded = guardModel(model());
    expect(guarded.contextTokens).toBeUndefined();
    await guarded.check({});
    expect(guarded.contextTokens).toBe(expected);
  });

  it('knows the tag that Ollama puts behind a name', async () => {
    server.next(({ sendJson }) => sendJson(200, { data: [{ id: 'small:latest' }] }));
    await guardModel(model()).check({});
    expect(paths()).toEqual(['/v1/models']);
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
