import { describe, expect, it } from 'vitest';
import type {
  AdminToolCallDetail,
  Influence,
  ShownContent,
} from '../../../core/contracts/admin.ts';
import { accessRow } from '../../support/rows.ts';
import { serveWithModel } from '../../support/model-service.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';

const BASE = '/v1/admin/observability';

async function execute(server: LiveServer, tool: string, args: object, userId = 'alice') {
  const body = { context: { userId }, arguments: args };
  const { json, status } = await server.request('POST', `/v1/tools/${tool}/execute`, {
    headers: asAgent,
    body,
  });
  expect(status, JSON.stringify(json)).toBe(200);
  return json as { toolCallId: string; result: Record<string, unknown> };
}

const write = (server: LiveServer, content: string, path = 'user/a.md') =>
  execute(server, 'memory_write', { path, content });

const get = (server: LiveServer, path: string) =>
  server.request('GET', `${BASE}/${path}`, { headers: asAdmin });

async function influence(server: LiveServer, query: Record<string, string | number>) {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, `${value}`);
  const { json, status } = await get(server, `influence?${text}`);
  expect(status, JSON.stringify(json)).toBe(200);
  return json as Influence;
}

async function shownTo(server: LiveServer, toolCallId: string): Promise<ShownContent[]> {
  const { json } = await get(server, `tool-calls/${toolCallId}`);
  return (json as AdminToolCallDetail).shown;
}

/** Newest first: the call, the version that it was shown, and where the line stood there. */
const callsOf = ({ items }: Influence) =>
  items.map(({ toolCallId, version, line }) => ({ toolCallId, version, line }));

const A = { path: 'users/alice/a.md' };

