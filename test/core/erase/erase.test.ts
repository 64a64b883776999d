import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Core } from '../../../core/service.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { dreamRunRow } from '../../support/rows.ts';
import { findCanary, makeDatabase, openDatabase, readTables } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const CANARY = 'canary-9b1e';

async function open(config: Partial<CoreConfig> = {}) {
  const database = await makeDatabase();
  const storage = openDatabase(database);
  // No other instance has to see an erasure before it goes on.
  const core = await openCore(
    { storage, tools: { delete: true, move: true }, ...config },
    { erasureLookMs: 1 },
  );
  const write = (userId: string, path: string, content: string, more: object = {}) =>
    call(core, userId, 'memory_write', { path, content, reason: `${CANARY} reason` }, more);
  return { database, core, write };
}

const erase = (core: Core, userId = 'alice', dryRun = false) =>
  core.erasures.erase({ userId }, { confirm: userId, dryRun }, operator);

/** A user with rows of every kind, all with the canary; and bob, without. */
async function openFilled() {
  const opened = await open({ sharedWrites: true });
  const { core, write } = opened;
  await call(core, 'bob', 'memory_write', { path: 'user/profile.md', content: 'tea\n' });
  await call(core, 'bob', 'memory_read', { path: 'user/profile.md' });
  await write('alice', `user/${CANARY}.md`, `# ${CANARY}\n\n- likes ${CANARY}\n`, {
    idempotencyKey: 'k1',
    actor: CANARY,
  });
  await write('alice', 'user/b.md', `${CANARY} one\n`);
  await write('alice', 'user/b.md', 'two\n');
  await write('alice', 'user/c.md', 'gone\n');
  await call(core, 'alice', 'memory_delete', { path: 'user/c.md' });
  await call(core, 'alice', 'memory_read', { path: 'user/b.md' });
  await call(core, 'alice', 'memory_find', { query: CANARY });
  await core.files.put(`users/alice/${CANARY}-admin.md`, { content: `${CANARY}\n` }, operator);
  await core.storage.runs?.of('dreaming').update({ scope: 'u:alice', runId: null }, ({ user }) => ({
    result: null,
    user: { ...user, rejected: JSON.stringify([CANARY]), error: CANARY },
  }));
  const run = { ...dreamRunRow('u:alice', Date.now()), plugin: 'digest', details: `"${CANARY}"` };
  await core.storage.runs?.of('digest').update({ scope: 'u:alice', runId: run.id }, ({ user }) => ({
    result: null,
    user: { ...user, error: CANARY },
    run,
  }));
  await core.storage.leases.claim('dream:alice', CANARY, 60_000);
  await core.storage.leases.claim('run/alice/digest', CANARY, 60_000);
  await core.indexer.drain();
  await core.queue.flush();
  return opened;
}

