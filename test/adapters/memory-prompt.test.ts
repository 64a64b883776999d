import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { memoryInstructions, toMemoryPrompt } from '../../adapters/openai.ts';
import { startModelServer, type Turn } from '../support/model-server/model-server.ts';
import { openService, type ServedService } from './service.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const ALWAYS = '---\ncontext: always\n---\n\nName: Ann.\n';
const KEY = { apiKey: 'not-checked', maxRetries: 0 };

let users = 0;
/** A user of the test's own, who drinks tea. */
async function newUser(): Promise<string> {
  users += 1;
  const context = { userId: `user-${users}` };
  const files = { 'user/tea.md': 'Drinks green tea.\n', 'user/me.md': ALWAYS };
  for (const [path, content] of Object.entries(files)) {
    await service.tools.execute('memory_write', { context, arguments: { path, content } });
  }
  return context.userId;
}

interface Agent {
  name: string;
  /** Runs an agent with these messages of the user, each in answer to what was said before it. */
  run(input: { runner: ToolRunner; userId: string; url: string; said: string[] }): Promise<string>;
}

const AGENTS: readonly Agent[] = [
  {
    name: 'LangChain createAgent',
    async run({ runner, userId, url, said }) {
      const { createAgent } = await import('langchain');
      const { ChatOpenAI } = await import('@langchain/openai');
      const { recallMemory, toLangChainTools } = await import('../../adapters/langchain.ts');
      const agent = createAgent({
        model: new ChatOpenAI({
          ...{ ...KEY, model: 'scripted', configuration: { baseURL: `${url}/v1` } },
        }),
        tools: await toLangChainTools(service.tools, { userId }),
        systemPrompt: 'You plan visits.',
        middleware: [recallMemory(runner, { userId, maxChars: 1_000 })],
      });
      let messages: object[] = [];
      for (const content of said) {
        const given = [...messages, { role: 'user', content }];
        ({ messages } = await agent.invoke({ messages: given as never }));
      }
      return (messages.at(-1) as { text: string }).text;
    },
  },
  {
    name: 'Vercel AI generateText',
    async run({ runner, userId, url, said }) {
      const ai = await import('ai');
      const { createOpenAI } = await import('@ai-sdk/openai');
      const { recallMemory, toVercelAiTools } = await import('../../adapters/vercel-ai.ts');
      const provider = createOpenAI({ apiKey: 'x', baseURL: `${url}/v1` });
      const agent = {
        model: ai.wrapLanguageModel({
          model: provider.chat('scripted'),
          middleware: recallMemory(runner, { userId, maxChars: 1_000 }),
        }),
        tools: await toVercelAiTools(service.tools, { userId }),
        ...{ stopWhen: ai.stepCountIs(10), maxRetries: 0, system: 'You plan visits.' },
      };
      const messages: Parameters<typeof ai.generateText>[0]['messages'] & object[] = [];
      let text = '';
      for (const content of said) {
        messages.push({ role: 'user', content });
        const answer = await ai.generateText({ ...agent, messages });
        messages.push(...answer.response.messages);
        ({ text } = answer);
      }
      return text;
    },
  },
  {
    name: 'OpenAI runTools',
    async run({ runner, userId, url, said }) {
      const { default: OpenAI } = await import('openai');
      const { toOpenAiRunnableTools } = await import('../../adapters/openai.ts');
      const { completions } = new OpenAI({ ...KEY, baseURL: `${url}/v1` }).chat;
      const tools = await toOpenAiRunnableTools(service.tools, { userId });
      type Messages = Parameters<typeof completions.runTools>[0]['messages'];
      let messages: Messages = [];
      let text = '';
      for (const content of said) {
        messages = [...messages, { role: 'user', content: [{ type: 'text', text: content }] }];
        const recalled = await toMemoryPrompt(runner, messages, { userId, maxChars: 1_000 });
        const system = { role: 'system' as const, content: `You plan visits.\n\n${recalled}` };
        const run = completions.runTools({
          ...{ model: 'scripted', tools },
          messages: [system, ...messages],
        });
        text = (await run.finalContent()) ?? '';
        messages = run.messages.slice(1) as Messages;
      }
      return text;
    },
  },
  {
    name: 'Anthropic messages',
    async run({ runner, userId, url, said }) {
      const { default: Anthropic } = await import('@anthropic-ai/sdk');
      const { toAnthropicTools, toMemoryPrompt } = await import('../../adapters/anthropic.ts');
      const anthropic = new Anthropic({ ...KEY, baseURL: url });
      const { tools, runCalls } = await toAnthropicTools(service.tools, { userId });
      const messages: Parameters<typeof anthropic.messages.create>[0]['messages'] = [];
      let text = '';
      for (const question of said) {
        messages.push({ role: 'user', content: question });
        const recalled = await toMemoryPrompt(runner, messages, { userId, maxChars: 1_000 });
        const system = `You plan visits.\n\n${recalled}`;
        for (let answers: unknown[] = [null]; answers.length > 0;) {
          const request = { model: 'scripted', max_tokens: 100, system, messages, tools };
          const { content } = await anthropic.messages.create(request);
          messages.push({ role: 'assistant', content });
          answers = await runCalls(content);
          if (answers.length > 0) messages.push({ role: 'user', content: answers as never });
          text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        }
      }
      return text;
    },
  },
];

