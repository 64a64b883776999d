import { describe, expect, it, afterAll, beforeAll } from 'vitest';
import { toAnthropicTools } from '../../adapters/anthropic.ts';
import { toAnthropicMemoryTool } from '../../adapters/anthropic-memory.ts';
import { recallMemory, toLangChainTools } from '../../adapters/langchain.ts';
import { toOpenAiChatTools, toOpenAiResponsesTools } from '../../adapters/openai.ts';
import { toVercelAiTools } from '../../adapters/vercel-ai.ts';
import { toMemoryPrompt } from '../../adapters/memory-prompt.ts';
import { nameTools } from '../../core/schemas/tool-prefix.ts';
import { startModelServer } from '../support/model-server/model-server.ts';
import { LOOPS } from './loops.ts';
import { openService, type ServedService } from './service.ts';

const PROFILE = { path: 'user/profile.md' };
const TOOLS = ['memory_list', 'memory_read', 'memory_write', 'memory_patch', 'memory_find'];
const options = (userId: string) => ({ userId, tools: TOOLS });
const team = { ...options('team'), toolPrefix: 'team_' };

let service: ServedService;
beforeAll(async () => {
  service = await openService();
  for (const userId of ['alice', 'team']) {
    const content = `# Of ${userId}\n`;
    const request = { context: { userId }, arguments: { ...PROFILE, content } };
    await service.tools.execute('memory_write', request);
  }
});
afterAll(() => service.close());

describe.each(LOOPS.map((loop) => [loop.name, loop] as const))('%s with a prefix', (_, loop) => {
  it('runs the tools by their new names, and the trail has the plain ones', async () => {
    const actor = `loop ${LOOPS.indexOf(loop)}`;
    const read = { ...PROFILE, ...(loop.isStrict ? { startLine: null, endLine: null } : {}) };
    const absent = { ...read, path: 'user/nothing.md' };
    const model = await startModelServer([
      {
        calls: [
          { name: 'team_memory_read', arguments: read },
          { name: 'team_memory_read', arguments: absent },
        ],
      },
    ]);
    await loop.run({ runner: service.tools, options: { ...team, actor }, url: model.url });
    expect(model.refusals).toEqual([]);
    const [first, last] = [model.requests[0], model.requests.at(-1)];
    const given = JSON.stringify(first?.body.tools);
    // Also where the description of one tool names another.
    expect(given).toContain('use team_memory_patch.');
    expect(given).not.toMatch(/(?<!team_)memory_/);
    const texts = (last?.answers ?? []).map(({ text }) => loop.toText?.(text) ?? text);
    expect(texts.find((text) => text.includes('# Of team'))).toBeDefined();
    expect(texts.find((text) => text.includes('FILE_NOT_FOUND'))).toContain(
      'List the files with team_memory_list, or create it with team_memory_write.',
    );
    const rows = await service.admin(`access-logs?userId=team&actor=${actor}`);
    expect(rows.map(({ tool }) => tool)).toEqual(['memory_read', 'memory_read']);
  });
});

describe('two memories in one agent', () => {
  it('have tools of different names in each adapter', async () => {
    const { tools: runner } = service;
    const chain = [options('alice'), team].map((one) => toLangChainTools(runner, one));
    const vercel = [options('alice'), team].map((one) => toVercelAiTools(runner, one));
    const names = [
      (await Promise.all(chain)).flat().map(({ name }) => name),
      (await Promise.all(vercel)).flatMap((set) => Object.keys(set)),
    ];
    for (const list of names) expect(new Set(list).size).toBe(2 * TOOLS.length);
  });

  it('answer their own calls alone in a loop of your own', async () => {
    const call = (name: string) => ({ name, arguments: JSON.stringify(PROFILE) });
    const chat = await toOpenAiChatTools(service.tools, team);
    const names = ['team_memory_read', 'memory_read', 'team_memory_nothing'];
    const calls = names.map((name) => ({ type: 'function', id: name, function: call(name) }));
    expect((await chat.runCalls(calls)).map(({ tool_call_id: id }) => id)).toEqual([
      'team_memory_read',
      'team_memory_nothing',
    ]);
    const responses = await toOpenAiResponsesTools(service.tools, team);
    const items = names.map((name) => ({ type: 'function_call', call_id: name, ...call(name) }));
    const outputs = await responses.runCalls(items);
    expect(outputs.map(({ call_id: id }) => id)).toEqual([
      'team_memory_read',
      'team_memory_nothing',
    ]);
    expect(outputs[1]?.output).toMatch(/^Error TOOL_NOT_FOUND: .*team_memory_read/);
    const anthropic = await toAnthropicTools(service.tools, team);
    const uses = names.map((name) => ({ type: 'tool_use', id: name, name, input: PROFILE }));
    const results = await anthropic.runCalls(uses as never);
    expect(results.map(({ tool_use_id: id }) => id)).toEqual([
      'team_memory_read',
      'team_memory_nothing',
    ]);
    // The call of a tool that there is not is in the trail, by its plain name.
    const refused = async () => {
      const events = await service.admin('observability/events?userId=team&limit=500');
      return events.filter(({ errorCode }) => errorCode === 'TOOL_NOT_FOUND').length;
    };
    await expect.poll(refused).toBe(3);
  });

  it('are told apart in the prompt, and as middleware', async () => {
    const text = await toMemoryPrompt(service.tools, 'What is known?', team);
    expect(text).toContain('Its tools are those whose names begin with team_.');
    const names = [options('alice'), team].map((one) => recallMemory(service.tools, one).name);
    expect(names).toEqual(['recallMemory', 'team_recallMemory']);
  });

  it.each(['2nd_', 'tëam_', 'te am', 'a.b', 'x'.repeat(33), 5 as unknown as string])(
    'are refused with the prefix %j, before a model is asked',
    async (toolPrefix) => {
      await expect(
        toLangChainTools(service.tools, { ...options('alice'), toolPrefix }),
      ).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        details: { issues: [{ path: '/toolPrefix' }] },
      });
    },
  );

  it("are refused for Anthropic's memory tool, whose name is fixed", async () => {
    await expect(toAnthropicMemoryTool(service.tools, team as never)).rejects.toThrow(
      /takes no toolPrefix/,
    );
  });
});

describe('names with a prefix', () => {
  const tool = (name: string) => ({ name, description: '', inputSchema: {}, outputSchema: {} });

  it('are at most 64 characters long, as providers want it', () => {
    const long = [tool('x'.repeat(60))] as never;
    expect(nameTools(long, 'abc_').toShown('x')).toBe('abc_x');
    expect(() => nameTools(long, 'abcd_')).toThrow(/at most 4 characters/);
  });

  it('change the names of tools in a text, and no path that has one in it', () => {
    const { rename } = nameTools([tool('memory_list')] as never, 't_');
    expect(rename('Use memory_list. user/memory_list.md, memory_lists, memory_list/x')).toBe(
      'Use t_memory_list. user/memory_list.md, memory_lists, memory_list/x',
    );
  });
});