describe('an erased user', () => {
  it('is in no table any more, with content, paths, reasons, queries and ids', async () => {
    const { core, database } = await openFilled();
    expect((await findCanary(database, CANARY)).length).toBeGreaterThan(5);
    const answer = await erase(core);
    expect(answer).toMatchObject({ dryRun: false, userId: 'alice', left: {} });
    expect(answer.tables).toMatchObject({
      svc_file: 4,
      svc_content: 3,
      svc_revision: 6,
      svc_idempotency: 1,
      svc_dream_run: 1,
      svc_dream_history: 1,
      svc_plugin_user: 1,
      svc_lease: 2,
    });
    expect(answer.chainHead).toMatch(/^[0-9a-f]{64}$/);
    expect(await findCanary(database, CANARY)).toEqual([]);
    const named = new Set(await findCanary(database, 'alice'));
    expect([...named].sort()).toEqual(['svc_admin_audit.target', 'svc_scope.scope']);
  });

  it('stays the writer of shared memory in no row but by its tool call, and verify agrees', async () => {
    const { core, database } = await openFilled();
    await call(core, 'alice', 'memory_write', { path: 'shared/tea.md', content: 'x\n' });
    await call(core, 'alice', 'memory_read', { path: 'shared/tea.md' });
    await core.queue.flush();
    await erase(core);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
    const { items } = await core.accessLog.list({ prefix: 'shared/tea.md' });
    expect(items.map(({ action, userId }) => [action, userId])).toEqual([['write', null]]);
    expect(await findCanary(database, CANARY)).toEqual([]);
  });

  it('leaves the rows of all others as they were, byte for byte', async () => {
    const { core, database } = await openFilled();
    await call(core, 'bob', 'memory_write', { path: 'shared/b.md', content: 'x\n' });
    await core.indexer.drain();
    await core.queue.flush();
    const others = async () => [
      ...(await readTables(database, 'u:bob')),
      ...(await readTables(database, 's')),
    ];
    const before = await others();
    const file = await core.fileLists.file('users/bob/profile.md', {});
    const log = await core.accessLog.list({ userId: 'bob' });
    await erase(core);
    expect(before.length).toBeGreaterThan(100);
    expect(await others()).toEqual(before);
    expect(await core.fileLists.file('users/bob/profile.md', {})).toEqual(file);
    expect(await core.accessLog.list({ userId: 'bob' })).toEqual(log);
  });

  it('is counted and not touched by a dry run', async () => {
    const { core, database } = await openFilled();
    const before = await readTables(database);
    const preview = await erase(core, 'alice', true);
    expect(preview).toMatchObject({ dryRun: true, erasedAt: null });
    expect(await readTables(database)).toEqual(before);
    const { tables } = await erase(core);
    expect(tables).toEqual(preview.tables);
  });

  it('starts as new under the same id: versions from 1, later ids, and nothing of before', async () => {
    const { core, write } = await openFilled();
    const { items } = await core.revisions.list({ userId: 'alice', limit: 1 });
    await erase(core);
    expect((await core.fileLists.users({})).items.map(({ userId }) => userId)).toEqual(['bob']);
    const listed = await call(core, 'alice', 'memory_list', {});
    expect(listed.result).toMatchObject({ files: [] });
    const { result } = await write('alice', 'user/b.md', 'new\n', { idempotencyKey: 'k1' });
    expect(result).toMatchObject({ version: 1, created: true });
    expect(String(result['revisionId']) > (items[0]?.id ?? '~')).toBe(true);
    const found = await call(core, 'alice', 'memory_find', { query: `likes ${CANARY} new` });
    expect(JSON.stringify(found.result)).toContain('user/b.md');
    expect(JSON.stringify(found.result)).not.toContain(CANARY);
    const history = await core.revisions.list({ userId: 'alice' });
    expect(history.items).toHaveLength(1);
  });

  it('can not be restored, and the answer says why', async () => {
    const { core, write } = await openFilled();
    const at = new Date().toISOString();
    await erase(core);
    const restore = () => core.restores.restore({ userId: 'alice' }, { at }, operator);
    const erased = { code: 'REVISION_NOT_FOUND', details: { reason: 'erased' } };
    expect(await rejection(restore())).toMatchObject(erased);
    await write('alice', 'user/b.md', 'new\n');
    expect(await rejection(restore())).toMatchObject(erased);
  });

  it('is left out of the audit, which still says that something was done', async () => {
    const { core } = await openFilled();
    const { auditRows } = await erase(core);
    expect(auditRows).toBe(1);
    const page = { limit: 50, order: 'asc', after: null } as const;
    const { items } = await core.storage.audit.list({}, page);
    expect(items.map(({ action, target }) => [action, target])).toEqual([
      ['files.write', 'erased'],
      ['users.erase', 'alice'],
      ['users.erase', 'alice'],
    ]);
    expect(items[0]?.details).toEqual({ erased: true });
  });
});

