import { describe, expect, it } from 'vitest';
import { checkStrictSchema } from '../../support/model-server/check.ts';
import { asAgent, serveCore } from './serve.ts';

describe('a tool call over HTTP', () => {
  it('takes null for what may be left out, in the arguments and in the context', async () => {
    const { request } = await serveCore();
    const execute = (name: string, args: unknown) =>
      request('POST', `/v1/tools/${name}/execute`, {
        headers: asAgent,
        body: {
          context: { userId: 'alice', actor: null, toolCallId: null, timeZone: null },
          arguments: args,
        },
      });
    const path = 'user/a.md';
    const steps: [string, unknown][] = [
      ['memory_list', null],
      ['memory_list', { path: null, limit: null, cursor: null }],
      ['memory_write', { path, content: 'tea\n', reason: null, ifVersion: null }],
      ['memory_patch', { path, edits: null, append: { text: 'milk', afterHeading: null } }],
      [
        'memory_patch',
        { path, edits: [{ oldText: 'tea', newText: 'mate', replaceAll: null }], append: null },
      ],
      ['memory_find', { query: 'mate', path: null, group: null, mode: null, explain: null }],
      ['memory_read', { path, startLine: null, endLine: null }],
    ];
    for (const [name, args] of steps) {
      const { status, text } = await execute(name, args);
      expect(status, text).toBe(200);
    }
    const { json } = await execute('memory_read', { path });
    expect(json.result.content).toBe('mate\nmilk\n');
  });

  it('refuses null for what is required, and for what the tool does not know', async () => {
    const { request } = await serveCore();
    const { status, json } = await request('POST', '/v1/tools/memory_read/execute', {
      headers: asAgent,
      body: { context: { userId: 'alice' }, arguments: { path: null, lines: null } },
    });
    expect(status).toBe(400);
    expect(json.error.details.issues).toEqual([
      { path: '/lines', message: 'is not known' },
      { path: '/path', message: 'must be a string' },
    ]);
  });
});

describe('the list of tools in a format', () => {
  const list = async (query: string, config: Parameters<typeof serveCore>[0] = {}) => {
    const { request } = await serveCore(config);
    return request('GET', `/v1/tools${query}`, { headers: asAgent });
  };

  it.each(['openai', 'openai-responses'])('is as strict mode wants it for %s', async (format) => {
    const everyTool = { delete: true, move: true };
    const { json } = await list(`?format=${format}&strict=true`, { tools: everyTool });
    expect(json.tools).toHaveLength(8);
    for (const tool of json.tools) {
      const { name, parameters, strict } = tool.function ?? tool;
      expect(strict, name).toBe(true);
      expect(() => checkStrictSchema(name, parameters)).not.toThrow();
    }
  });

  it('leaves out a tool that cannot be used, and the plain list says so instead', async () => {
    for (const format of ['openai', 'openai-responses', 'anthropic', 'mcp']) {
      expect((await list(`?format=${format}`)).text).not.toContain('memory_remember');
    }
    const { json } = await list('');
    expect(json.tools).toContainEqual(
      expect.objectContaining({ name: 'memory_remember', available: false }),
    );
  });

  it('has no strict mode but for OpenAI', async () => {
    for (const query of [
      '?strict=true',
      '?format=anthropic&strict=true',
      '?format=mcp&strict=false',
    ]) {
      const { status, json } = await list(query);
      expect(status, query).toBe(400);
      expect(json.error.details.issues).toEqual([
        { path: '/strict', message: 'needs format=openai or format=openai-responses' },
      ]);
    }
  });

  it('names the type of each enum that a model fills in', async () => {
    const { json } = await list('', { tools: { delete: true, move: true } });
    const untyped = (schema: unknown): unknown[] => {
      if (typeof schema !== 'object' || schema === null) return [];
      const below = Object.values(schema).flatMap(untyped);
      return 'enum' in schema && !('type' in schema) ? [schema, ...below] : below;
    };
    for (const { inputSchema } of json.tools) expect(untyped(inputSchema)).toEqual([]);
  });
});

describe('a list of files that is asked for with every argument', () => {
  it('takes an empty cursor for the first page, and an empty path for everything', async () => {
    const { request } = await serveCore();
    const execute = async (name: string, args: object) => {
      const body = { context: { userId: 'alice' }, arguments: args };
      const { json } = await request('POST', `/v1/tools/${name}/execute`, {
        headers: asAgent,
        body,
      });
      return json.result;
    };
    for (const path of ['user/a.md', 'user/b.md']) {
      await execute('memory_write', { path, content: 'tea\n' });
    }
    const first = await execute('memory_list', { path: '', limit: 1, cursor: '' });
    expect(first.files).toMatchObject([{ path: 'user/a.md' }]);
    const cursor = first.nextCursor as string;
    const second = await execute('memory_list', { limit: 1, cursor });
    expect(second).toMatchObject({ files: [{ path: 'user/b.md' }], nextCursor: null });
    expect(await execute('memory_list', { path: '', limit: 1, cursor })).toEqual(second);
  });
});
