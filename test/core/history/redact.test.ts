import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sealContent } from '../../../core/history/chain.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const request = { reason: 'a secret was written' };
const CANARY = 'canary-7f3a';
const path = 'users/alice/notes.md';

async function write(core: Core, content: string): Promise<string> {
  const { result } = await call(core, 'alice', 'memory_write', { path: 'user/notes.md', content });
  return String(result['revisionId']);
}

/** A file whose second version has the canary, in a changed line and between lines that stay. */
async function openWithCanary() {
  const database = await makeDatabase();
  const core = await openCore({
    storage: openDatabase(database),
    tools: { delete: true, move: true, history: true },
  });
  const contents = [
    'one\ntwo\nthree\n',
    `one\ntwo ${CANARY}\nthree\nfour\n`,
    'one\ntwo\nthree\nfour\n',
    'one\nthree\nfour\nfive\n',
  ];
  const ids: string[] = [];
  for (const content of contents) ids.push(await write(core, content));
  await core.indexer.drain();
  return { core, database, contents, ids, second: ids[1] ?? '' };
}

describe('a revision that is redacted', () => {
  it('keeps its row and loses its content, in the revision after it too', async () => {
    const { core, ids, second } = await openWithCanary();
    const answer = await core.revisions.redact(second, request, operator);
    expect(answer).toMatchObject({
      dryRun: false,
      unchanged: false,
      path,
      revisions: [
        { id: second, version: 2, loses: 'after' },
        { id: ids[2], version: 3, loses: 'before' },
      ],
      peers: [],
    });
    const shown = await core.revisions.get(second);
    expect(shown).toMatchObject({ redacted: true, contentAfter: null, diff: '', version: 2 });
    expect(shown.contentBefore).toBe('one\ntwo\nthree\n');
    const next = await core.revisions.get(ids[2] ?? '');
    expect(next).toMatchObject({ redacted: false, redactedBefore: true, contentBefore: null });
    expect(next.contentAfter).toBe('one\ntwo\nthree\nfour\n');
  });

  it('leaves the content of every other version exactly as it was', async () => {
    const { core, contents, second } = await openWithCanary();
    await core.revisions.redact(second, request, operator);
    for (const version of [1, 3, 4]) {
      const { file } = await core.fileLists.file(path, { version });
      expect(file.content).toBe(contents[version - 1]);
    }
    const verified = await core.storage.revisions.chain({ scope: 'u:alice', path: 'notes.md' }, 0);
    expect(verified?.steps).toHaveLength(2);
  });

  it('is shown by no endpoint, and stands in no table', async () => {
    const { core, database, ids, second } = await openWithCanary();
    const { at } = await core.revisions.get(second);
    await core.revisions.redact(second, request, operator);
    const key = { scope: 'u:alice', path: 'notes.md' } as const;
    for (const asked of [
      () => core.revisions.contentAt(key, { version: 2 }),
      () => core.revisions.contentAt(key, { at }),
      () => call(core, 'alice', 'memory_read', { path: 'user/notes.md', asOf: at }),
    ]) {
      expect(await rejection(asked())).toMatchObject({ code: 'REVISION_NOT_FOUND' });
    }
    const later = new Date().toISOString();
    const undone = await core.revisions.revert(ids[2] ?? '', { dryRun: true }, operator);
    expect(undone.files).toMatchObject([{ outcome: 'gone' }]);
    const shown = [
      undone,
      await core.revisions.get(second),
      await core.revisions.get(ids[2] ?? ''),
      await core.revisions.list({ userId: 'alice' }),
      await core.revisions.diff({ userId: 'alice', from: at, to: later }),
      await core.restores.restore({ userId: 'alice' }, { at, dryRun: true }, operator),
      await core.fileLists.file(path, { blame: true }),
      (await call(core, 'alice', 'memory_find', { query: CANARY })).result,
      (await call(core, 'alice', 'memory_find', { query: CANARY, asOf: at })).result,
    ];
    expect(JSON.stringify(shown)).not.toContain(CANARY);
    expect(await findCanary(database, CANARY)).toEqual([]);
  });

  it('is told by blame, where a line of it is still there', async () => {
    const { core, second } = await openWithCanary();
    await core.revisions.redact(second, request, operator);
    const { blame } = await core.fileLists.file(path, { blame: true });
    expect(
      blame?.map(({ startLine, endLine, version, redacted }) => [
        startLine,
        endLine,
        version,
        redacted,
      ]),
    ).toEqual([
      [1, 2, 1, undefined],
      [3, 3, 2, true],
      [4, 4, 4, undefined],
    ]);
  });

  it('is refused while the file has that content, also after a revert to it', async () => {
    const { core, second } = await openWithCanary();
    await core.revisions.revert((await newest(core)).id, {}, operator);
    await write(core, `one\ntwo ${CANARY}\nthree\nfour\n`);
    expect(await rejection(core.revisions.redact(second, request, operator))).toMatchObject({
      code: 'REVISION_NOT_REDACTABLE',
      details: { path, reason: 'current' },
    });
  });

  it('takes the other versions of the file with the same content along', async () => {
    const { core, database, second } = await openWithCanary();
    await write(core, `one\ntwo ${CANARY}\nthree\nfour\n`);
    await call(core, 'alice', 'memory_delete', { path: 'user/notes.md' });
    const answer = await core.revisions.redact(second, request, operator);
    expect(answer.revisions.map(({ version, loses }) => [version, loses])).toEqual([
      [2, 'after'],
      [3, 'before'],
      [5, 'after'],
      [6, 'before'],
    ]);
    expect(await findCanary(database, CANARY)).toEqual([]);
  });

  it('counts the other versions that have lines which it wrote', async () => {
    const { core, second } = await openWithCanary();
    const before = await core.revisions.redact(second, { ...request, dryRun: true }, operator);
    // "four" was new in it, and is still there in versions 3 and 4.
    expect(before.alsoIn).toBe(2);
    const other = await openCore();
    const id = await write(other, 'alone\n');
    await write(other, 'else\n');
    expect((await other.revisions.redact(id, request, operator)).alsoIn).toBe(0);
  });

  it('names the revision at the other path of a move', async () => {
    const core = await openCore({ tools: { move: true } });
    const id = await write(core, `${CANARY}\n`);
    await call(core, 'alice', 'memory_move', { from: 'user/notes.md', to: 'user/b.md' });
    const { peers } = await core.revisions.redact(id, { ...request, dryRun: true }, operator);
    expect((await core.revisions.get(peers[0] ?? '')).path).toBe('users/alice/b.md');
  });

  it('is only previewed by a dry run', async () => {
    const { core, second } = await openWithCanary();
    const answer = await core.revisions.redact(second, { ...request, dryRun: true }, operator);
    expect(answer).toMatchObject({
      dryRun: true,
      revisions: [{ loses: 'after' }, { loses: 'before' }],
    });
    expect((await core.revisions.get(second)).contentAfter).toContain(CANARY);
  });

  it('says so when it is redacted already', async () => {
    const { core, second } = await openWithCanary();
    await core.revisions.redact(second, request, operator);
    const again = await core.revisions.redact(second, request, operator);
    expect(again).toMatchObject({ unchanged: true, revisions: [] });
  });

  it('is completed when the step back of the next revision still has its content', async () => {
    const { core, database, contents, ids, second } = await openWithCanary();
    const key = { scope: 'u:alice', path: 'notes.md' } as const;
    const onlyRow = { scopes: [key.scope], files: [key], past: { key, versions: [2] } };
    await core.storage.mutate(onlyRow, (current) => ({
      result: null,
      writes: 0,
      changes: {
        past: current.past().map((row) => ({
          ...row,
          redacted: true,
          hash: null,
          contentSalt: null,
          contentSeal: sealContent(row),
          delta: null,
          keyframe: contents[0] ?? '',
        })),
      },
    }));
    expect((await verifyMemory(core.storage)).findings).toMatchObject([
      {
        invariant: 'I3',
        path,
        message: expect.stringContaining('version 2 and the next one') as string,
      },
    ]);
    const answer = await core.revisions.redact(second, request, operator);
    expect(answer).toMatchObject({ unchanged: false, revisions: [{ id: second }, { id: ids[2] }] });
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
    for (const version of [1, 3, 4]) {
      expect(await core.revisions.textAt(key, version)).toBe(contents[version - 1]);
    }
  });

  it('is audited with its reason, and without its content', async () => {
    const { core, second } = await openWithCanary();
    await core.revisions.redact(second, request, operator);
    const { items } = await core.storage.audit.list(
      { action: 'revisions.redact' },
      { limit: 10, order: 'desc', after: null },
    );
    expect(items).toMatchObject([
      { target: second, details: { path, versions: [2], reason: request.reason } },
    ]);
  });

  it('stays redacted after its row is pruned', async () => {
    const { core, ids, second } = await openWithCanary();
    await core.revisions.redact(second, request, operator);
    await core.revisions.prune({ keepLast: 2 }, operator);
    expect(await core.revisions.get(ids[2] ?? '')).toMatchObject({ contentBefore: null });
    const key = { scope: 'u:alice', path: 'notes.md' } as const;
    expect(await rejection(core.revisions.contentAt(key, { version: 2 }))).toMatchObject({
      code: 'REVISION_NOT_FOUND',
    });
  });

  it('takes the same content before the oldest kept revision along', async () => {
    const { core, database, contents, ids, second } = await openWithCanary();
    const again = await write(core, contents[1] ?? '');
    await write(core, 'end\n');
    await core.indexer.drain();
    await core.revisions.prune({ keepLast: 4 }, operator);
    expect(await rejection(core.revisions.get(second))).toMatchObject({
      code: 'REVISION_NOT_FOUND',
    });
    const answer = await core.revisions.redact(again, request, operator);
    expect(answer.revisions.map(({ version, loses }) => [version, loses])).toEqual([
      [3, 'before'],
      [5, 'after'],
      [6, 'before'],
    ]);
    expect(await core.revisions.get(ids[2] ?? '')).toMatchObject({
      redactedBefore: true,
      contentBefore: null,
      contentAfter: contents[2],
    });
    const key = { scope: 'u:alice', path: 'notes.md' } as const;
    expect(await core.revisions.textAt(key, 2)).toBe(null);
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('can be named by the revision after it, when its own is pruned', async () => {
    const { core, database, contents, ids } = await openWithCanary();
    const third = ids[2] ?? '';
    await core.revisions.prune({ keepLast: 2 }, operator);
    const before = { ...request, before: true };
    const preview = await core.revisions.redact(third, { ...before, dryRun: true }, operator);
    expect(preview.revisions).toEqual([{ id: third, version: 3, loses: 'before' }]);
    expect(await core.revisions.redact(third, before, operator)).toMatchObject({
      unchanged: false,
      revisions: preview.revisions,
    });
    expect(await core.revisions.get(third)).toMatchObject({
      redactedBefore: true,
      contentBefore: null,
      contentAfter: contents[2],
    });
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect(await core.revisions.redact(third, before, operator)).toMatchObject({ unchanged: true });
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('can be named by the revision after it, whose own is kept', async () => {
    const { core, database, ids, second } = await openWithCanary();
    const answer = await core.revisions.redact(
      ids[2] ?? '',
      { ...request, before: true },
      operator,
    );
    expect(answer.revisions).toMatchObject([
      { id: second, loses: 'after' },
      { id: ids[2], loses: 'before' },
    ]);
    expect(await findCanary(database, CANARY)).toEqual([]);
    const created = core.revisions.redact(ids[0] ?? '', { ...request, before: true }, operator);
    expect(await rejection(created)).toMatchObject({
      code: 'REVISION_NOT_REDACTABLE',
      details: { reason: 'no_content' },
    });
  });

  it('leaves all others as they were, whichever are redacted in whichever order', async () => {
    const lines = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n', 'd', ''), { maxLength: 6 });
    const contents = fc.array(
      lines.map((one) => one.join('')),
      { minLength: 3, maxLength: 8 },
    );
    const core = await openCore({ tools: { delete: true } });
    let files = 0;
    await fc.assert(
      fc.asyncProperty(contents, fc.array(fc.nat(7), { maxLength: 4 }), async (texts, picks) => {
        const name = `${files++}.md`;
        const written = new Map<number, string | null>();
        for (const text of texts) {
          const content = text === '' ? null : text;
          const args = { path: `user/${name}`, ...(content === null ? {} : { content }) };
          const tool = content === null ? 'memory_delete' : 'memory_write';
          const done = await call(core, 'alice', tool, args).catch(() => null);
          if (done !== null) written.set(Number(done.result['version']), content);
        }
        const { items } = await core.revisions.list({
          path: `users/alice/${name}`,
          order: 'asc',
        });
        const gone = new Set<number>();
        for (const pick of picks) {
          const revision = items[pick % Math.max(1, items.length)];
          if (revision === undefined) continue;
          const answer = await core.revisions
            .redact(revision.id, request, operator)
            .catch(() => null);
          for (const { version, loses } of answer?.revisions ?? []) {
            if (loses !== 'before') gone.add(version);
          }
        }
        for (const [version, content] of written) {
          const key = { scope: 'u:alice', path: name } as const;
          const text = await core.revisions.textAt(key, version);
          expect(text).toBe(gone.has(version) ? null : content);
        }
      }),
      { numRuns: 15 },
    );
  });
});

async function newest(core: Core) {
  const { items } = await core.revisions.list({ userId: 'alice', limit: 1 });
  return items[0] as (typeof items)[0];
}