describe('the audit of a user who is named', () => {
  it.each(['all', 'git', 'dream_enabled'])(
    '%s keeps the rows that mean no user',
    async (userId) => {
      const { core, write } = await open();
      const { storage } = core;
      await write('bob', 'user/a.md', 'tea\n');
      await write(userId, 'user/a.md', 'tea\n');
      await buffer(await core.archive.export({ userId: null, history: true, format: 'git' }, null));
      await buffer(await core.archive.export({ userId, history: true }, null));
      await core.revisions.prune({ keepLast: 50 }, operator);
      await core.files.put(`users/${userId}/b.md`, { content: 'x\n' }, operator);
      const list = async () => {
        const page = { limit: 50, order: 'asc', after: null } as const;
        return (await storage.audit.list({}, page)).items;
      };
      const before = await list();
      await erase(core, userId);
      const after = (await list()).slice(0, before.length);
      const isOwn = ({ action, target }: (typeof before)[number]) =>
        action === 'files.write' || (action === 'memory.export' && target !== 'all');
      expect(after).toEqual(
        before.map((row) =>
          isOwn(row) ? { ...row, target: 'erased', details: { erased: true } } : row,
        ),
      );
      expect(after.filter(({ target }) => target === 'erased').length).toBe(
        userId === 'all' ? 1 : 2,
      );
    },
  );

  it('by a revision that is pruned, or in a search of an operator, is erased too', async () => {
    const { core, write } = await open();
    const { result } = await write('alice', 'user/a.md', 'one\n');
    await write('alice', 'user/a.md', 'two\n');
    const id = String(result['revisionId']);
    await core.revisions.redact(id, { reason: 'x' }, operator);
    await core.revisions.prune({ keepLast: 1 }, operator);
    await erase(core);
    const page = { limit: 10, order: 'asc', after: null } as const;
    const { items } = await core.storage.audit.list({}, page);
    expect(items.slice(0, 2)).toMatchObject([
      { action: 'revisions.redact', target: 'erased', details: { erased: true } },
      { action: 'revisions.prune', target: 'all' },
    ]);
  });

  it('by a tool call alone is erased too', async () => {
    const { core, write } = await open();
    const { toolCallId } = await write('alice', 'user/a.md', 'tea\n');
    await core.revisions.revertWrites({ toolCallId }, operator);
    expect((await erase(core)).auditRows).toBe(1);
    const page = { limit: 1, order: 'asc', after: null } as const;
    const { items } = await core.storage.audit.list({ action: 'revisions.revert' }, page);
    expect(items).toMatchObject([{ target: 'erased', details: { erased: true } }]);
  });
});

