import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { KeepOptions, KeepProblem } from '../../adapters/langchain.ts';
import type { RecallOptions } from '../../adapters/vercel-ai.ts';
import type { ToolRequest, ToolRunner } from '../../core/contracts/tool.ts';
import { startModelServer, type Turn } from '../support/model-server/model-server.ts';
import { COPIES } from './copies.ts';
import { type MemoryModel, PROFILE, startMemoryModel } from './memory-model.ts';
import { openService, type ServedService } from './service.ts';

let service: ServedService;
/** Without a model of its own. */
let plain: ServedService;
let memoryModel: MemoryModel;
beforeAll(async () => {
  memoryModel = await startMemoryModel();
  service = await openService({ model: memoryModel.model, tools: { delete: true } });
  plain = await openService();
});
afterAll(async () => {
  await service.close();
  await plain.close();
  await memoryModel.provider.close();
});

let users = 0;
let userId = '';
beforeEach(() => {
  userId = `keeper-${(users += 1)}`;
});

interface Kept {
  text: string;
  context?: string;
  wait?: boolean;
}

/** The tools of a service, and what was given to `memory_remember`. */
function record(tools: ToolRunner): ToolRunner & { kept: Kept[]; keys: string[] } {
  const kept: Kept[] = [];
  const keys: string[] = [];
  return {
    kept,
    keys,
    listTools: () => tools.listTools(),
    execute(name, request: ToolRequest) {
      if (name === 'memory_remember') {
        kept.push(request.arguments as Kept);
        keys.push(request.idempotencyKey ?? '');
      }
      return tools.execute(name, request);
    },
  };
}

interface Input {
  runner: ToolRunner;
  url: string;
  /** What the user says, turn by turn; a list is several messages at once. */
  said: readonly (string | object[])[];
  options?: Partial<KeepOptions>;
  recall?: Partial<RecallOptions>;
}

interface Agent {
  name: string;
  run(input: Input): Promise<string>;
}

type Messages = { role: string; content: unknown }[];

const toMessages = (said: string | object[]): Messages =>
  typeof said === 'string' ? [{ role: 'user', content: said }] : (said as Messages);

const vercel = (
  call: 'generateText' | 'streamText' | 'ToolLoopAgent',
  isInside: boolean,
): Agent => ({
  name: `Vercel AI ${call}, keepMemory ${isInside ? 'after' : 'before'} recallMemory`,
  async run({ runner, url, said, options, recall }) {
    const ai = await import('ai');
    const { createOpenAI } = await import('@ai-sdk/openai');
    const { keepMemory, recallMemory, toVercelAiTools } =
      await import('../../adapters/vercel-ai.ts');
    const provider = createOpenAI({ apiKey: 'x', baseURL: `${url}/v1` });
    const both = [
      recallMemory(runner, { userId, ...recall }),
      keepMemory(runner, { userId, actor: 'keeper', ...options }),
    ];
    const agent = {
      model: ai.wrapLanguageModel({
        model: provider.chat('scripted'),
        middleware: isInside ? both : both.toReversed(),
      }),
      tools: await toVercelAiTools(service.tools, { userId }),
      stopWhen: ai.stepCountIs(10),
      maxRetries: 0,
    };
    const messages: Messages = [];
    let text = '';
    for (const words of said) {
      messages.push(...toMessages(words));
      const request = { messages: messages as never };
      if (call === 'streamText') {
        const answer = ai.streamText({ ...agent, ...request });
        text = '';
        for await (const part of answer.textStream) text += part;
        messages.push(...((await answer.response).messages as Messages));
      } else {
        const answer =
          call === 'generateText'
            ? await ai.generateText({ ...agent, ...request })
            : await new ai.ToolLoopAgent(agent).generate(request);
        messages.push(...(answer.response.messages as Messages));
        ({ text } = answer);
      }
    }
    return text;
  },
});

const AGENTS: readonly Agent[] = [
  {
    name: 'LangChain createAgent',
    async run({ runner, url, said, options, recall }) {
      const { createAgent } = await import('langchain');
      const { ChatOpenAI } = await import('@langchain/openai');
      const { keepMemory, recallMemory, toLangChainTools } =
        await import('../../adapters/langchain.ts');
      const configuration = { baseURL: `${url}/v1` };
      const agent = createAgent({
        model: new ChatOpenAI({ apiKey: 'x', maxRetries: 0, model: 'scripted', configuration }),
        tools: await toLangChainTools(service.tools, { userId }),
        middleware: [
          recallMemory(runner, { userId, ...recall }),
          keepMemory(runner, { userId, actor: 'keeper', ...options }),
        ],
      });
      let messages: object[] = [];
      for (const words of said) {
        const given = [...messages, ...toMessages(words)];
        ({ messages } = await agent.invoke({ messages: given as never }));
      }
      return (messages.at(-1) as { text: string }).text;
    },
  },
  vercel('generateText', true),
  vercel('generateText', false),
  vercel('streamText', true),
  vercel('ToolLoopAgent', true),
];

