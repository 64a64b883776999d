import { describe, expect, it } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { call } from '../../support/service.ts';
import { asAdmin, serveCore } from './serve.ts';

const FILE = 'users/alice/a.md';
const BASE = 'Diet: vegan\nCity: Oslo\nPet: cat\n';

async function open() {
  const clock = manualClock();
  const server = await serveCore({ now: clock.now, tools: { delete: true, move: true } });
  const post = (path: string, body: unknown, headers: object = {}) =>
    server.request('POST', `/v1/admin/${path}`, { headers: { ...asAdmin, ...headers }, body });
  const act = async (tool: string, args: object, { userId = 'alice', actor = 'agent' } = {}) => {
    await call(server.core, userId, tool, args, { actor });
    clock.advance(1_000);
  };
  const write = (content: string, actor = 'agent', { path = 'a.md', userId = 'alice' } = {}) =>
    act('memory_write', { path: `user/${path}`, content }, { userId, actor });
  const read = async (path = FILE, query = '') => {
    const { status, json } = await server.request('GET', `/v1/admin/files/${path}${query}`, {
      headers: asAdmin,
    });
    return status === 404 ? null : json;
  };
  const contentOf = async (path = FILE) =>
    ((await read(path))?.file.content ?? null) as string | null;
  const undo = (body: object, headers: object = {}) => post('revert', body, headers);
  return { server, clock, post, act, write, read, contentOf, undo };
}

const refused = (status: number, code: string, path?: string) => ({
  status,
  json: { error: { code, ...(path === undefined ? {} : { details: { issues: [{ path }] } }) } },
});

