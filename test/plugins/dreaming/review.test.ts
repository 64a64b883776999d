import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { type DreamService, lines, MINUTE, openDreams, operation } from './dream-service.ts';
import { AFTER, readThree, writeThree } from './three-files.ts';

const TWICE = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
const ONCE = '- Likes tea a lot.\n- Has a cat.\n';
const A = '# A\n\n- Uses Vim at work.\n- Decided on Kafka in 2024.\n';
const B = '# Projects\n\n- Decided on Redis in 2023.\n';
const REVIEW = { dream_mode: 'review' };

const proposal = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines('user/tea.md', TWICE, 1, 2),
      add: { path: 'user/tea.md', heading: null, lines: ['- Likes tea a lot.'] },
    }),
    operation({
      kind: 'move',
      remove: lines('user/a.md', A, 4),
      add: { path: 'user/b.md', heading: 'Projects', lines: ['- Decided on Kafka in 2024.'] },
    }),
  ],
});

async function openWithProposal() {
  const service = await openDreams({ settings: REVIEW });
  for (const [path, content] of [
    ['user/tea.md', TWICE],
    ['user/a.md', A],
    ['user/b.md', B],
  ] as const) {
    await service.write('alice', path, content);
  }
  service.clock.advance(MINUTE);
  service.say(proposal);
  const run = await service.dream('alice');
  return { service, run };
}

const statusesOf = (run: { files: { path: string; status: string }[] }) =>
  Object.fromEntries(
    run.files.map(({ path, status }) => [path.slice('users/alice/'.length), status]),
  );

const userOf = async (service: DreamService) =>
  (await service.admin('GET', 'dream/users')).json.items[0];

