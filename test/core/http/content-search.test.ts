import { describe, expect, it } from 'vitest';
import type {
  AdminAccess,
  AdminAudit,
  ContentSearchAnswer,
} from '../../../core/contracts/admin.ts';
import { call } from '../../support/service.ts';
import { asAdmin, type LiveServer, serveCore } from './serve.ts';

async function ask(service: LiveServer, path: string) {
  return await service.request('GET', path, { headers: asAdmin });
}
async function search(service: LiveServer, query: Record<string, string>) {
  const answer = await ask(service, `/v1/admin/search?${String(new URLSearchParams(query))}`);
  expect(answer.status).toBe(200);
  return answer.json as ContentSearchAnswer;
}

/** A memory of three users, with shared memory. */
async function filled() {
  const service = await serveCore({ sharedWrites: true });
  const write = (userId: string, path: string, content: string) =>
    call(service.core, userId, 'memory_write', { path, content });
  await write('alice', 'user/profile.md', '# Alice\n\n- Peanut ALLERGY, severe\n- tea\n');
  await write('bob', 'user/notes/food.md', 'one\r\nallergy: peanuts\r\nallergies\r\n');
  await write('bob', 'user/other.md', 'peanut\nallergy\n');
  await write('carol', 'shared/team.md', 'Nobody with a peanut allergy.\n');
  return { service, write };
}