describe('a line', () => {
  it('gets back what it was before its writer, and nothing else of that write is undone', async () => {
    const { write, contentOf, undo, read } = await open();
    await write(BASE);
    await write('Diet: no allergies\nCity: Bergen\nPet: cat\nSport: chess\n', 'mail-agent');
    await write('Diet: no allergies\nCity: Bergen\nPet: cat\nSport: chess\nYoga\n', 'other');
    const preview = await undo({ path: FILE, lines: '1', dryRun: true });
    expect(preview).toMatchObject({
      status: 200,
      json: {
        dryRun: true,
        files: [
          {
            path: FILE,
            outcome: 'merged',
            version: null,
            fromVersion: 3,
            writers: [{ actor: 'mail-agent', version: 2, lines: 1 }],
          },
        ],
      },
    });
    expect(preview.json.files[0].diff).toContain('-Diet: no allergies\n+Diet: vegan\n');
    const done = await undo({ path: FILE, lines: '1' });
    expect(done.json.files).toMatchObject([{ outcome: 'merged', version: 4 }]);
    expect(await contentOf()).toBe('Diet: vegan\nCity: Bergen\nPet: cat\nSport: chess\nYoga\n');
    // The line that came back has its first writer again.
    const { blame } = await read(FILE, '?blame=true');
    expect(blame[0]).toMatchObject({
      startLine: 1,
      endLine: 1,
      version: 1,
      putBackBy: { version: 4 },
    });
    expect(blame[1]).toMatchObject({ startLine: 2, version: 2, actor: 'mail-agent' });
  });

  it('goes where its writer added it, also the only one of several', async () => {
    const { write, contentOf, undo } = await open();
    await write(BASE);
    await write(`${BASE}one\ntwo\nthree\n`, 'mail-agent');
    await undo({ path: FILE, lines: '5' });
    expect(await contentOf()).toBe(`${BASE}one\nthree\n`);
    await undo({ path: FILE, lines: '2-3' });
    expect(await contentOf()).toBe('Diet: vegan\none\nthree\n');
  });

  it('is told apart from other lines of the same hunk, by what each of them was', async () => {
    const { write, contentOf, undo } = await open();
    await write('Likes green tea\nLives in Oslo\n');
    await write('Likes black tea\nHas no allergies\nLives in Bergen\n', 'mail-agent');
    const look = async (lines: string) => {
      const { json } = await undo({ path: FILE, lines, dryRun: true });
      return (json.files[0].diff as string).split('\n').filter((line) => /^[-+][A-Z]/.test(line));
    };
    expect(await look('1')).toEqual(['-Likes black tea', '+Likes green tea']);
    expect(await look('2')).toEqual(['-Has no allergies']);
    expect(await look('3')).toEqual(['-Lives in Bergen', '+Lives in Oslo']);
    await undo({ path: FILE, lines: '1-3' });
    expect(await contentOf()).toBe('Likes green tea\nLives in Oslo\n');
    // Without a likeness, the place tells.
    await write('0000\n1111\n2222\n3333\n', 'mail-agent');
    expect(await look('1')).toEqual(['+Likes green tea']);
    expect(await look('3')).toEqual([]);
  });

  it('is undone for each of its writers, and the file goes with the last line of its creation', async () => {
    const { write, contentOf, undo } = await open();
    await write('one\ntwo\n', 'ann');
    await write('one\ntwo\nthree', 'bob');
    const { json } = await undo({ path: FILE, lines: '2-3' });
    expect(json.files).toMatchObject([
      {
        outcome: 'reverted',
        writers: [
          { actor: 'bob', lines: 1 },
          { actor: 'ann', lines: 1 },
        ],
      },
    ]);
    expect(await contentOf()).toBe('one\n');
    await undo({ path: FILE, lines: '1' });
    expect(await contentOf()).toBeNull();
  });

  it('leaves the rest of its write to be undone, and a second time changes nothing', async () => {
    const { write, contentOf, undo, server } = await open();
    await write(BASE);
    await write('Diet: none\nCity: Bergen\nPet: cat\nSport: chess\n', 'mail-agent');
    await undo({ path: FILE, lines: '1' });
    expect((await undo({ path: FILE, lines: '1', version: 2 })).json.files).toMatchObject([
      { outcome: 'unchanged', version: null },
    ]);
    const { json } = await server.request('GET', `/v1/admin/revisions?path=${FILE}`, {
      headers: asAdmin,
    });
    expect(json.items[0]).toMatchObject({
      version: 3,
      action: 'revert',
      reverts: '~2',
      merged: true,
    });
    await undo({ revisionIds: [json.items[1].id] });
    expect(await contentOf()).toBe(BASE);
    // A revert of it brings the line back.
    await undo({ revisionIds: [json.items[0].id] });
    expect(await contentOf()).toBe('Diet: none\nCity: Oslo\nPet: cat\n');
  });

  it('that a revert brought back is undone in the write that wrote it first', async () => {
    const { write, contentOf, undo, server } = await open();
    await write('Diet: vegan\nCity: Oslo\n', 'ann');
    await write('Diet: none\nCity: Oslo\n', 'bob');
    await write('City: Oslo\n', 'mallory');
    await write('City: Oslo\nmore\n', 'ann');
    const { json } = await server.request('GET', `/v1/admin/revisions?path=${FILE}`, {
      headers: asAdmin,
    });
    await undo({ revisionIds: [json.items[1].id] });
    expect(await contentOf()).toBe('Diet: none\nCity: Oslo\nmore\n');
    const { json: done } = await undo({ path: FILE, lines: '1' });
    expect(done.files).toMatchObject([{ outcome: 'merged', writers: [{ actor: 'bob' }] }]);
    expect(await contentOf()).toBe('Diet: vegan\nCity: Oslo\nmore\n');
  });

  it('of an earlier version is found where it stands, also after a move; what changed it is a conflict', async () => {
    const { act, write, contentOf, undo } = await open();
    await write(BASE);
    await write('Diet: none\nCity: Bergen\nPet: cat\n', 'mail-agent');
    await write('first\nDiet: none\nCity: Trondheim\nPet: cat\n', 'other');
    await act('memory_move', { from: 'user/a.md', to: 'user/b.md' });
    const moved = 'users/alice/b.md';
    const { json } = await undo({ path: FILE, version: 2, lines: '1-2' });
    expect(json.files).toMatchObject([
      {
        path: moved,
        outcome: 'conflict',
        conflicts: [
          {
            startLine: 3,
            theirs: 'City: Trondheim\n',
            restored: 'City: Oslo\n',
            writer: { actor: 'other' },
          },
        ],
      },
    ]);
    expect(await contentOf(moved)).toBe('first\nDiet: vegan\nCity: Trondheim\nPet: cat\n');
    const resolutions = [{ path: moved, version: 2, startLine: 3, take: 'restored' }];
    const body = { path: FILE, version: 2, lines: '2' };
    expect(await undo({ ...body, resolutions: [] })).toMatchObject(
      refused(422, 'CONFLICTS_UNDECIDED'),
    );
    expect((await undo({ ...body, resolutions })).json.files).toMatchObject([
      { outcome: 'merged' },
    ]);
    expect(await contentOf(moved)).toBe('first\nDiet: vegan\nCity: Oslo\nPet: cat\n');
  });

  it('is written by If-Match at that version only', async () => {
    const { write, contentOf, undo } = await open();
    await write(BASE);
    await write('Diet: none\nCity: Oslo\nPet: cat\n');
    const at = (tag: string) => undo({ path: FILE, lines: '1' }, { 'if-match': tag });
    expect(await at('"1"')).toMatchObject(refused(412, 'VERSION_CONFLICT'));
    expect((await at('two')).status).toBe(400);
    expect(await contentOf()).toContain('none');
    expect((await at('"2"')).json.files).toMatchObject([{ version: 3 }]);
    expect(await contentOf()).toBe(BASE);
  });

  it('stays where what wrote it, or its content from before, is gone', async () => {
    const { post, write, contentOf, undo } = await open();
    await write('secret-1\nkept\n', 'ann');
    await write('public\nkept\n', 'bob');
    const redacted = await post('redact', {
      text: 'secret-1',
      in: 'everywhere',
      reason: 'a key',
    });
    expect(redacted.status).toBe(200);
    expect((await undo({ path: FILE, lines: '1', dryRun: true })).json.files[0].diff).not.toContain(
      'secret',
    );
    await write('public\nkept\nlater\n', 'ann');
    await post('revisions/prune', { keepLast: 1 });
    expect((await undo({ path: FILE, lines: '1' })).json.files).toMatchObject([
      { outcome: 'gone', why: 'What wrote these lines is pruned.' },
    ]);
    expect((await undo({ path: FILE, lines: '2-3' })).json.files).toMatchObject([
      { outcome: 'reverted', why: 'What wrote some of these lines is pruned: they stay.' },
    ]);
    expect(await contentOf()).toBe('public\nkept\n');
  });

  it('is refused where there is none such, and nothing is written', async () => {
    const { act, write, contentOf, undo } = await open();
    await write(BASE);
    await write('gone\n', 'agent', { path: 'gone.md' });
    await act('memory_delete', { path: 'user/gone.md' });
    const cases: [object, ReturnType<typeof refused>][] = [
      [{ path: FILE, lines: '4' }, refused(400, 'INVALID_REQUEST', '/lines')],
      [{ path: FILE, lines: '3-2' }, refused(400, 'INVALID_REQUEST', '/lines')],
      [{ path: FILE, lines: '0' }, refused(400, 'INVALID_REQUEST', '/lines')],
      [{ path: FILE, lines: '1-' }, refused(400, 'INVALID_REQUEST', '/lines')],
      [{ path: FILE, lines: 1 }, refused(400, 'INVALID_REQUEST', '/lines')],
      [{ lines: '1' }, refused(400, 'INVALID_REQUEST', '/path')],
      [{ path: FILE }, refused(400, 'INVALID_REQUEST', '/path')],
      [{ path: FILE, lines: '1', userId: 'alice' }, refused(400, 'INVALID_REQUEST', '/userId')],
      [{ path: FILE, lines: '1', runId: 'r' }, refused(400, 'INVALID_REQUEST', '/runId')],
      [{ path: FILE, lines: '1', spaceId: 's' }, refused(400, 'INVALID_REQUEST', '/spaceId')],
      [{ path: FILE, lines: '1', text: 'vegan' }, refused(400, 'INVALID_REQUEST', '/text')],
      [{ path: FILE, lines: '1', version: 0 }, refused(400, 'INVALID_REQUEST', '/version')],
      [{ path: FILE, lines: '1', version: 9 }, refused(404, 'REVISION_NOT_FOUND')],
      [{ path: 'user/a.md', lines: '1' }, refused(400, 'INVALID_PATH')],
      [{ path: 'users/alice/../bob/a.md', lines: '1' }, refused(400, 'INVALID_PATH')],
      [{ path: 'users/bob/a.md', lines: '1' }, refused(404, 'FILE_NOT_FOUND')],
      [{ path: 'users/alice/gone.md', lines: '1' }, refused(404, 'FILE_NOT_FOUND')],
    ];
    for (const [body, expected] of cases) {
      expect([body, await undo(body)]).toMatchObject([body, expected]);
    }
    expect(
      (await undo({ path: 'users/alice/gone.md', lines: '1', version: 1 })).json.files,
    ).toMatchObject([{ outcome: 'unchanged' }]);
    expect(await contentOf()).toBe(BASE);
  });
});