describe('a dream run in review mode', () => {
  it('waits with diffs, writes nothing, and keeps the scheduler from another one', async () => {
    const { service, run } = await openWithProposal();
    expect(run).toMatchObject({ state: 'awaiting_review', outcome: null, filesTouched: 0 });
    expect(statusesOf(run)).toEqual({
      'tea.md': 'proposed',
      'a.md': 'proposed',
      'b.md': 'proposed',
    });
    expect(run.files.find((it: { path: string }) => it.path.endsWith('tea.md')).diff).toContain(
      '@@',
    );
    expect(await service.read('alice', 'user/tea.md')).toBe(TWICE);
    await service.write('alice', 'user/c.md', '- More.\n');
    service.clock.advance(31 * MINUTE);
    expect(await userOf(service)).toMatchObject({
      status: 'awaiting_review',
      skipReason: 'in_flight',
    });
    const second = await service.admin('POST', 'dream/users/alice/run', {});
    expect(second.json.error.code).toBe('DREAM_RUNNING');
  });

  it('is applied as a whole', async () => {
    const { service, run } = await openWithProposal();
    const { json } = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(json).toMatchObject({
      state: 'completed',
      outcome: 'applied',
      filesTouched: 3,
      writes: 4,
    });
    expect(await service.read('alice', 'user/tea.md')).toBe(ONCE);
    expect(await service.read('alice', 'user/b.md')).toBe(`${B}- Decided on Kafka in 2024.\n`);
    expect(await service.read('alice', 'user/dream-log.md')).toContain('user/tea.md: merge');
    const again = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(again.json.error).toMatchObject({ code: 'RUN_STATE', details: { state: 'completed' } });
    const audit = (await service.admin('GET', 'audit?action=dream.apply')).json.items;
    expect(audit).toMatchObject([{ target: run.id, address: '127.0.0.1' }]);
    const undone = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(undone.json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/a.md')).toBe(A);
  });

  it('is applied and rejected by file, and ends once every file is decided on', async () => {
    const { service, run } = await openWithProposal();
    const paths = ['users/alice/tea.md'];
    const first = await service.admin('POST', `dream/runs/${run.id}/apply`, { paths });
    expect(first.json).toMatchObject({ state: 'awaiting_review', outcome: null, filesTouched: 1 });
    expect(statusesOf(first.json)).toEqual({
      'tea.md': 'applied',
      'a.md': 'proposed',
      'b.md': 'proposed',
    });
    const repeated = await service.admin('POST', `dream/runs/${run.id}/apply`, { paths });
    expect(repeated.status).toBe(400);
    const last = await service.admin('POST', `dream/runs/${run.id}/reject`, {});
    expect(last.json).toMatchObject({ state: 'completed', outcome: 'partial', filesTouched: 1 });
    expect(await service.read('alice', 'user/a.md')).toBe(A);
    expect(await userOf(service)).toMatchObject({ status: 'completed', filesTouched: 1 });
  });

  it('is applied file by file within its budget: one entry of the log, when all is decided', async () => {
    const service = await openDreams({ settings: { ...REVIEW, dream_max_writes: 10 } });
    const files = Array.from({ length: 9 }, (_, n) => `user/${n}.md`);
    for (const file of files) await service.write('alice', file, TWICE);
    service.say(() => ({
      operations: files.map((path) =>
        operation({
          kind: 'merge',
          remove: lines(path, TWICE, 1, 2),
          add: { path, heading: null, lines: ['- Likes tea a lot.'] },
        }),
      ),
    }));
    const { id } = await service.dream('alice');
    for (const [index, file] of files.entries()) {
      const paths = [file];
      const { json } = await service.admin('POST', `dream/runs/${id}/apply`, { paths });
      const isLast = index === files.length - 1;
      expect(json).toMatchObject({
        state: isLast ? 'completed' : 'awaiting_review',
        filesTouched: index + 1,
        writes: index + (isLast ? 2 : 1),
      });
      expect(await service.read('alice', file)).toBe(ONCE);
    }
    const run = (await service.admin('GET', `dream/runs/${id}`)).json;
    expect(run).toMatchObject({ outcome: 'applied', writes: 10 });
    expect(run.revisions).toHaveLength(10);
    const log = (await service.read('alice', 'user/dream-log.md')) ?? '';
    expect(log.match(/^## /gm)).toHaveLength(1);
    for (const file of files) expect(log).toContain(`- ${file}: merge\n`);
    const undone = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(undone.json).toMatchObject({ outcome: 'reverted', left: [] });
  });

  it('keeps what there is no room for, with the reason, until there is', async () => {
    const filename = path.join(await temporaryDirectory(), 'memory.db');
    const wide = await openDreams({ storage: sqlite({ filename }), settings: REVIEW });
    const narrow = await openDreams({
      storage: sqlite({ filename }),
      clock: wide.clock,
      provider: wide.provider,
      config: { limits: { maxFileBytes: 50 } },
    });
    await writeThree(wide);
    const { id } = await wide.dream('alice');
    const { json } = await narrow.admin('POST', `dream/runs/${id}/apply`, {});
    expect(json).toMatchObject({ state: 'awaiting_review', filesTouched: 1 });
    expect(statusesOf(json)).toEqual({
      'tea.md': 'applied',
      'a.md': 'proposed',
      'b.md': 'proposed',
    });
    const noteOf = (file: string) =>
      json.files.find((it: { path: string }) => it.path.endsWith(file)).note;
    expect(noteOf('/b.md')).toContain('50');
    expect(noteOf('/a.md')).toBe('it waits for user/b.md, which takes lines of it');
    const { json: done } = await wide.admin('POST', `dream/runs/${id}/apply`, {});
    expect(done).toMatchObject({ state: 'completed', outcome: 'applied', filesTouched: 3 });
    expect(await readThree(wide)).toEqual(AFTER);
  });

  it('does not take a line away before the file that takes it is written', async () => {
    const { service, run } = await openWithProposal();
    const paths = ['users/alice/a.md'];
    const { json } = await service.admin('POST', `dream/runs/${run.id}/apply`, { paths });
    expect(json).toMatchObject({ state: 'awaiting_review', filesTouched: 0 });
    expect(statusesOf(json)['a.md']).toBe('proposed');
    expect(await service.read('alice', 'user/a.md')).toBe(A);
    const both = ['users/alice/a.md', 'users/alice/b.md'];
    const done = await service.admin('POST', `dream/runs/${run.id}/apply`, { paths: both });
    expect(statusesOf(done.json)).toEqual({
      'tea.md': 'proposed',
      'a.md': 'applied',
      'b.md': 'applied',
    });
  });

  it('leaves a file alone that changed while it waited', async () => {
    const { service, run } = await openWithProposal();
    await service.write('alice', 'user/tea.md', `${TWICE}- Mine.\n`);
    const { json } = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(json).toMatchObject({ state: 'completed', outcome: 'partial', filesTouched: 2 });
    expect(await service.read('alice', 'user/tea.md')).toBe(`${TWICE}- Mine.\n`);
  });

  it('is rejected, or canceled, without a trace in memory', async () => {
    for (const verb of ['reject', 'cancel']) {
      const { service, run } = await openWithProposal();
      const { json } = await service.admin('POST', `dream/runs/${run.id}/${verb}`, {});
      expect(json).toMatchObject(
        verb === 'reject'
          ? { state: 'completed', outcome: 'rejected' }
          : { state: 'canceled', outcome: null },
      );
      expect(json.filesTouched).toBe(0);
      expect(await service.read('alice', 'user/tea.md')).toBe(TWICE);
      expect(await service.read('alice', 'user/dream-log.md')).toBeNull();
      const revert = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
      expect(revert.json.error.code).toBe('RUN_STATE');
      service.clock.advance(31 * MINUTE);
      expect(await userOf(service)).toMatchObject({ skipReason: 'no_change' });
    }
  });
});

describe('canceling a run', () => {
  it('ends one that waits for its model, at once, and frees the user', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/tea.md', TWICE);
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    service.provider.next(() => asked());
    const begun = await service.admin('POST', 'dream/users/alice/run', {});
    expect(begun).toMatchObject({ status: 202, json: { state: 'queued' } });
    await isAsked;
    expect(await userOf(service)).toMatchObject({ status: 'running' });
    const busy = await service.admin('POST', 'dream/users/alice/run', {});
    expect(busy.json.error.code).toBe('DREAM_RUNNING');
    const { json } = await service.admin('POST', `dream/runs/${begun.json.id}/cancel`, {});
    expect(json).toMatchObject({ state: 'canceled', filesTouched: 0 });
    await service.plugin.settle();
    expect((await service.admin('GET', `dream/runs/${begun.json.id}`)).json.state).toBe('canceled');
    service.say(() => ({ operations: [] }));
    expect(await service.dream('alice')).toMatchObject({ state: 'completed', outcome: 'no_op' });
  });
});

describe('the routes of runs', () => {
  it('answer RUN_NOT_FOUND for what there is not, and refuse bad ids of users', async () => {
    const service = await openDreams();
    for (const id of ['nothing', '00000000-0000-7000-8000-000000000000']) {
      for (const verb of ['apply', 'reject', 'cancel', 'revert']) {
        const { status, json } = await service.admin('POST', `dream/runs/${id}/${verb}`, {});
        expect([status, json.error.code]).toEqual([404, 'RUN_NOT_FOUND']);
      }
      expect((await service.admin('GET', `dream/runs/${id}`)).status).toBe(404);
    }
    const bad = await service.admin('POST', 'dream/users/a%20b/run', {});
    expect(bad.json.error.code).toBe('INVALID_USER_ID');
  });

  it('list runs newest first, by user and by state, in pages', async () => {
    const service = await openDreams();
    for (const userId of ['a', 'b', 'a']) {
      await service.write(userId, 'user/tea.md', TWICE);
      await service.dream(userId);
      service.clock.advance(MINUTE);
    }
    const all = (await service.admin('GET', 'dream/runs')).json.items;
    expect(all.map((it: { userId: string }) => it.userId)).toEqual(['a', 'b', 'a']);
    const ofA = (await service.admin('GET', 'dream/runs?userId=a&limit=1')).json;
    expect(ofA.items).toEqual([all[0]]);
    const next = await service.admin('GET', `dream/runs?userId=a&limit=1&cursor=${ofA.nextCursor}`);
    expect(next.json).toEqual({ items: [all[2]], nextCursor: null });
    const foreign = await service.admin('GET', `dream/runs?userId=b&cursor=${ofA.nextCursor}`);
    expect(foreign.json.error.code).toBe('INVALID_CURSOR');
    expect((await service.admin('GET', 'dream/runs?state=failed')).json.items).toEqual([]);
    const users = (await service.admin('GET', 'dream/users?q=B')).json.items;
    expect(users.map((it: { userId: string }) => it.userId)).toEqual(['b']);
  });

  it('answer without a model that none is configured', async () => {
    const service = await openDreams({ config: { model: null } });
    await service.write('alice', 'user/tea.md', TWICE);
    service.clock.advance(31 * MINUTE);
    const { status, json } = await service.admin('POST', 'dream/users/alice/run', {});
    expect([status, json.error.code]).toEqual([503, 'MODEL_NOT_CONFIGURED']);
    expect(await userOf(service)).toMatchObject({ skipReason: 'model_not_configured' });
    expect(await service.plugin.tick()).toMatchObject({ skipped: 'model_not_configured' });
  });

  it('run a user now although paused, disabled and within the grace period', async () => {
    const service = await openDreams({ settings: { dream_enabled: false } });
    await service.write('alice', 'user/tea.md', TWICE);
    await service.admin('PUT', 'dream/users/alice/paused', { paused: true });
    expect(await service.dream('alice')).toMatchObject({ state: 'completed', origin: 'manual' });
    expect(service.provider.received).toHaveLength(1);
  });
});