const LIST: Turn = { calls: [{ name: 'memory_list', arguments: {} }] };

/** The system text of each request, in the form of whichever API. */
function systemTexts(requests: readonly { body: unknown }[]): string[] {
  return requests.map(({ body }) => {
    const { system, messages = [] } = body as { system?: unknown; messages?: object[] };
    const parts = system ?? messages.filter((one) => (one as { role: string }).role === 'system');
    return JSON.stringify(parts).replaceAll('\\n', '\n');
  });
}

async function countContexts(userId: string): Promise<number> {
  const rows = await service.admin(`access-logs?userId=${userId}&action=context`);
  return new Set(rows.map(({ toolCallId }) => toolCallId)).size;
}

describe.each(AGENTS)('$name', ({ run }) => {
  it('has memory of the last message before the model at each step, and asks for it once', async () => {
    const userId = await newUser();
    const model = await startModelServer([LIST, { text: 'Green tea.' }]);
    const runner = service.client();
    const said = ['Which tea do I drink?'];
    expect(await run({ runner, userId, url: model.url, said })).toBe('Green tea.');
    expect(model.refusals).toEqual([]);
    const texts = systemTexts(model.requests);
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      expect(text).toContain('You plan visits.');
      expect(text).toContain(memoryInstructions());
      expect(text).toMatch(/^## \w{16} user\/me\.md.*\n\nName: Ann\.$/m);
      expect(text).toMatch(/^## \w{16} user\/tea\.md.*\n\nDrinks green tea\.$/m);
    }
    expect(texts[1]).toBe(texts[0]);
    expect(await countContexts(userId)).toBe(1);
  });

  it('asks anew for the next message of the user', async () => {
    const userId = await newUser();
    const model = await startModelServer([LIST, { text: 'Done.' }]);
    const said = ['Which tea do I drink?', 'And who am I?'];
    await run({ runner: service.tools, userId, url: model.url, said });
    expect(model.refusals).toEqual([]);
    const texts = systemTexts(model.requests);
    expect(texts.at(-1)).not.toContain('green tea');
    expect(texts.at(-1)).toContain('Name: Ann.');
    expect(await countContexts(userId)).toBe(2);
  });

  it('tells the model that memory could not be read, and goes on', async () => {
    const userId = await newUser();
    const model = await startModelServer([{ text: 'I do not know.' }]);
    const runner = service.client({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    const said = ['Which tea do I drink?'];
    expect(await run({ runner, userId, url: model.url, said })).toBe('I do not know.');
    const [text] = systemTexts(model.requests);
    expect(text).toMatch(/Memory could not be searched .*Error SERVICE_UNREACHABLE/);
    expect(text).not.toContain('127.0.0.1');
  });

  it('refuses a bad user id before any model is asked', async () => {
    const model = await startModelServer([]);
    const input = { runner: service.tools, userId: '../bob', url: model.url, said: ['Hello?'] };
    await expect(run(input)).rejects.toMatchObject({ code: 'INVALID_USER_ID' });
    expect(model.requests).toEqual([]);
  });
});

describe('toMemoryPrompt', () => {
  it('says that a search found nothing, rather than nothing', async () => {
    const options = { userId: 'nobody' };
    const text = await toMemoryPrompt(service.tools, 'Which tea?', options);
    expect(text).toMatch(/A search of memory for the last message found nothing\.$/);
  });

  it('asks with the last message of the user that has text, not with results of tools', async () => {
    const userId = await newUser();
    const text = await toMemoryPrompt(
      service.tools,
      [
        { role: 'user', content: [{ type: 'text', text: 'Which tea?' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'x', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'none' }] },
      ],
      { userId },
    );
    expect(text).toContain('Drinks green tea.');
    const picture = [{ role: 'user', content: [{ type: 'image' }] }];
    expect(await toMemoryPrompt(service.tools, picture, { userId })).toContain('Name: Ann.');
  });

  it('tells nobody to write who has no tool for it', async () => {
    const options = { userId: 'alice', readOnly: true };
    const text = await toMemoryPrompt(service.tools, 'Tea?', options);
    expect(text).toContain(memoryInstructions({ readOnly: true }));
    expect(text).not.toContain('Write down');
    expect(memoryInstructions({ tools: ['memory_find'] })).not.toContain('Write down');
    expect(memoryInstructions({ tools: ['memory_remember'] })).toContain('Write down');
  });

  it('stops with the call that it belongs to', async () => {
    const signal = AbortSignal.abort(new Error('The user left.'));
    const options = { userId: 'alice', signal };
    await expect(toMemoryPrompt(service.client(), 'Tea?', options)).rejects.toThrow('user left');
  });
});