const LIST: Turn = { calls: [{ name: 'memory_list', arguments: {} }] };
const FACT = 'I moved to Ghent in May.';

describe.each(AGENTS)('$name', ({ run }) => {
  async function keepsOf(input: Omit<Input, 'url'>, turns: Turn[] = [LIST, { text: 'Noted.' }]) {
    const model = await startModelServer(turns);
    const words = await run({ ...input, url: model.url });
    expect(model.refusals).toEqual([]);
    return words;
  }

  it('gives what the user said to memory, once a turn and without a wait, and nothing else', async () => {
    await service.tools.execute('memory_write', {
      context: { userId },
      arguments: { path: 'user/tea.md', content: 'Drinks tea.\n' },
    });
    const runner = record(service.client());
    const recall = { place: 'user' as const };
    expect(await keepsOf({ runner, said: [FACT, 'I like rain.'], recall })).toBe('Noted.');
    expect(runner.kept).toMatchObject([
      { text: FACT, wait: false },
      // What was said before tells what the words refer to.
      { text: 'I like rain.', wait: false, context: 'Noted.' },
    ]);
    const revisions = await service.admin(`revisions?userId=${userId}&actor=keeper`);
    expect(revisions.map(({ path, tool }) => [path, tool])).toContainEqual([
      `users/${userId}/inbox.md`,
      'memory_remember',
    ]);
  });

  it('keeps each message of a turn, by its text alone, and leaves empty ones out', async () => {
    const runner = record(service.tools);
    const picture = 'data:image/png;base64,iVBORw0KGgo=';
    const said = [
      { role: 'user', content: FACT },
      { role: 'user', content: ' ' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'This is my cat.' },
          {
            type: 'image',
            image: picture,
            source_type: 'base64',
            mime_type: 'image/png',
            data: 'iVBORw0KGgo=',
          },
        ],
      },
    ];
    await keepsOf({ runner, said: [said] });
    expect(runner.kept.map(({ text }) => text)).toEqual([FACT, 'This is my cat.']);
  });

  it('knows a turn that is repeated, and the same words said again later', async () => {
    const runner = record(service.tools);
    const options = { conversation: 'c-1' };
    await keepsOf({ runner, said: [FACT, 'Thanks.', FACT], options });
    const [first, , again] = runner.keys;
    expect(again).not.toBe(first);
    await keepsOf({ runner, said: [FACT], options });
    expect(runner.keys[3]).toBe(first);
    await keepsOf({ runner, said: [FACT], options: { conversation: 'c-2' } });
    expect(runner.keys[4]).not.toBe(first);
    expect(new Set(runner.keys.map((key) => /^[\x21-\x7e]{1,255}$/.test(key)))).toEqual(
      new Set([true]),
    );
  });

  it('keeps what the user said in the inbox, once, and files it where the model says', async () => {
    await service.tools.execute('memory_write', {
      context: { userId },
      arguments: { path: 'user/profile.md', content: PROFILE },
    });
    const said = ['The user now prefers coffee.'];
    const options = { conversation: 'c-3' };
    await keepsOf({ runner: service.client(), said, options });
    await keepsOf({ runner: service.client(), said, options });
    const read = async () => {
      const request = { context: { userId }, arguments: { path: 'user/profile.md' } };
      return (await service.tools.execute('memory_read', request)).result.content;
    };
    await expect.poll(read).toContain('- Prefers coffee.');
    const kept = await service.admin(`revisions?userId=${userId}&actor=keeper`);
    expect(kept.map(({ path }) => path)).toEqual([`users/${userId}/inbox.md`]);
  });

  it('tells of a message that holds a secret, and keeps the others', async () => {
    const problems: KeepProblem[] = [];
    const options = { onProblem: (problem: KeepProblem) => problems.push(problem) };
    const secret = 'My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH.';
    const turn = [secret, FACT].map((content) => ({ role: 'user', content }));
    await keepsOf({ runner: service.tools, said: [turn], options });
    expect(problems).toMatchObject([{ code: 'INVALID_CONTENT' }]);
    expect(JSON.stringify(problems)).not.toContain('sk-proj');
    const kept = await service.admin(`revisions?userId=${userId}&actor=keeper`);
    expect(kept).toHaveLength(1);
  });

  it('leaves out what is too long, or not wanted, and names what is too long', async () => {
    const runner = record(service.tools);
    const problems: KeepProblem[] = [];
    const options = {
      filter: (text: string) => !text.startsWith('Hello'),
      onProblem: (problem: KeepProblem) => problems.push(problem),
      // A busy machine needs longer than usual for a text of this size.
      timeoutMs: 60_000,
    };
    const said = [`${FACT} ${'é'.repeat(16_384)}`, 'Hello there.', '🫖'.repeat(16_384)];
    const turn = said.map((content) => ({ role: 'user', content }));
    expect(await keepsOf({ runner, said: [turn], options })).toBe('Noted.');
    expect(runner.kept.map(({ text }) => text)).toEqual(said.slice(2));
    expect(problems).toEqual([
      { code: 'INVALID_REQUEST', message: expect.stringMatching(/16409 characters .* 16384/) },
    ]);
  });

  it('does nothing without a model, and says so once', async () => {
    const said = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    const runner = record(plain.client());
    for (const words of [FACT, 'I like rain.']) {
      expect(await keepsOf({ runner, said: [words] })).toBe('Noted.');
    }
    expect(runner.kept).toEqual([]);
    expect(said.mock.calls).toEqual([
      [expect.stringMatching(/^memory-service: keepMemory: MODEL_NOT_CONFIGURED: .*SERVICE_MODEL/)],
    ]);
  });

  it('fails no turn when the service cannot be reached, and says so once until it can', async () => {
    const problems: KeepProblem[] = [];
    const gone = service.client({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    let isGone = true;
    const runner: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: (name, request) => (isGone ? gone : service.tools).execute(name, request),
    };
    const options = { onProblem: (problem: KeepProblem) => problems.push(problem) };
    expect(await keepsOf({ runner, said: [FACT, 'I like rain.'], options })).toBe('Noted.');
    expect(problems).toMatchObject([{ code: 'SERVICE_UNREACHABLE' }]);
    isGone = false;
    const kept = record(runner);
    await keepsOf({ runner: kept, said: [FACT], options });
    expect([kept.kept.length, problems.length]).toEqual([1, 1]);
  });

  it('waits for a service that is too slow as long as it may, and no longer', async () => {
    const problems: KeepProblem[] = [];
    const runner: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: (name, request) =>
        name === 'memory_remember'
          ? new Promise(() => undefined)
          : service.tools.execute(name, request),
    };
    const options = {
      timeoutMs: 50,
      onProblem(problem: KeepProblem) {
        problems.push(problem);
        throw new Error('A callback of the app that fails.');
      },
    };
    expect(await keepsOf({ runner, said: [FACT], options })).toBe('Noted.');
    expect(problems).toEqual([
      { code: 'SERVICE_UNREACHABLE', message: expect.stringContaining('50 ms') },
    ]);
  });

  it('keeps nothing of a turn that has no answer, until the next one has', async () => {
    const runner = record(service.tools);
    const model = await startModelServer([]);
    await model.close();
    await run({ runner, url: model.url, said: [FACT] }).catch(() => undefined);
    expect(runner.kept).toEqual([]);
    const turn = [FACT, 'Are you there?'].map((content) => ({ role: 'user', content }));
    await keepsOf({ runner, said: [turn] });
    expect(runner.kept.map(({ text }) => text)).toEqual([FACT, 'Are you there?']);
  });

  it('refuses a bad user id before any model is asked', async () => {
    const options = { userId: '../bob' };
    const refused = run({
      runner: service.tools,
      url: 'http://127.0.0.1:9',
      said: [FACT],
      options,
    });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_USER_ID' });
  });
});

