import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { bindCalls, bindTools, runWithText } from '../../adapters/runner.ts';
import type {
  BuiltInTools,
  ToolArguments,
  ToolDefinition,
  ToolResult,
  ToolRunner,
} from '../../core/contracts/tool.ts';
import type { Plugin } from '../../core/contracts/plugin.ts';
import { createCore } from '../../core/service.ts';
import type { memoryFind } from '../../core/tools/memory_find.ts';
import type { memoryPatch } from '../../core/tools/memory_patch.ts';
import { openService, type ServedService } from './service.ts';
import { sqlite } from '../support/databases.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name);

describe('bindTools', () => {
  it('gives every tool that can be used, and leaves out what lacks a model', async () => {
    const bound = await bindTools(service.tools, { userId: 'alice' });
    expect(names(bound)).toContain('memory_context');
    expect(names(bound)).not.toContain('memory_remember');
  });

  it('gives the tools that are named, also one that cannot be used yet', async () => {
    const tools = ['memory_read', 'memory_remember'];
    expect(names(await bindTools(service.tools, { userId: 'alice', tools }))).toEqual(tools);
  });

  it('gives nothing that writes when it is read-only', async () => {
    const bound = await bindTools(service.tools, { userId: 'alice', readOnly: true });
    expect(names(bound)).toEqual(['memory_list', 'memory_read', 'memory_find', 'memory_context']);
    const tools = ['memory_read', 'memory_write'];
    const some = await bindTools(service.tools, { userId: 'alice', readOnly: true, tools });
    expect(names(some)).toEqual(['memory_read']);
  });

  it.each(['in process', 'over HTTP'])('gives the calls of one run one trace %s', async (how) => {
    const runner = how === 'in process' ? service.tools : service.client();
    const [list] = await bindTools(runner, { userId: 'alice', tools: ['memory_list'] });
    const traceOf = async (run: object | string | null) => {
      const outcome = await list?.run({}, { run });
      return outcome?.ok === true ? outcome.response.traceId : null;
    };
    const id = '0190b6a0-1234-7abc-8000-0123456789ab';
    const hex = id.replaceAll('-', '');
    expect(await traceOf(id)).toBe(hex);
    expect(await traceOf(`trace_${hex}`)).toBe(hex);
    const [one, other] = [{}, () => undefined];
    const traces = [await traceOf(one), await traceOf(other), await traceOf(null)];
    expect(await traceOf(one)).toBe(traces[0]);
    expect(await traceOf(other)).toBe(traces[1]);
    // What is no id of a trace names none.
    traces.push(await traceOf('thread-1'), await traceOf('0'.repeat(32)), await traceOf(''));
    expect(new Set(traces).size).toBe(traces.length);
    for (const trace of traces) expect(trace).toMatch(/^[0-9a-f]{32}$/);
  });

  it('leaves the trace to a traceparent of the app’s own', async () => {
    const traceId = 'ab'.repeat(16);
    const client = service.client({ traceparent: () => `00-${traceId}-${'cd'.repeat(8)}-01` });
    const [list] = await bindTools(client, { userId: 'alice', tools: ['memory_list'] });
    const outcome = await list?.run({}, { run: {} });
    expect(outcome).toMatchObject({ ok: true, response: { traceId } });
  });

  it('refuses a tool that is not there, and says which there are', async () => {
    const bind = bindTools(service.client(), { userId: 'alice', tools: ['memory_reed'] });
    await expect(bind).rejects.toMatchObject({
      code: 'TOOL_NOT_FOUND',
      details: { missing: ['memory_reed'], known: expect.arrayContaining(['memory_read']) },
    });
  });

  it('names the setting of a tool that is off', async () => {
    const bind = bindTools(service.client(), { userId: 'alice', tools: ['memory_delete'] });
    await expect(bind).rejects.toThrow(/SERVICE_TOOLS_DELETE=true, or tools: { delete: true }/);
  });

  it.each([undefined, null, '', 5, '../bob', 'a b', 'x'.repeat(129)])(
    'refuses %o as a user, before any model is asked',
    async (id) => {
      const bind = bindTools(service.tools, { userId: id as string });
      await expect(bind).rejects.toMatchObject({ code: 'INVALID_USER_ID' });
    },
  );

  it('rejects with what asking for the list rejects with', async () => {
    const wrong = bindTools(service.client({ apiKey: 'wrong' }), { userId: 'alice' });
    await expect(wrong).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

describe('a bound tool', () => {
  const bindOne = async (runner: ToolRunner, name: string) => {
    const [tool] = await bindTools(runner, { userId: 'alice', actor: 'bot', tools: [name] });
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    return tool;
  };

  it('keeps the framework’s own id of the call beside the service’s', async () => {
    const tool = await bindOne(service.client(), 'memory_list');
    const outcome = await tool.run({}, { callId: 'call_1' });
    if (!outcome.ok) throw new Error(outcome.text);
    expect(outcome.response.toolCallId).not.toBe('call_1');
    expect(JSON.parse(outcome.text)).toEqual(outcome.response.result);
  });

  it('says code, reason, what to do and the details of what failed', async () => {
    const tool = await bindOne(service.tools, 'memory_write');
    const outcome = await tool.run({ path: 'user/a.md' });
    expect(outcome.ok).toBe(false);
    expect(outcome.text.split('\n')).toEqual([
      'Error INVALID_REQUEST: /content is required.',
      'Fix the fields listed in details.issues, then send it again.',
      'Details: {"issues":[{"path":"/content","message":"is required"}]}',
    ]);
  });

  it('tells a model nothing of an error that is not the service’s', async () => {
    const broken: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: () => Promise.reject(new Error('SELECT secret FROM somewhere')),
    };
    const outcome = await (await bindOne(broken, 'memory_read')).run({});
    expect(outcome.text).toMatch(/^Error INTERNAL: /);
    expect(outcome.text).not.toContain('secret');
  });

  it('rejects when the framework itself stopped the call', async () => {
    const tool = await bindOne(service.client(), 'memory_list');
    const reason = new Error('Stopped.');
    await expect(tool.run({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it.each([
    ['{"path":', /^Error INVALID_REQUEST: The arguments are not valid JSON\./],
    ['', /"files":\[/],
    ['[]', /^Error INVALID_REQUEST: /],
    ['null', /"files":\[/],
  ])('answers the arguments %o in words, whatever they are', async (text, expected) => {
    const tool = await bindOne(service.tools, 'memory_list');
    expect((await runWithText(tool, text)).text).toMatch(expected);
  });
});

describe('a call that no tool is run for', () => {
  /** Takes any arguments, and none. */
  const ran: unknown[] = [];
  const anything: ToolDefinition = {
    name: 'memory_anything',
    title: 'Take anything',
    description: 'Takes anything.',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object' },
    readOnly: false,
    requiresModel: false,
    errorCodes: [],
    example: { arguments: {}, result: {} },
    run(_services, args) {
      ran.push(args);
      return Promise.resolve({});
    },
  };

  it('leaves a tool alone that takes any arguments, when its own are no JSON or it was not given', async () => {
    const plugin: Plugin = {
      name: 'anything',
      apiVersion: 2,
      setup: () => ({ tools: [anything] }),
    };
    const other = await openService({ plugins: [plugin] });
    for (const runner of [other.tools, other.client()]) {
      const [tool] = await bindTools(runner, { userId: 'alice', tools: [anything.name] });
      if (tool === undefined) throw new Error('It is not there.');
      expect((await runWithText(tool, '{"a":')).text).toMatch(/not valid JSON/);
      const given = await bindCalls(runner, { userId: 'alice', tools: ['memory_read'] });
      expect((await given.runUnknown(anything.name, {})).text).toMatch(/^Error TOOL_NOT_FOUND: /);
      expect(ran).toEqual([]);
      expect((await runWithText(tool, '{"a":1}')).ok).toBe(true);
      expect(ran.splice(0)).toEqual([{ a: 1 }]);
    }
    await other.close();
  });

  it('answers at once in its own words when the service cannot be reached, or the name is no name', async () => {
    const dead: ToolRunner = {
      listTools: () => service.tools.listTools(),
      execute: () => Promise.reject(new Error('Gone.')),
    };
    for (const [runner, name] of [
      [dead, 'memory_nothing'],
      [service.client(), '../..'],
      [service.client(), '\ud800'],
    ] as const) {
      const { runUnknown } = await bindCalls(runner, { userId: 'alice' });
      expect((await runUnknown(name, {})).text).toMatch(/^Error TOOL_NOT_FOUND: There is no tool /);
    }
  });

  it('rejects when the framework stopped it', async () => {
    const { runUnknown } = await bindCalls(service.client(), { userId: 'alice' });
    const reason = new Error('Stopped.');
    const stopped = runUnknown('memory_nothing', { signal: AbortSignal.abort(reason) });
    await expect(stopped).rejects.toBe(reason);
  });
});

describe('the types of the tools', () => {
  it('are there for each tool of the service', () => {
    const { definitions } = createCore({
      storage: sqlite({ filename: ':memory:' }),
      tools: { delete: true, move: true },
    }).tools;
    const typed: Record<keyof BuiltInTools, true> = {
      memory_list: true,
      memory_read: true,
      memory_write: true,
      memory_patch: true,
      memory_find: true,
      memory_context: true,
      memory_remember: true,
      memory_delete: true,
      memory_move: true,
    };
    expect(names(definitions)).toEqual(Object.keys(typed));
  });

  it('fit the schemas of the tools, and leave those of plugins open', () => {
    type Find = typeof memoryFind extends ToolDefinition<infer A, infer R> ? [A, R] : never;
    expectTypeOf<BuiltInTools['memory_find']['arguments']>().toExtend<Find[0]>();
    expectTypeOf<BuiltInTools['memory_find']['result']>().toExtend<Find[1]>();
    type Patch = typeof memoryPatch extends ToolDefinition<infer A, infer R> ? [A, R] : never;
    expectTypeOf<BuiltInTools['memory_patch']['result']>().toExtend<Patch[1]>();
    expectTypeOf<ToolResult<'memory_note'>>().toBeUnknown();
    expectTypeOf<ToolArguments<'memory_note'>>().toBeUnknown();
  });
});