describe('an erasure', () => {
  it('lists the files of shared memory that were written after reading the memory', async () => {
    const { core, write } = await open({ sharedWrites: true });
    await write('alice', 'user/a.md', 'secret\n', { actor: 'one' });
    const trace = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01';
    const read = { path: 'user/a.md' };
    await call(core, 'alice', 'memory_read', read, { actor: 'one', traceparent: trace });
    await write('alice', 'shared/same-trace.md', 'x\n', { actor: 'two', traceparent: trace });
    await write('alice', 'shared/same-actor.md', 'x\n', { actor: 'one' });
    await write('alice', 'shared/another-actor.md', 'x\n', { actor: 'three' });
    await write('bob', 'shared/another-user.md', 'x\n', { actor: 'one' });
    await write('bob', 'user/of-bob.md', 'x\n', { traceparent: trace });
    // What was written counts, though the same trace read the memory again afterwards.
    await call(core, 'alice', 'memory_read', read, { actor: 'one', traceparent: trace });
    await write('alice', 'user/moved.md', 'secret\n', { actor: 'three' });
    const moved = { from: 'user/moved.md', to: 'shared/moved.md' };
    await call(core, 'alice', 'memory_move', moved, { actor: 'three' });
    // The rows of the last calls may still be queued.
    const { readers, readersComplete } = await erase(core);
    expect(readersComplete).toBe(true);
    expect(readers.map(({ path, probably }) => [path, probably])).toEqual([
      ['shared/moved.md', false],
      ['shared/same-actor.md', true],
      ['shared/same-trace.md', false],
      ['users/bob/of-bob.md', false],
    ]);
  });

  it('says that readers may be missing when the access log does not reach back', async () => {
    const { core } = await openFilled();
    expect(await erase(core, 'alice', true)).toMatchObject({ readersComplete: true });
    await core.storage.log.expire('access', Date.now() + 1, 5);
    expect(await erase(core)).toMatchObject({ readersComplete: false });
  });

  it('starts the counts of the user at nothing', async () => {
    const { core, write } = await openFilled();
    const counted = async (scope: 'u:alice' | null) => {
      await core.queue.flush();
      const filter = { grain: 'day', scope, since: 0, until: Date.now() } as const;
      const rows = (await core.storage.observations?.rollups(filter)) ?? [];
      return rows.reduce((sum, { calls }) => sum + calls, 0);
    };
    const before = await counted(null);
    expect(await counted('u:alice')).toBeGreaterThan(5);
    await erase(core);
    await write('alice', 'user/b.md', 'new\n');
    expect(await counted('u:alice')).toBe(1);
    expect(await counted(null)).toBe(before + 1);
  });

  it('lets an import that began before it skip the user, and go on with the others', async () => {
    const { core, database } = await openFilled();
    const whole = { userId: null, history: true };
    const archive = await buffer(await core.archive.export(whole, null));
    await erase(core);
    await erase(core, 'bob');
    const options = { onExisting: 'refuse', dryRun: false, caller: null } as const;
    const imported = await core.archive.import(() => Readable.from([archive]), options);
    await erase(core);
    let next = await imported.next();
    while (next.done !== true) next = await imported.next();
    expect(next.value).toMatchObject({ restored: 1, skipped: 4 });
    const { file } = await core.fileLists.file('users/bob/profile.md', {});
    expect(file.content).toBe('tea\n');
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect(await core.storage.erasure?.count('u:alice')).toEqual({});
  });

  it('keeps its receipt in the audit, without the paths of users who are erased later', async () => {
    const { core, write } = await open({ sharedWrites: true });
    await write('alice', 'user/a.md', 'secret\n');
    const trace = '00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01';
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' }, { traceparent: trace });
    await write('bob', 'user/of-bob.md', 'x\n', { traceparent: trace });
    await write('carol', 'user/of-carol.md', 'x\n', { traceparent: trace });
    const receipt = await erase(core);
    const ofEnd = async () => {
      const page = { limit: 1, order: 'desc', after: null } as const;
      const { items } = await core.storage.audit.list({ action: 'users.erase' }, page);
      return items[0]?.details;
    };
    const { tables, chainHead, readers, readersComplete, auditRows } = receipt;
    const kept = { step: 'end', tables, chainHead, readers, readersComplete, auditRows };
    expect(await ofEnd()).toMatchObject(kept);
    expect(readers).toHaveLength(2);
    const again = await erase(core, 'alice', true);
    expect(again).toMatchObject({ erasedBefore: receipt.erasedAt, readers: [] });
    await erase(core, 'bob');
    const { items } = await core.storage.audit.list(
      { action: 'users.erase' },
      { limit: 50, order: 'asc', after: null },
    );
    expect(items[1]?.details).toMatchObject({ ...kept, readers: [{ erased: true }, readers[1]] });
  });

  it('allows a restore to a time before it, of history that was imported since', async () => {
    const { core, write } = await openFilled();
    const at = new Date().toISOString();
    const archive = await buffer(
      await core.archive.export({ userId: 'alice', history: true }, null),
    );
    await erase(core);
    const options = { onExisting: 'refuse', dryRun: false, caller: null } as const;
    const imported = await core.archive.import(() => Readable.from([archive]), options);
    for (let next = await imported.next(); next.done !== true; next = await imported.next());
    await write('alice', 'user/b.md', 'three\n');
    expect(await core.restores.restore({ userId: 'alice' }, { at }, operator)).toMatchObject({
      restored: 1,
    });
    const { file } = await core.fileLists.file('users/alice/b.md', {});
    expect(file.content).toBe('two\n');
  });

  it('makes calls for the user wait, and refuses a second one meanwhile', async () => {
    const { core, write } = await openFilled();
    const { erasure } = core.storage;
    if (erasure === undefined) throw new Error('There is no erasure store.');
    await write('alice', 'user/old.md', 'one\n');
    await write('alice', 'user/old.md', 'two\n');
    const path = 'users/alice/old.md';
    const [old] = (await core.revisions.list({ path, order: 'asc' })).items;
    const seen: unknown[] = [];
    const pruned: number[] = [];
    const erasing = erasure.erase.bind(erasure);
    erasure.erase = async (hold, options) => {
      if (seen.length === 0) {
        seen.push(await rejection(write('alice', 'user/late.md', `${CANARY}\n`)));
        seen.push(await rejection(call(core, 'alice', 'memory_read', { path: 'user/b.md' })));
        seen.push(await rejection(erase(core)));
        seen.push(await rejection(core.files.put('users/alice/x.md', { content: 'x' }, operator)));
        seen.push(await rejection(core.restores.release({ userId: 'alice' }, operator)));
        seen.push(await rejection(core.revisions.redact(old?.id ?? '', { reason: 'x' }, operator)));
        const filter = { userId: 'alice', keepLast: 1 };
        pruned.push((await core.revisions.prune(filter, operator)).pruned);
        seen.push(await call(core, 'bob', 'memory_read', { path: 'user/profile.md' }));
      }
      return await erasing(hold, options);
    };
    await erase(core);
    const held = { code: 'MEMORY_HELD', details: { kind: 'erase', userId: 'alice' } };
    expect(seen).toMatchObject([
      ...[held, held, held, held, held, held],
      { result: { content: 'tea\n' } },
    ]);
    expect(pruned).toEqual([0]);
    expect(await core.storage.holds?.list(10)).toEqual([]);
    await write('alice', 'user/late.md', 'now\n');
  });

  it('refuses what a call writes that began before it, to shared memory too', async () => {
    const { core, database } = await openFilled();
    const { storage } = core;
    const mutate = storage.mutate.bind(storage);
    const eraseFirst = () => {
      storage.mutate = async (request, decide) => {
        storage.mutate = mutate;
        await erase(core);
        return await mutate(request, decide);
      };
    };
    const late = { code: 'MEMORY_HELD', details: { kind: 'erase', reason: 'erased' } };
    const calls = [
      ['memory_write', { path: `user/late.md`, content: `${CANARY}\n` }, {}],
      ['memory_write', { path: `shared/late.md`, content: `${CANARY}\n` }, {}],
      ['memory_write', { path: `shared/late.md`, content: 'x' }, { idempotencyKey: CANARY }],
    ] as const;
    for (const [tool, args, more] of calls) {
      eraseFirst();
      expect(await rejection(call(core, 'alice', tool, args, more))).toMatchObject(late);
    }
    await core.queue.flush();
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect(await storage.erasure?.count('u:alice')).toEqual({});
    const again = await call(core, 'alice', 'memory_write', { path: 'shared/x.md', content: 'x' });
    expect(again.result).toMatchObject({ version: 1 });
  });

  it('says what is pending when the file cannot be rewritten, and calls go on', async () => {
    const { core, write } = await openFilled();
    const { erasure } = core.storage;
    if (erasure === undefined) throw new Error('There is no erasure store.');
    const { file } = erasure;
    if (file !== undefined) {
      vi.spyOn(file, 'rewrite').mockRejectedValue(new MemoryError('STORAGE_FULL'));
    }
    const { pending } = await erase(core);
    expect(pending).toEqual(file === undefined ? [] : ['database file']);
    expect((await write('alice', 'user/b.md', 'new\n')).result).toMatchObject({ version: 1 });
  });

  it('refuses a restore of contents that were read before it', async () => {
    const { core, write } = await openFilled();
    const { result } = await write('alice', 'user/b.md', 'three\n');
    const { storage } = core;
    const mutate = storage.mutate.bind(storage);
    storage.mutate = async (request, decide) => {
      storage.mutate = mutate;
      await erase(core);
      await write('alice', 'user/b.md', 'new\n');
      return await mutate(request, decide);
    };
    const revert = core.revisions.revert(String(result['revisionId']), {}, operator);
    expect(await rejection(revert)).toMatchObject({ details: { reason: 'erased' } });
  });

  it('leaves out the log rows of calls that were under way', async () => {
    const { core, database, write } = await open();
    const { result } = await write('alice', 'user/a.md', `${CANARY}\n`);
    const page = { limit: 1, order: 'asc', after: null } as const;
    const { items } = await core.storage.log.listAccess({ scope: 'u:alice' }, page);
    const row = items[0];
    if (row === undefined) throw new Error('There is no access row.');
    await core.queue.flush();
    await erase(core);
    const id = '01a20000-0000-7000-8000-000000000001';
    const late = { ...row, id, path: CANARY, action: 'read' as const, knownErasure: 0 };
    await core.storage.log.append({ access: [late], events: [] });
    await core.storage.log.append({
      access: [{ ...late, scope: 's', userId: 'alice', fileNo: null }],
      events: [],
    });
    expect(result['version']).toBe(1);
    expect(await findCanary(database, CANARY)).toEqual([]);
    expect(await core.storage.erasure?.count('u:alice')).toEqual({});
  });

  it('needs the user id twice, and a user that there is or was', async () => {
    const { core } = await openFilled();
    const wrong = core.erasures.erase({ userId: 'alice' }, { confirm: 'alise' }, operator);
    expect(await rejection(wrong)).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await rejection(erase(core, 'nobody'))).toMatchObject({ code: 'FILE_NOT_FOUND' });
    await erase(core);
    expect(await erase(core)).toMatchObject({ tables: {}, left: {} });
  });
});