describe('lines with a text', () => {
  const FALSE = 'The office is closed';

  it('are undone over line breaks, also where older lines with the text come back', async () => {
    const { write, contentOf, undo } = await open();
    await write('keep\nIt is closed\non Fridays now\nend\n');
    await write('keep\nSo it is closed\non Fridays as well\nend\n', 'mail-agent');
    await write('closed\non Mondays\n', 'agent', { path: 'b.md' });
    // One of the two lines comes back, and has the text together with the other one.
    await write('top\nIt was closed\non Fridays\n', 'agent', { path: 'c.md' });
    await write('top\nIt is closed\non Fridays\n', 'mail-agent', { path: 'c.md' });
    const text = 'closed\non Fridays';
    const preview = await undo({ text, in: 'everywhere', dryRun: true });
    expect(preview.json.files).toHaveLength(2);
    await undo({ text, in: 'everywhere' });
    expect(await contentOf()).toBe('keep\nend\n');
    expect(await contentOf('users/alice/b.md')).toBe('closed\non Mondays\n');
    expect(await contentOf('users/alice/c.md')).toBe('top\n');
  });

  it('are undone in all memories, a page at a time, with counts by user and writer; the history keeps it', async () => {
    const { act, write, contentOf, undo, post } = await open();
    const users = Array.from({ length: 205 }, (_, index) => `user-${index}`);
    for (const userId of users) {
      await write('Likes tea\n', 'agent', { userId });
      await write(`Likes tea\n${FALSE} on Fridays.\n`, 'mail-agent', { userId });
    }
    await write(`Before\n${FALSE}\n`, 'other', { userId: 'user-7', path: 'b.md' });
    await write('nothing of it\n', 'agent', { userId: 'zoe' });
    await act('memory_write', { path: 'user/c.md', content: `${FALSE}\n` }, { userId: 'zoe' });
    await act('memory_delete', { path: 'user/c.md' }, { userId: 'zoe' });
    const all = async (body: object) => {
      const pages = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const { status, json } = await undo({
          ...body,
          ...(cursor === undefined ? {} : { cursor }),
        });
        expect(status).toBe(200);
        pages.push(json);
        cursor = json.nextCursor;
      }
      return pages;
    };
    const request = { text: FALSE, in: 'everywhere' };
    const preview = await all({ ...request, dryRun: true });
    expect(preview).toHaveLength(2);
    expect(preview.flatMap(({ files }) => files)).toHaveLength(206);
    const writers = preview.flatMap(({ counts }) => counts.writers);
    expect(writers.filter(({ actor }) => actor === 'other')).toEqual([
      { actor: 'other', files: 1, lines: 1 },
    ]);
    expect(
      writers
        .filter(({ actor }) => actor === 'mail-agent')
        .reduce((sum, { lines }) => sum + lines, 0),
    ).toBe(205);
    expect(
      preview.flatMap(({ counts }) => counts.users).filter(({ userId }) => userId === 'user-7'),
    ).toEqual([{ userId: 'user-7', spaceId: null, files: 2, lines: 2 }]);
    expect(await contentOf('users/user-3/a.md')).toContain(FALSE);

    const done = await all(request);
    expect(new Set(done.flatMap(({ files }) => files).map(({ outcome }) => outcome))).toEqual(
      new Set(['reverted']),
    );
    expect(await contentOf('users/user-3/a.md')).toBe('Likes tea\n');
    expect(await contentOf('users/user-7/b.md')).toBe('Before\n');
    expect((await all(request)).flatMap(({ files }) => files)).toEqual([]);
    const found = await post('search', { text: FALSE, history: true, userId: 'user-3' });
    expect(found.json.items).toMatchObject([{ fromVersion: 2, toVersion: 2, current: false }]);
    const audit = await post('search', { text: FALSE });
    expect(audit.json.items).toEqual([]);
  });

  it('go until no line has the text, also where an older one had it', async () => {
    const { write, contentOf, undo } = await open();
    await write('Diet: vegan\n', 'ann');
    await write(`${FALSE}\n`, 'mail-agent');
    await write(`${FALSE} on Fridays\nYoga\n`, 'other');
    const { json } = await undo({ text: FALSE, in: 'file', path: FILE });
    expect(json.files).toMatchObject([
      { outcome: 'reverted', writers: [{ actor: 'other' }, { actor: 'mail-agent' }] },
    ]);
    expect(await contentOf()).toBe('Diet: vegan\nYoga\n');
  });

  it('are all lines that a text over a line break touches, of one user', async () => {
    const { write, contentOf, undo } = await open();
    await write('a\n', 'ann');
    await write('a\nfalse one\nfalse two\nb\n', 'mail-agent');
    await write('false one\nfalse two\n', 'mail-agent', { userId: 'bob' });
    await undo({ text: 'one\nfalse', in: 'user', userId: 'alice' });
    expect(await contentOf()).toBe('a\nb\n');
    expect(await contentOf('users/bob/a.md')).toBe('false one\nfalse two\n');
  });

  it('are found with the line ends of Windows, and in one space alone', async () => {
    const { server, write, contentOf, undo, post } = await open();
    await write('a\r\n', 'ann');
    await write('a\r\nfalse one\r\nfalse two\r\nb\r\n', 'mail-agent');
    await undo({ text: 'one\nfalse', in: 'user', userId: 'alice' });
    expect(await contentOf()).toBe('a\r\nb\r\n');
    expect((await post('spaces', { id: 'team', name: 'Team' })).status).toBe(201);
    for (const path of ['spaces/team/a.md', 'users/bob/a.md']) {
      const operator = { operator: null, address: null, traceId: '0'.repeat(31) + '1' };
      await server.core.files.put(path, { content: 'a\n' }, operator);
      await server.core.files.put(path, { content: `a\n${FALSE}\n` }, operator);
    }
    const { json } = await undo({ text: FALSE, in: 'user', spaceId: 'team' });
    expect(json.counts.users).toEqual([{ userId: null, spaceId: 'team', files: 1, lines: 1 }]);
    expect(await contentOf('spaces/team/a.md')).toBe('a\n');
    expect(await contentOf('users/bob/a.md')).toContain(FALSE);
  });

  it('are refused without a place, with too short or long a text, or with what does not fit', async () => {
    const { write, contentOf, undo } = await open();
    await write(`${FALSE}\n`);
    const issue = (path: string) => refused(400, 'INVALID_REQUEST', path);
    const cases: [object, ReturnType<typeof refused>][] = [
      [{ text: FALSE }, issue('/in')],
      [{ text: 'x', in: 'everywhere' }, issue('/text')],
      [{ text: 'x'.repeat(65_536), in: 'everywhere' }, issue('/text')],
      [{ text: '     ', in: 'everywhere' }, issue('/text')],
      [{ text: FALSE, in: 'user' }, issue('/userId')],
      [{ text: FALSE, in: 'file' }, issue('/path')],
      [{ text: FALSE, in: 'everywhere', userId: 'alice' }, issue('/userId')],
      [{ text: FALSE, in: 'everywhere', spaceId: 'acme' }, issue('/spaceId')],
      [{ text: FALSE, in: 'user', userId: 'alice', spaceId: 'acme' }, issue('/spaceId')],
      [{ path: FILE, lines: '1', spaceId: 'acme' }, issue('/spaceId')],
      [{ revisionIds: ['x'], spaceId: 'acme' }, issue('/revisionIds')],
      [{ text: FALSE, in: 'everywhere', path: FILE }, issue('/path')],
      [{ text: FALSE, in: 'everywhere', spaceId: 'team' }, issue('/spaceId')],
      [{ text: FALSE, in: 'everywhere', actor: 'x' }, issue('/actor')],
      [{ text: FALSE, in: 'everywhere', version: 1 }, issue('/version')],
      [{ text: FALSE, in: 'everywhere', resolutions: [] }, issue('/resolutions')],
      [{ text: FALSE, in: 'elsewhere' }, issue('/in')],
      [{ text: FALSE, in: 'user', userId: '../x' }, refused(400, 'INVALID_USER_ID')],
      [{ text: FALSE, in: 'everywhere', cursor: 'abc' }, refused(400, 'INVALID_CURSOR')],
      [{ actor: 'agent', since: '2026-01-01T00:00:00Z', cursor: 'abc' }, issue('/cursor')],
    ];
    for (const [body, expected] of cases) {
      expect([body, await undo(body)]).toMatchObject([body, expected]);
    }
    expect(await contentOf()).toBe(`${FALSE}\n`);
  });
});

