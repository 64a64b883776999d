import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { anthropic, type AnthropicModelOptions } from '../../../plugins/model-anthropic/index.ts';
import { MESSAGES, TRANSPORT } from '../../support/provider-server/misbehaviour.ts';
import { type ProviderServer, startProviderServer } from '../../support/provider-server/server.ts';
import { guardModel } from '../../../core/subagents/guarded-model.ts';
import { rejection } from '../../support/rejection.ts';

let server: ProviderServer;
beforeAll(async () => {
  server = await startProviderServer({
    reply: (body) => (body.tools === undefined ? 'She drinks tea.' : '{"drink":"tea"}'),
  });
});
beforeEach(() => {
  server.received.length = 0;
});
afterAll(async () => {
  await server.close();
  expect(server.violations).toEqual([]);
});

const QUESTION = { system: 'Be brief.', prompt: 'What does she drink?' };

function model(options: Partial<AnthropicModelOptions> = {}) {
  return anthropic({ baseUrl: server.origin, name: 'claude', retryDelayMs: 1, ...options });
}

describe('a model of Anthropic’s', () => {
  it('answers with text and the tokens that the provider counted', async () => {
    expect(await model({ apiKey: 'sk-ant' }).generate({ ...QUESTION, maxTokens: 50 })).toEqual({
      text: 'She drinks tea.',
      inputTokens: 11,
      outputTokens: 7,
    });
    expect(server.received[0]?.body).toEqual({
      model: 'claude',
      max_tokens: 50,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'What does she drink?' }],
    });
    expect(server.received[0]?.headers.authorization).toBe('Bearer sk-ant');
  });

  it('gives JSON of a schema as the arguments of a tool that it must call', async () => {
    const schema = { type: 'object', properties: { drink: { type: 'string' } } };
    expect((await model().generate({ ...QUESTION, schema })).text).toBe('{"drink":"tea"}');
    expect(server.received[0]?.body.tools[0].input_schema).toEqual(schema);
    expect(server.received[0]?.body.tool_choice.name).toBe(server.received[0]?.body.tools[0].name);
  });

  it('names the tool by the title of the schema, where the API accepts that as a name', async () => {
    for (const [title, name] of [
      ['memory_edits', 'memory_edits'],
      ['Memory edits', 'answer'],
      ['é', 'answer'],
    ]) {
      const schema = { title, type: 'object', properties: { drink: { type: 'string' } } };
      expect((await model().generate({ ...QUESTION, schema })).text).toBe('{"drink":"tea"}');
      const { tools, tool_choice: choice } = server.received.at(-1)?.body ?? {};
      expect([tools[0].name, choice.name]).toEqual([name, name]);
    }
  });

  it('gives what it has of a reply that was cut off to a request that accepts that', async () => {
    const schema = { type: 'object', properties: { drink: { type: 'string' } } };
    const cut = (content: object[]) =>
      server.next(({ proper, sendJson }) =>
        sendJson(200, { ...(proper() as object), content, stop_reason: 'max_tokens' }),
      );
    const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'answer', input: { drink: 'te' } };
    cut([toolUse]);
    expect(await model().generate({ ...QUESTION, schema, acceptsCutOff: true })).toMatchObject({
      text: '{"drink":"te"}',
      isCutOff: true,
    });
    cut([toolUse]);
    const refused = await rejection(model().generate({ ...QUESTION, schema }));
    expect(refused.details).toMatchObject({ reason: 'cut_off' });
    // Thoughts took all the tokens.
    cut([]);
    const empty = await rejection(model().generate({ ...QUESTION, schema, acceptsCutOff: true }));
    expect(empty.details).toMatchObject({ reason: 'cut_off' });
  });

  it('takes a value that is no object out of the object that it was put into', async () => {
    server.next(({ proper, sendJson }) => {
      const answer = proper() as { content: object[] };
      const content = [{ ...answer.content[0], input: { value: ['tea', 'water'] } }];
      sendJson(200, { ...answer, content });
    });
    const schema = { type: 'array', items: { type: 'string' } };
    expect((await model().generate({ ...QUESTION, schema })).text).toBe('["tea","water"]');
  });

  it('gives the words that came in place of the call, for the caller to check', async () => {
    server.next(({ proper, sendJson }) =>
      sendJson(200, {
        ...(proper() as object),
        content: [{ type: 'text', text: 'I would rather not.' }],
        stop_reason: 'end_turn',
      }),
    );
    const schema = { type: 'object' };
    expect((await model().generate({ ...QUESTION, schema })).text).toBe('I would rather not.');
  });
});

describe('a server that misbehaves', () => {
  it.each([...TRANSPORT, ...MESSAGES])('$name: $reason', async (misbehaviour) => {
    const { behave, reason, why, isRetried, isEndless, retryAfterSeconds } = misbehaviour;
    const own = model(isEndless === true ? { timeoutMs: 250 } : {});
    server.always(behave);
    const error = await rejection(own.generate(QUESTION));
    expect(error.code).toBe(reason === 'timeout' ? 'MODEL_TIMEOUT' : 'MODEL_FAILED');
    expect(error.details).toMatchObject({ provider: 'anthropic', reason });
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('SECRET-OF-THE-PROVIDER');
    expect(server.received).toHaveLength(isRetried === true ? 3 : 1);
    if (retryAfterSeconds !== undefined) expect(error.retryAfterSeconds).toBe(retryAfterSeconds);
    server.always(null);
    expect((await model().generate(QUESTION)).text).toBe('She drinks tea.');
  });
});

describe('options', () => {
  it.each([
    [{ apiKey: 'k' }, /name of model-anthropic is missing/],
    [{ name: 'claude' }, /apiKey is missing, and https:\/\/api\.anthropic\.com asks for one/],
    [{ name: 'claude', apiKey: 'k', maxTokens: 0 }, /maxTokens of model-anthropic must be/],
  ])('%o is refused: %s', (options: Partial<AnthropicModelOptions>, message) => {
    expect(() => anthropic(options as AnthropicModelOptions)).toThrow(message);
  });
});

describe('a check', () => {
  const paths = () => server.received.map(({ path }) => path);

  it('asks for the model in the list, and the model for nothing', async () => {
    await guardModel(model()).check({});
    expect(paths()).toEqual(['/v1/models/claude']);
  });

  it.each([404, 405, 403])(
    'asks for one token where the list of models is answered with %i',
    async (status) => {
      server.next(({ sendJson }) => sendJson(status, { error: { message: 'no' } }));
      await guardModel(model({ maxRetries: 0 })).check({});
      expect(paths()).toEqual(['/v1/models/claude', '/v1/messages']);
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
    expect(paths()).toEqual(['/v1/models/claude']);
  });

  it('fails where the server has no such model', async () => {
    server.next(
      ({ sendJson }) => sendJson(404, {}),
      ({ sendJson }) => sendJson(404, { error: { message: 'no such model' } }),
    );
    const error = await rejection(guardModel(model({ maxRetries: 0 })).check({}));
    expect(error).toMatchObject({ details: { providerStatus: 404 } });
  });
});
