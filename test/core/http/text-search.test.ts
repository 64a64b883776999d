import { describe, expect, it } from 'vitest';
import type { AdminAudit, FoundVersions, TextSearchAnswer } from '../../../core/contracts/admin.ts';
import { findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';
import { call } from '../../support/service.ts';
import { asAdmin, type LiveServer, serveCore } from './serve.ts';

const SECRET = 'sk-live-7f3a';

async function search(service: LiveServer, body: object) {
  return await service.request('POST', '/v1/admin/search', { headers: asAdmin, body });
}

async function found(service: LiveServer, body: object) {
  const answer = await search(service, body);
  expect(answer.status).toBe(200);
  return answer.json as TextSearchAnswer;
}

/** All pages of a search. */
async function walk(service: LiveServer, body: object): Promise<FoundVersions[]> {
  const items: FoundVersions[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: TextSearchAnswer = await found(service, { ...body, ...(cursor && { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

const ranges = (items: readonly FoundVersions[]) =>
  items.map(({ path, fromVersion, toVersion, current }) => [path, fromVersion, toVersion, current]);

/** A key that was written, came and went, and was moved and deleted. */
async function filled() {
  const database = await makeDatabase();
  const service = await serveCore({
    storage: openDatabase(database),
    tools: { move: true, delete: true },
  });
  const write = (userId: string, path: string, content: string) =>
    call(service.core, userId, 'memory_write', { path, content });
  await write('alice', 'user/notes.md', 'one\n');
  await write('alice', 'user/notes.md', `one\nkey: ${SECRET}\n`);
  await write('alice', 'user/notes.md', `one\ntwo\nkey: ${SECRET}\n`);
  await write('alice', 'user/notes.md', 'one\ntwo\n');
  await write('alice', 'user/notes.md', `${SECRET} again ${SECRET}\n`);
  await write('bob', 'user/keys.md', `a ${SECRET.toUpperCase()}\nb ${SECRET}\n`);
  await call(service.core, 'bob', 'memory_move', { from: 'user/keys.md', to: 'user/old.md' });
  await call(service.core, 'bob', 'memory_delete', { path: 'user/old.md' });
  return { database, service, write };
}

describe('the search for a text', () => {
  it('says from which version to which each file has it, deleted and moved ones too', async () => {
    const { service } = await filled();
    const { items, nextCursor, searched } = await found(service, { text: SECRET, history: true });
    expect(ranges(items)).toEqual([
      ['users/alice/notes.md', 5, 5, true],
      ['users/alice/notes.md', 2, 3, false],
      ['users/bob/keys.md', 1, 1, false],
      ['users/bob/old.md', 1, 1, false],
    ]);
    expect(items[0]).toMatchObject({
      userId: 'alice',
      matches: 2,
      lines: [{ line: 1, text: `${SECRET} again ${SECRET}` }],
    });
    expect(items[1]?.lines).toEqual([{ line: 3, text: `key: ${SECRET}` }]);
    const { items: revisions } = await service.core.revisions.list({
      path: 'users/alice/notes.md',
    });
    expect(items[1]?.toRevisionId).toBe(revisions.find(({ version }) => version === 3)?.id);
    expect(nextCursor).toBeNull();
    expect(searched).toMatchObject({ files: 3, versions: 9 });
  });

  it('looks at present contents alone without history', async () => {
    const { service } = await filled();
    expect(ranges((await found(service, { text: SECRET })).items)).toEqual([
      ['users/alice/notes.md', 5, 5, true],
    ]);
  });

  it('finds a text over a line break, and what no step of the history stores whole', async () => {
    const { service, write } = await filled();
    await write('carol', 'user/a.md', 'x sk-live-AAAA\nnext\n');
    await write('carol', 'user/a.md', 'x sk-live-BBBB\nnext\n');
    const text = 'sk-live-AAAA\nnext';
    const { items } = await found(service, { text, history: true });
    expect(ranges(items)).toEqual([['users/carol/a.md', 1, 1, false]]);
    expect(items[0]?.lines).toEqual([{ line: 1, text: 'x sk-live-AAAA' }]);
  });

  it('takes one user or one file, and gives the same in pages', async () => {
    const { service, write } = await filled();
    for (let n = 0; n < 40; n += 1) {
      await write('dora', 'user/n.md', n % 3 === 0 ? `${n}\n` : `${n} ${SECRET}\n`);
    }
    const asked = { text: SECRET, history: true };
    expect(ranges(await walk(service, { ...asked, userId: 'bob', limit: 1 }))).toEqual([
      ['users/bob/keys.md', 1, 1, false],
      ['users/bob/old.md', 1, 1, false],
    ]);
    expect(await found(service, { ...asked, path: 'users/bob/old.md' })).toMatchObject({
      items: [{ path: 'users/bob/old.md' }],
    });
    const all = await walk(service, asked);
    expect(all).toHaveLength(4 + 13);
    const own = await walk(service, { ...asked, path: 'users/dora/n.md', limit: 1 });
    // Where a page is full, a range may be cut: the versions are the same.
    const versions = own.flatMap(({ fromVersion, toVersion }) =>
      Array.from({ length: toVersion - fromVersion + 1 }, (_, index) => toVersion - index),
    );
    const expected = Array.from({ length: 40 }, (_, n) => 40 - n).filter((n) => (n - 1) % 3 !== 0);
    expect(versions).toEqual(expected);
  });

  it('finds the text before the oldest revision that a prune left', async () => {
    const { service, write } = await filled();
    for (let n = 0; n < 3; n += 1) await write('alice', 'user/p.md', `${SECRET} ${n}\n`);
    await write('alice', 'user/p.md', 'gone\n');
    await service.core.revisions.prune(
      { path: 'users/alice/p.md', keepLast: 1 },
      { address: null, traceId: null },
    );
    const { items } = await found(service, {
      text: SECRET,
      history: true,
      path: 'users/alice/p.md',
    });
    expect(ranges(items)).toEqual([['users/alice/p.md', 3, 3, false]]);
    expect(items[0]?.toRevisionId).toBeNull();
  });

  it('finds nothing that was redacted', async () => {
    const { service, write } = await filled();
    await write('erin', 'user/n.md', `${SECRET}\n`);
    const { result } = await write('erin', 'user/n.md', 'kept\n');
    const [, first] = (await service.core.revisions.list({ userId: 'erin' })).items;
    await service.core.revisions.redact(
      first?.id ?? '',
      { reason: 'a key' },
      { address: null, traceId: null },
    );
    expect(result['revisionId']).toBeDefined();
    const { items } = await found(service, { text: SECRET, history: true, userId: 'erin' });
    expect(items).toEqual([]);
  });

  it('writes the text into no table, and an audit row of whose memory was shown', async () => {
    const { database, service } = await filled();
    const text = 'never written before';
    await found(service, { text, history: true });
    await found(service, { text: SECRET, history: true });
    await service.core.queue.flush();
    expect(await findCanary(database, text)).toEqual([]);
    const audit = await service.request('GET', '/v1/admin/audit?action=contents.read', {
      headers: asAdmin,
    });
    const { items } = audit.json as { items: AdminAudit[] };
    expect(items).toHaveLength(3);
    expect(new Set(items.map(({ details }) => details['userId']))).toEqual(
      new Set(['alice', 'bob']),
    );
  });

  it('refuses what it cannot look for', async () => {
    const { service } = await filled();
    const codes: Record<string, object> = {
      a: { text: 'a' },
      long: { text: 'a'.repeat(4097) },
      none: {},
      cursor: { text: 'abc', cursor: 'x' },
      path: { text: 'abc', path: 'nowhere' },
      other: { text: 'abc', path: 'users/bob/a.md', userId: 'alice' },
      user: { text: 'abc', userId: 'a/b' },
    };
    const answers = Object.entries(codes).map(async ([name, body]) => {
      const { json } = await search(service, body);
      return [name, (json as { error: { code: string } }).error.code];
    });
    expect(Object.fromEntries(await Promise.all(answers))).toEqual({
      a: 'INVALID_REQUEST',
      long: 'INVALID_REQUEST',
      none: 'INVALID_REQUEST',
      cursor: 'INVALID_CURSOR',
      path: 'INVALID_PATH',
      other: 'INVALID_REQUEST',
      user: 'INVALID_USER_ID',
    });
  });
});