describe('who was shown a line', () => {
  it('are the calls that were given it, in whatever version and at whatever place', async () => {
    const server = await serveCore();
    await write(server, 'tea\npoison\nrice\n');
    const whole = await execute(server, 'memory_read', { path: 'user/a.md' });
    const above = await execute(server, 'memory_read', { path: 'user/a.md', endLine: 1 });
    await write(server, '# Food\n\ntea\npoison\nrice\n');
    const range = await execute(server, 'memory_read', {
      path: 'user/a.md',
      startLine: 4,
      endLine: 9,
    });
    await execute(server, 'memory_read', { path: 'user/a.md', startLine: 5 });
    await execute(server, 'memory_read', { path: 'user/a.md', startLine: 99 });
    await execute(server, 'memory_list', { path: 'user/' });
    await write(server, '# Food\n\ntea\nrice\n');
    await execute(server, 'memory_read', { path: 'user/a.md' });

    const found = await influence(server, { ...A, version: 2, line: 4 });
    expect(found.line).toEqual({ ...A, version: 2, line: 4, text: 'poison', complete: true });
    expect(found.revision?.version).toBe(2);
    expect(callsOf(found)).toEqual([
      { toolCallId: range.toolCallId, version: 2, line: 4 },
      { toolCallId: whole.toolCallId, version: 1, line: 2 },
    ]);
    expect(found.items[0]?.lines).toEqual([{ startLine: 4, endLine: 5 }]);
    const first = found.items.at(-1)?.revisionId ?? '';
    expect(callsOf(await influence(server, { revisionId: first, line: 2 }))).toEqual(
      callsOf(found),
    );
    const page = await influence(server, { ...A, version: 1, line: 2, limit: 1 });
    const next = { ...A, version: 1, line: 2, limit: 1, cursor: page.nextCursor ?? '' };
    expect([...callsOf(page), ...callsOf(await influence(server, next))]).toEqual(callsOf(found));
    // Without a line: everyone who was shown any of that version.
    const any = await influence(server, { ...A, version: 1 });
    expect(any.items.map(({ toolCallId }) => toolCallId)).toEqual([
      above.toolCallId,
      whole.toolCallId,
    ]);
    expect(any.line).toBeNull();
  });

  it('are the calls of a find and a context whose text, or whose headings, had it', async () => {
    const server = await serveCore();
    const tea = `Green tea, no sugar${', but with milk'.repeat(20)}.`;
    await write(server, `# Drinks\n\n${tea}\n\n# Work\n\nA bank in Oslo.\n`);
    const find = await execute(server, 'memory_find', { query: 'sugar tea' });
    const context = await execute(server, 'memory_context', {
      query: 'bank in Oslo',
      maxChars: 200,
    });
    const calls = async (line: number) =>
      (await influence(server, { ...A, line })).items.map(({ toolCallId }) => toolCallId);
    expect(await calls(3)).toEqual([find.toolCallId]);
    expect(await calls(1)).toEqual([find.toolCallId]);
    expect(await calls(7)).toEqual([context.toolCallId]);
    expect(await calls(5)).toEqual([context.toolCallId]);
    expect(await calls(4)).toEqual([]);
  });

  it('are the readers of the file that the line was moved from, too', async () => {
    const server = await serveCore({ tools: { move: true } });
    await write(server, 'one\npoison\n');
    const before = await execute(server, 'memory_read', { path: 'user/a.md' });
    await execute(server, 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    const after = await execute(server, 'memory_find', { query: 'poison' });
    const found = await influence(server, { path: 'users/alice/b.md', line: 2 });
    expect(callsOf(found).map(({ toolCallId }) => toolCallId)).toEqual([
      after.toolCallId,
      before.toolCallId,
    ]);
    for (const limit of [1, 2]) {
      const page = await influence(server, { ...A, version: 1, line: 2, limit });
      expect(callsOf(page)).toEqual(callsOf(found).slice(0, limit));
    }
  });

  it('are the readers from before a write that was taken out of the file, too', async () => {
    const server = await serveCore();
    await write(server, 'tea\npoison\nrice\n');
    const before = await execute(server, 'memory_read', { path: 'user/a.md' });
    await write(server, 'tea\nrice\n');
    await execute(server, 'memory_read', { path: 'user/a.md' });
    await write(server, '# Food\n\ntea\nrice\nbread\n');
    const { json } = await server.request('GET', '/v1/admin/revisions?path=users/alice/a.md', {
      headers: asAdmin,
    });
    const removed = json.items.find(({ version }: { version: number }) => version === 2);
    const reverted = await server.request('POST', `/v1/admin/revisions/${removed.id}/revert`, {
      headers: asAdmin,
      body: {},
    });
    expect(reverted.json.files).toMatchObject([{ outcome: 'merged', version: 4 }]);
    const after = await execute(server, 'memory_read', { path: 'user/a.md', startLine: 4 });
    const found = await influence(server, { ...A, line: 4 });
    expect(found.line).toMatchObject({ version: 4, text: 'poison', complete: true });
    expect(callsOf(found)).toEqual([
      { toolCallId: after.toolCallId, version: 4, line: 4 },
      { toolCallId: before.toolCallId, version: 1, line: 2 },
    ]);
  });

  it('may be readers whose lines were not recorded: they are listed as unknown', async () => {
    const server = await serveCore();
    const { result } = await write(server, 'tea\npoison\n');
    await write(server, 'poison\n');
    const old = { path: 'a.md', fileNo: 1, revisionId: String(result['revisionId']) };
    await server.core.storage.log.append({
      access: [accessRow('u:alice', old), accessRow('u:alice', { ...old, outcome: 'denied' })],
      events: [],
    });
    const found = await influence(server, { ...A, line: 1 });
    expect(found.items).toMatchObject([{ version: null, lines: null, line: 2 }]);
  });

  it('is asked of a file that is there, a version that is kept, and a line that it has', async () => {
    const server = await serveCore();
    await write(server, 'tea\n');
    const absent = '0190b6a0-0000-7000-8000-000000000000';
    for (const [query, status, code] of [
      ['line=1', 400, 'INVALID_REQUEST'],
      [`revisionId=${absent}&path=users/alice/a.md`, 400, 'INVALID_REQUEST'],
      [`revisionId=${absent}&version=1`, 400, 'INVALID_REQUEST'],
      ['path=users/alice/a.md&line=2', 400, 'INVALID_REQUEST'],
      ['path=users/alice/a.md&line=0', 400, 'INVALID_REQUEST'],
      ['path=nowhere/a.md&line=1', 400, 'INVALID_PATH'],
      ['path=users/alice/b.md&line=1', 404, 'FILE_NOT_FOUND'],
      ['path=users/alice/a.md&version=9&line=1', 404, 'REVISION_NOT_FOUND'],
      ['path=users/alice/a.md&version=9', 404, 'REVISION_NOT_FOUND'],
      [`revisionId=${absent}&line=1`, 404, 'REVISION_NOT_FOUND'],
      ['revisionId=x&line=1', 404, 'REVISION_NOT_FOUND'],
    ] as const) {
      const answer = await get(server, `influence?${query}`);
      expect([answer.status, answer.json.error?.code], query).toEqual([status, code]);
    }
  });
});

describe('what a tool call was shown', () => {
  it('is exactly the lines of that version, also after the file has changed', async () => {
    const server = await serveCore();
    await write(server, 'tea\nrice\nbread\n');
    const read = await execute(server, 'memory_read', { path: 'user/a.md', startLine: 2 });
    const whole = await execute(server, 'memory_read', { path: 'user/a.md' });
    await write(server, 'nothing\n');
    expect(await shownTo(server, read.toolCallId)).toMatchObject([
      {
        ...A,
        action: 'read',
        version: 1,
        lines: [{ startLine: 2, endLine: 3, content: read.result['content'] }],
      },
    ]);
    expect(await shownTo(server, whole.toolCallId)).toMatchObject([
      { version: 1, lines: [{ startLine: 1, endLine: 3, content: 'tea\nrice\nbread\n' }] },
    ]);
    const written = await write(server, 'more\n');
    expect(await shownTo(server, written.toolCallId)).toEqual([]);
  });

  it('has no content once it is pruned, and no lines where they were not recorded', async () => {
    const server = await serveCore();
    const { result } = await write(server, 'tea\n');
    const read = await execute(server, 'memory_read', { path: 'user/a.md' });
    const { toolCallId } = await execute(server, 'memory_list', {});
    const old = { fileNo: 1, path: 'a.md', revisionId: String(result['revisionId']), toolCallId };
    await server.core.storage.log.append({ access: [accessRow('u:alice', old)], events: [] });
    expect(await shownTo(server, toolCallId)).toMatchObject([{ ...A, version: 1, lines: null }]);
    await write(server, 'rice\n');
    await write(server, 'bread\n');
    const caller = { address: '127.0.0.1', traceId: '1'.repeat(32) };
    await server.core.revisions.prune({ keepLast: 1 }, caller);
    expect(await shownTo(server, read.toolCallId)).toMatchObject([
      { version: 1, lines: [{ startLine: 1, endLine: 1, content: null }] },
    ]);
    expect(await shownTo(server, toolCallId)).toMatchObject([{ version: null, lines: null }]);
  });

  it('is what a model was shown for it: passages of a context, files of a remember', async () => {
    const service = await serveWithModel();
    const long = Array.from({ length: 400 }, (_, line) => `- entry ${line} of a long list\n`);
    await service.write('user/long.md', `${long.join('')}- likes green tea\n`);
    await service.write('user/short.md', 'drinks tea\nin the morning\n');
    service.says(({ prompt }) => {
      expect(prompt).toContain('green tea');
      return { sentences: [] };
    });
    const context = await service.execute('memory_context', { query: 'green tea' });
    for (const { path, lines } of await shownTo(service, context.json.toolCallId)) {
      for (const { content } of lines ?? []) expect(context.json.result.context).toContain(content);
      expect(path).toMatch(/long|short/);
    }
    service.says(() => ({ operations: [] }));
    const remember = await service.execute('memory_remember', { text: 'Likes green tea.' });
    const shown = await shownTo(service, remember.json.toolCallId);
    const contentOf = (name: string) =>
      shown
        .filter(({ path }) => path.endsWith(name))
        .flatMap(({ lines }) => lines?.map(({ content }) => content) ?? [])
        .join('');
    expect(contentOf('short.md')).toBe('drinks tea\nin the morning\n');
    expect(contentOf('long.md')).toContain('- likes green tea\n');
    expect(contentOf('long.md').length).toBeLessThan(long.join('').length);
  });
});
