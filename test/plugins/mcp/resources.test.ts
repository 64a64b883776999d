import { describe, expect, it } from 'vitest';
import { ADMIN_SECRET, asAdmin } from '../../core/http/serve.ts';
import { serveMcp } from './clients.ts';
import fc from 'fast-check';
import { parseUri, toUri } from '../../../plugins/mcp/resources.ts';

const file = (path: string, content: string) => ({
  name: 'memory_write',
  arguments: { path, content },
});

describe('memory files as resources', () => {
  it('lists the user’s files and the shared ones, page by page', async () => {
    const { connect, service } = await serveMcp({ sharedWrites: true });
    const client = await connect('alice');
    const paths = Array.from({ length: 130 }, (_, n) => `user/n${String(n).padStart(3, '0')}.md`);
    const context = { userId: 'alice' };
    const others = ['shared/team.md', 'user/data.json', 'user/todo'];
    await Promise.all(
      [...paths, ...others].map((path) =>
        service.tools.execute('memory_write', { context, ...file(path, path) }),
      ),
    );
    await service.tools.execute('memory_write', {
      context: { userId: 'bob' },
      ...file('user/of-bob.md', 'x'),
    });
    const first = await client.listResources();
    expect(first.resources).toHaveLength(100);
    const second = await client.listResources({ cursor: first.nextCursor as string });
    expect(second.nextCursor).toBeUndefined();
    const all = [...first.resources, ...second.resources];
    expect(all.map(({ uri }) => uri).toSorted()).toEqual(
      [...paths, ...others].map((path) => `memory://${path}`).toSorted(),
    );
    const types = new Map(all.map(({ uri, mimeType }) => [uri, mimeType]));
    expect(types.get('memory://user/n000.md')).toBe('text/markdown');
    expect(types.get('memory://user/data.json')).toBe('application/json');
    expect(types.get('memory://user/todo')).toBe('text/plain');
    expect(all.find(({ name }) => name === 'user/todo')).toMatchObject({
      size: 9,
      annotations: { lastModified: expect.stringMatching(/^\d{4}-.*Z$/) as string },
    });
    await expect(client.listResources({ cursor: 'none' })).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'INVALID_CURSOR' },
    });
  });

  it('reads a file by its address, also with a name that has to be encoded', async () => {
    const { connect } = await serveMcp();
    const client = await connect('alice');
    for (const path of [
      'user/a b/naïve # 日本.md',
      'user/100% x'.replace('%', ' '),
      "user/it's.md",
    ]) {
      await client.callTool(file(path, `content of ${path}`));
      const { resources } = await client.listResources();
      const { uri } = resources.find(({ name }) => name === path) ?? { uri: '' };
      const { contents } = await client.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: `content of ${path}`, _meta: { version: 1 } }]);
      // A client may write it out as it is, too.
      expect((await client.readResource({ uri: `memory://${path}` })).contents).toHaveLength(1);
    }
  });

  it('has templates for who knows a path', async () => {
    const { connect } = await serveMcp();
    const client = await connect('alice');
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'memory://user/{+path}',
      'memory://shared/{+path}',
    ]);
  });

  it('completes the path of a template with the files that begin so', async () => {
    const { connect } = await serveMcp({ sharedWrites: true });
    const client = await connect('alice');
    for (const path of ['user/plan.md', 'user/plans/may.md', 'user/tea.md', 'shared/plan.md']) {
      await client.callTool(file(path, 'x'));
    }
    await (await connect('bob')).callTool(file('user/plan-of-bob.md', 'x'));
    const complete = async (uri: string, value: string) => {
      const ref = { type: 'ref/resource' as const, uri };
      return (await client.complete({ ref, argument: { name: 'path', value } })).completion;
    };
    expect(await complete('memory://user/{+path}', 'pla')).toEqual({
      values: ['plan.md', 'plans/may.md'],
      hasMore: false,
    });
    expect((await complete('memory://shared/{+path}', '')).values).toEqual(['plan.md']);
    expect((await complete('memory://user/{+path}', '../bob/')).values).toEqual([]);
    await expect(complete('memory://users/bob/{+path}', '')).rejects.toMatchObject({
      code: -32_602,
    });
  });

  it('says by its code that a file is not there, or that an address is none', async () => {
    const { connect } = await serveMcp();
    const client = await connect('alice');
    await expect(client.readResource({ uri: 'memory://user/none.md' })).rejects.toMatchObject({
      code: -32_002,
      data: { code: 'FILE_NOT_FOUND' },
    });
    for (const uri of [
      'file:///etc/passwd',
      'memory://users/bob/a.md',
      'memory://user/../../etc/passwd',
      'memory://user/%2e%2e/a.md',
      'memory://user/a%2Fb.md',
      'memory://user/%',
      'memory://user/%ff',
      'memory://user/a%00.md',
      'memory://user/%252e%252e/a.md',
      'memory://USER/a.md',
      'memory://user',
      'memory://',
    ]) {
      await expect(client.readResource({ uri }), uri).rejects.toMatchObject({
        code: -32_602,
        data: { code: 'INVALID_PATH' },
      });
    }
  });

  it('leaves an access row for a read, as a tool does', async () => {
    const { connect, request } = await serveMcp({ adminSecret: ADMIN_SECRET });
    const client = await connect('alice', { 'x-actor': 'editor' });
    await client.callTool(file('user/a.md', 'x'));
    await client.readResource({ uri: 'memory://user/a.md' });
    const { json } = await request('GET', '/v1/admin/access-logs?action=read', {
      headers: asAdmin,
    });
    expect(json.items).toMatchObject([
      { path: 'users/alice/a.md', actor: 'editor', tool: 'memory_read', outcome: 'ok' },
    ]);
  });
});

describe('addresses', () => {
  it('give the path back that they were made of', () => {
    const segment = fc
      .string({ minLength: 1, unit: 'grapheme' })
      .filter((text) => !text.includes('/'));
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (segments) => {
        const path = `user/${segments.join('/')}`;
        const uri = toUri(path);
        expect(uri).toMatch(/^memory:\/\/user\/[\x21-\x7e]+$/);
        expect(parseUri(uri)).toBe(path);
      }),
    );
  });
});
