import { describe, expect, it } from 'vitest';
import { asAgent } from '../../core/http/serve.ts';
import { serveMcp } from './clients.ts';

const asAlice = { ...asAgent, 'x-user-id': 'alice', accept: 'application/json, text/event-stream' };

describe('x-spaces', () => {
  it('names the spaces of a call, with ids that have colons', async () => {
    const { request } = await serveMcp();
    const rpc = async (method: string, params: object, spaces?: string) => {
      const headers = { ...asAlice, ...(spaces === undefined ? {} : { 'x-spaces': spaces }) };
      const body = { jsonrpc: '2.0', id: 1, method, params };
      return (await request('POST', '/v1/mcp', { headers, body })).json;
    };
    const use = (name: string, args: object, spaces?: string) =>
      rpc('tools/call', { name, arguments: args }, spaces);
    const path = 'spaces/team:7/tea.md';
    const written = await use(
      'memory_write',
      { path, content: 'tea\n' },
      ' team:7:write , docs:read',
    );
    expect(written.result.isError ?? false).toBe(false);
    const read = await use('memory_read', { path }, 'team:7:read');
    expect(read.result.structuredContent).toMatchObject({ path, content: 'tea\n' });
    const denied = await use('memory_write', { path, content: 'x' }, 'team:7:read');
    expect(JSON.stringify(denied.result)).toContain('READ_ONLY_SCOPE');
    const refused = await use('memory_read', { path }, 'docs:read');
    expect(JSON.stringify(refused.result)).toContain('SPACE_NOT_ALLOWED');
    expect(JSON.stringify((await use('memory_read', { path })).result)).toContain(
      'SPACE_NOT_ALLOWED',
    );
    for (const bad of ['acme', 'acme:', 'acme:all', ':read', 'a:read,a:read', 'a:read,,b:read']) {
      const answer = await use('memory_list', {}, bad);
      expect([bad, answer.error?.data?.code]).toEqual([bad, 'INVALID_REQUEST']);
    }
    const { result } = await rpc('resources/list', {}, 'team:7:read');
    expect(result.resources.map(({ name }: { name: string }) => name)).toContain(path);
    const uri = `memory://spaces/${encodeURIComponent('team:7')}/tea.md`;
    const shown = await rpc('resources/read', { uri }, 'team:7:read');
    expect(shown.result.contents[0].text).toBe('tea\n');
    const templates = async (spaces?: string) =>
      (await rpc('resources/templates/list', {}, spaces)).result.resourceTemplates.map(
        ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
      );
    const complete = async (value: string, spaces?: string) => {
      const ref = { type: 'ref/resource', uri: 'memory://spaces/{+path}' };
      return await rpc('completion/complete', { ref, argument: { name: 'path', value } }, spaces);
    };
    expect(await templates('team:7:read')).toContain('memory://spaces/{+path}');
    expect(await templates()).toEqual(['memory://user/{+path}', 'memory://shared/{+path}']);
    const typed = await complete('te', 'team:7:read');
    expect(typed.result.completion.values).toEqual(['team:7/tea.md']);
    for (const value of ['te', 'team:7/', '']) {
      const other = await complete(value, 'docs:read');
      expect(other.result.completion.values).toEqual([]);
      expect((await complete(value)).error.data.code).toBe('INVALID_REQUEST');
    }
    const hidden = await rpc('resources/read', { uri });
    expect(hidden.error.data.code).toBe('SPACE_NOT_ALLOWED');
  });
});