describe('a text in a space', () => {
  it('is undone there alone, and counted by space and user', async () => {
    const { server, post, contentOf, undo, clock } = await open();
    const put = async (path: string, content: string) => {
      await server.request('PUT', `/v1/admin/files/${path}`, {
        headers: asAdmin,
        body: { content },
      });
      clock.advance(1_000);
    };
    for (const path of ['spaces/acme/a.md', 'spaces/other/a.md', 'users/acme/a.md']) {
      await put(path, 'true\n');
      await put(path, 'true\nfalse fact\n');
    }
    const text = 'false fact';
    const everywhere = await undo({ text, in: 'everywhere', dryRun: true });
    const counted = everywhere.json.counts.users.map(
      ({ userId, spaceId }: Record<string, string | null>) => [userId, spaceId],
    );
    expect(counted.sort()).toEqual([
      [null, 'acme'],
      [null, 'other'],
      ['acme', null],
    ]);
    const done = await undo({ text, in: 'user', spaceId: 'acme' });
    expect(done.json.files).toMatchObject([{ path: 'spaces/acme/a.md', outcome: 'reverted' }]);
    expect(await contentOf('spaces/acme/a.md')).toBe('true\n');
    expect(await contentOf('spaces/other/a.md')).toContain(text);
    expect(await contentOf('users/acme/a.md')).toContain(text);
    // A cursor of one memory is none of another.
    await put('spaces/acme/b.md', 'true\n');
    const query = { text: 'true', limit: 1 };
    const { nextCursor: cursor } = (await post('search', { ...query, spaceId: 'acme' })).json;
    const other = await post('search', { ...query, spaceId: 'other', cursor });
    expect(other).toMatchObject(refused(400, 'INVALID_CURSOR'));
  });
});
