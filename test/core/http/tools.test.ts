import { describe, expect, it } from 'vitest';
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