describe('the search in contents', () => {
  it('finds the lines that have all of the words, across users and shared memory', async () => {
    const { service } = await filled();
    const { items, nextCursor, searched } = await search(service, { q: ' peanut  allergy ' });
    expect(items.map(({ path, userId, lines }) => ({ path, userId, lines }))).toEqual([
      {
        path: 'shared/team.md',
        userId: null,
        lines: [{ line: 1, text: 'Nobody with a peanut allergy.' }],
      },
      {
        path: 'users/alice/profile.md',
        userId: 'alice',
        lines: [{ line: 3, text: '- Peanut ALLERGY, severe' }],
      },
      {
        path: 'users/bob/notes/food.md',
        userId: 'bob',
        lines: [{ line: 2, text: 'allergy: peanuts' }],
      },
    ]);
    expect(nextCursor).toBeNull();
    expect(searched.files).toBe(4);
    const own = await search(service, { q: 'allergy', userId: 'bob' });
    expect(own.items.map(({ path, matches }) => [path, matches])).toEqual([
      ['users/bob/notes/food.md', 2],
      ['users/bob/other.md', 1],
    ]);
  });

  it('finds other forms of English words, and ranks whole words before forms and parts', async () => {
    const { service, write } = await filled();
    await write('dora', 'user/a.md', 'Her allergies are many.\n');
    await write('dora', 'user/b.md', 'allergyless\n');
    await write('dora', 'user/c.md', 'allergy here, allergy there\nand her allergy\n');
    const { items } = await search(service, { q: 'allergy', userId: 'dora' });
    const ranked = items.toSorted((one, other) => other.score - one.score);
    expect(ranked.map(({ path, words }) => [path, words])).toEqual([
      ['users/dora/c.md', ['allergy']],
      ['users/dora/a.md', ['allergies']],
      ['users/dora/b.md', ['allergy']],
    ]);
    const phrase = await search(service, { q: 'peanut allergy' });
    const [first] = phrase.items.toSorted((one, other) => other.score - one.score);
    // The words one after the other, as they were asked for.
    expect(first?.path).toMatch(/^(?:shared\/team|users\/alice\/profile)\.md$/);
  });

  it('is limited to one space or one user, and refuses both at once', async () => {
    const { service } = await filled();
    const context = { userId: 'bob', spaces: [{ id: 'acme', access: 'write' as const }] };
    await service.core.tools.execute('memory_write', {
      context,
      arguments: { path: 'spaces/acme/food.md', content: 'No allergy here.\n' },
    });
    const all = await search(service, { q: 'allergy' });
    expect(all.items.map(({ path }) => path)).toEqual([
      'shared/team.md',
      'spaces/acme/food.md',
      'users/alice/profile.md',
      'users/bob/notes/food.md',
      'users/bob/other.md',
    ]);
    const inSpace = await search(service, { q: 'allergy', spaceId: 'acme' });
    expect(inSpace.items).toMatchObject([
      { path: 'spaces/acme/food.md', userId: null, spaceId: 'acme' },
    ]);
    const inNone = await search(service, { q: 'allergy', spaceId: 'bob' });
    expect([inNone.items, inNone.searched.files]).toEqual([[], 0]);
    for (const query of ['spaceId=acme&userId=bob', 'spaceId=no%20space']) {
      const { status, json } = await ask(service, `/v1/admin/search?q=allergy&${query}`);
      const { code, details } = json.error;
      expect([status, code, details.issues[0].path]).toEqual([400, 'INVALID_REQUEST', '/spaceId']);
    }
  });

  it('finds present contents alone, without regard to the form of letters', async () => {
    const { service, write } = await filled();
    await write('alice', 'user/profile.md', 'Cafe\u0301 ÄRZTE\n');
    expect((await search(service, { q: 'severe' })).items).toEqual([]);
    const { items } = await search(service, { q: 'café ärzte' });
    expect(items.map(({ path, version }) => [path, version])).toEqual([
      ['users/alice/profile.md', 2],
    ]);
  });

  it('shows part of a long line, and few of many lines', async () => {
    const { service, write } = await filled();
    const long = `${'a'.repeat(5_000)} needle ${'😀'.repeat(5_000)}`;
    await write('alice', 'user/long.md', `${long}\n`.repeat(8));
    const [file] = (await search(service, { q: 'needle' })).items;
    expect(file).toMatchObject({ matches: 8 });
    expect(file?.lines.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5]);
    const text = file?.lines[0]?.text ?? '';
    expect(text).toContain(' needle 😀');
    expect(text.length).toBeLessThanOrEqual(300);
    expect(text.isWellFormed()).toBe(true);
  });

  it('is paged, and skips or repeats no file', async () => {
    const { service, write } = await filled();
    const paths = Array.from({ length: 70 }, (_, index) => `user/many/${100 + index}.md`);
    for (const path of paths) await write('dave', path, 'needle\n');
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page: ContentSearchAnswer = await search(service, {
        q: 'needle',
        limit: '9',
        ...(cursor !== null && { cursor }),
      });
      expect(page.items.length).toBeLessThanOrEqual(9);
      found.push(...page.items.map(({ path }) => path));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(found).toEqual(paths.map((path) => path.replace('user/', 'users/dave/')));
    const other = await search(service, { q: 'needle', limit: '9' });
    const strange = `/v1/admin/search?q=other&cursor=${other.nextCursor ?? ''}`;
    expect((await ask(service, strange)).json.error.code).toBe('INVALID_CURSOR');
  });

  it('ends a page after 2,000 files, with the cursor to go on from', async () => {
    const { service } = await filled();
    const { core } = service;
    for (let from = 0; from < 2_010; from += 201) {
      await Promise.all(
        Array.from({ length: 201 }, (_, index) =>
          core.files.put(
            `users/erin/${10_000 + from + index}.md`,
            { content: from + index === 2_009 ? 'needle' : 'hay' },
            { address: '127.0.0.1', traceId: '0'.repeat(32) },
          ),
        ),
      );
    }
    const first = await search(service, { q: 'needle', userId: 'erin' });
    expect(first).toMatchObject({ items: [], searched: { files: 2_000 } });
    const second = await search(service, {
      q: 'needle',
      userId: 'erin',
      cursor: first.nextCursor ?? '',
    });
    expect(second).toMatchObject({
      items: [{ path: 'users/erin/12009.md' }],
      nextCursor: null,
      searched: { files: 10 },
    });
  });

  it('is no use by an agent, and leaves an audit row for each file that was shown', async () => {
    const { service } = await filled();
    const rows = async () =>
      (await ask(service, '/v1/admin/access-logs')).json.items as AdminAccess[];
    const before = await rows();
    await search(service, { q: 'peanut allergy' });
    await search(service, { q: 'allergy', userId: 'alice' });
    expect(await rows()).toEqual(before);
    const users = (await ask(service, '/v1/admin/users')).json.items as { reads: number }[];
    expect(users.map(({ reads }) => reads)).toEqual([0, 0]);
    const audit = (await ask(service, '/v1/admin/audit?action=contents.read&order=asc')).json
      .items as AdminAudit[];
    // Once for each file, although the second search shows one of them again.
    expect(audit).toHaveLength(3);
    expect(audit.map(({ operator, details }) => [operator, details['userId']])).toEqual([
      ['admin', null],
      ['admin', 'alice'],
      ['admin', 'bob'],
    ]);
    // The words may be the secret that the operator looks for.
    expect(JSON.stringify(audit)).not.toContain('peanut');
  });

  it.each([
    ['q=x', 'INVALID_REQUEST'],
    ['q=%20%20', 'INVALID_REQUEST'],
    ['q=tea&userId=../bob', 'INVALID_USER_ID'],
    ['q=tea&order=desc', 'INVALID_REQUEST'],
    ['', 'INVALID_REQUEST'],
  ])('refuses ?%s', async (query, code) => {
    const service = await serveCore();
    expect((await ask(service, `/v1/admin/search?${query}`)).json.error.code).toBe(code);
  });
});