it('takes no summary that LangChain wrote for words of the user', async () => {
  const { createAgent } = await import('langchain');
  const { ChatOpenAI } = await import('@langchain/openai');
  const { HumanMessage } = await import('@langchain/core/messages');
  const { keepMemory } = await import('../../adapters/langchain.ts');
  const server = await startModelServer([{ text: 'Noted.' }]);
  const configuration = { baseURL: `${server.url}/v1` };
  const runner = record(service.tools);
  const agent = createAgent({
    model: new ChatOpenAI({ apiKey: 'x', model: 'scripted', configuration }),
    tools: [],
    middleware: [keepMemory(runner, { userId })],
  });
  const summary = new HumanMessage({
    content: 'Here is a summary of the conversation to date: they like tea.',
    additional_kwargs: { lc_source: 'summarization' },
  });
  await agent.invoke({ messages: [summary, new HumanMessage(FACT)] });
  expect(runner.kept.map(({ text }) => text)).toEqual([FACT]);
});

it.each(Object.entries(COPIES))(
  'keeps the words of the user, and nothing of memory, where %s in between',
  async (_, copy) => {
    const { generateText, wrapLanguageModel } = await import('ai');
    const { createOpenAI } = await import('@ai-sdk/openai');
    const { keepMemory, recallMemory } = await import('../../adapters/vercel-ai.ts');
    await service.tools.execute('memory_write', {
      context: { userId },
      arguments: { path: 'user/tea.md', content: 'Drinks tea.\n' },
    });
    const gone = service.client({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    const runner = record(service.tools);
    // What it holds, that it holds nothing on a question, that it is empty, and that it does not answer.
    const recalls = [
      recallMemory(runner, { userId, place: 'user' }),
      recallMemory(runner, { userId, fill: false }),
      recallMemory(runner, { userId: `${userId}-empty` }),
      recallMemory(gone, { userId }),
    ];
    const server = await startModelServer([{ text: 'Noted.' }]);
    const middleware = [...recalls, copy, keepMemory(runner, { userId })];
    const provider = createOpenAI({ apiKey: 'x', baseURL: `${server.url}/v1` });
    const model = wrapLanguageModel({ model: provider.chat('scripted'), middleware });
    await generateText({ model, prompt: FACT });
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    for (const part of ['Drinks tea.', 'found nothing', 'is empty', 'could not be searched']) {
      expect(sent).toContain(part);
    }
    expect(runner.kept.map(({ text }) => text)).toEqual([FACT]);
  },
);

describe('a user who is answered in other ways than by text', () => {
  const TURNS = ['My name is Ann.', 'I like tea.', 'I moved to Oslo.', 'I got a cat.'];
  const CALL: Turn = { calls: [{ name: 'answer', arguments: {} }] };

  it('is kept once a message by Vercel AI, where each turn ends in the call of a tool', async () => {
    const ai = await import('ai');
    const { createOpenAI } = await import('@ai-sdk/openai');
    const { keepMemory } = await import('../../adapters/vercel-ai.ts');
    const server = await startModelServer(TURNS.map(() => CALL));
    const provider = createOpenAI({ apiKey: 'x', baseURL: `${server.url}/v1` });
    const runner = record(service.tools);
    const middleware = keepMemory(runner, { userId, conversation: 'c' });
    const model = ai.wrapLanguageModel({ model: provider.chat('scripted'), middleware });
    const inputSchema = ai.jsonSchema<object>({ type: 'object' });
    const tools = { answer: ai.tool({ inputSchema, execute: () => 'Shown.' }) };
    const messages: Messages = [];
    for (const content of TURNS) {
      messages.push({ role: 'user', content });
      const { response } = await ai.generateText({
        model,
        tools,
        messages: messages as never,
        stopWhen: ai.hasToolCall('answer'),
      });
      messages.push(...(response.messages as Messages));
    }
    expect(runner.kept.map(({ text }) => text)).toEqual(TURNS);
  });

  it.each([50, 4])(
    'is kept once a message by LangChain, where each turn ends in a tool and %i messages stay',
    async (most) => {
      const { createAgent, tool } = await import('langchain');
      const { ChatOpenAI } = await import('@langchain/openai');
      const { keepMemory } = await import('../../adapters/langchain.ts');
      const server = await startModelServer(TURNS.map(() => CALL));
      const configuration = { baseURL: `${server.url}/v1` };
      const runner = record(service.tools);
      const schema = { type: 'object' as const, properties: {} };
      const answer = tool(() => 'Shown.', {
        name: 'answer',
        description: 'Shows.',
        schema,
        returnDirect: true,
      });
      const agent = createAgent({
        model: new ChatOpenAI({ apiKey: 'x', model: 'scripted', configuration }),
        tools: [answer],
        middleware: [keepMemory(runner, { userId, conversation: 'c' })],
      });
      let messages: object[] = [];
      for (const content of TURNS) {
        const given = [...messages.slice(-most), { role: 'user', content }];
        ({ messages } = await agent.invoke({ messages: given as never }));
      }
      expect(runner.kept.map(({ text }) => text)).toEqual(TURNS);
    },
  );
});

describe('an answer of Vercel AI that ends early', () => {
  /** An answer that goes on for ever, or fails after its first words. */
  async function listen(middleware: object, end: 'hangs' | 'fails') {
    const { wrapLanguageModel } = await import('ai');
    const model = {
      specificationVersion: 'v3',
      provider: 'test',
      modelId: 'test',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('not asked')),
      doStream: ({ abortSignal }: { abortSignal?: AbortSignal }) =>
        Promise.resolve({
          stream: new ReadableStream({
            start(controller) {
              controller.enqueue({ type: 'stream-start', warnings: [] });
              controller.enqueue({ type: 'text-start', id: '1' });
              controller.enqueue({ type: 'text-delta', id: '1', delta: 'Hello ' });
              if (end === 'fails') setTimeout(() => controller.error(new Error('lost')), 20);
              abortSignal?.addEventListener('abort', () => controller.error(abortSignal.reason));
            },
          }),
        }),
    };
    return wrapLanguageModel({ model: model as never, middleware: middleware as never });
  }

  it.each(['is stopped by a signal', 'fails in the middle'] as const)(
    'leaves what the user said in memory, once, where it %s',
    async (end) => {
      const { streamText } = await import('ai');
      const { keepMemory } = await import('../../adapters/vercel-ai.ts');
      const runner = record(service.tools);
      const middleware = keepMemory(runner, { userId });
      const model = await listen(middleware, end === 'fails in the middle' ? 'fails' : 'hangs');
      const stop = new AbortController();
      const answer = streamText({
        model,
        prompt: FACT,
        abortSignal: stop.signal,
        onError: () => undefined,
      });
      const reader = answer.textStream.getReader();
      expect((await reader.read()).value).toBe('Hello ');
      if (end === 'is stopped by a signal') stop.abort();
      if (end === 'fails in the middle') await reader.read().catch(() => undefined);
      await expect.poll(() => runner.kept.map(({ text }) => text)).toEqual([FACT]);
      stop.abort();
      expect(runner.kept).toHaveLength(1);
    },
  );

  it('leaves what the user said in memory where the stream is cancelled', async () => {
    const { keepMemory } = await import('../../adapters/vercel-ai.ts');
    const runner = record(service.tools);
    const model = await listen(keepMemory(runner, { userId }), 'hangs');
    const content = [{ type: 'text' as const, text: FACT }];
    const { stream } = await model.doStream({ prompt: [{ role: 'user', content }] });
    await stream.cancel();
    expect(runner.kept.map(({ text }) => text)).toEqual([FACT]);
  });
});

describe('the key of a message', () => {
  const turn = ['I like tea.', 'Noted.', 'Which one?', 'Green.', 'And at night?', 'Herbal tea.'];

  async function keysOf(said: readonly string[], options: Partial<KeepOptions> = {}) {
    const { HumanMessage, AIMessage } = await import('@langchain/core/messages');
    const { keepMemory } = await import('../../adapters/langchain.ts');
    const keys: string[] = [];
    const runner: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute(_, { idempotencyKey = '' }) {
        keys.push(idempotencyKey);
        return Promise.resolve({} as never);
      },
    };
    // The first and the last are the user's.
    const messages = said.map((text, at) => {
      return (said.length - at) % 2 === 1 ? new HumanMessage(text) : new AIMessage(text);
    });
    const keep = keepMemory(runner, { userId, conversation: 'c', ...options });
    await keep.afterAgent({ messages: [...messages, new AIMessage('Ok.')] }, {} as never);
    return keys;
  }

  it('is the same in two agents, and whether or not an app sends all of its history', async () => {
    const said = [...turn, 'I moved.'];
    const keys = await keysOf(said);
    expect(keys).toHaveLength(1);
    expect(await keysOf(said, { actor: 'other' })).toEqual(keys);
    expect(await keysOf(['Hello.', 'Hello!', ...said])).toEqual(keys);
  });

  it('is another one for the same words later, in another conversation and of another user', async () => {
    const changes = ['tea', 'Noted.', 'coffee', 'Noted.', 'tea', 'Noted.', 'coffee'];
    const [key] = await keysOf(changes);
    expect(await keysOf(changes.slice(0, 3))).not.toEqual([key]);
    expect(await keysOf(changes, { conversation: 'd' })).not.toEqual([key]);
    expect(await keysOf(changes, { userId: 'somebody-else' })).not.toEqual([key]);
  });
});
