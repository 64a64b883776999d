import { describe, expect, it, vi } from 'vitest';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { type DreamService, openDreams } from './dream-service.ts';
import { AFTER, BEFORE, readThree, watchedStorage, writeThree } from './three-files.ts';

async function openTwo(mode: 'auto' | 'review') {
  const watched = await watchedStorage();
  const first = await openDreams({ storage: watched.storage, settings: { dream_mode: mode } });
  const second = await openDreams({
    storage: sqlite({ filename: watched.filename, lockTimeoutMs: 60_000 }),
    clock: first.clock,
    provider: first.provider,
  });
  await writeThree(first);
  return { watched, first, second };
}

const stateOf = async (service: DreamService, id: string) =>
  (await service.core.storage.dreams?.run(id))?.state;

/** What is true of a run of three files that was canceled after its first one. */
async function expectOneWritten(service: DreamService, id: string): Promise<void> {
  const { json: run } = await service.admin('GET', `dream/runs/${id}`);
  expect(run).toMatchObject({
    state: 'canceled',
    outcome: 'partial',
    filesTouched: 1,
    writes: 2,
    error: null,
  });
  expect(run.endedAt).not.toBeNull();
  const statuses = run.files.map(({ status }: { status: string }) => status);
  expect([...statuses].sort()).toEqual(['applied', 'rejected', 'rejected']);
  const revisions = (await service.admin('GET', `revisions?runId=${id}`)).json.items;
  expect(revisions).toHaveLength(2);
  const written = run.files.find(({ status }: { status: string }) => status === 'applied');
  const file = `user/${written.path.slice('users/alice/'.length)}`;
  expect(await readThree(service)).toEqual({ ...BEFORE, [file]: AFTER[file] });
  expect(await service.read('alice', 'user/dream-log.md')).toContain(id);
  const user = (await service.admin('GET', 'dream/users')).json.items[0];
  expect(user).toMatchObject({ status: 'canceled', filesTouched: 1, error: null });

  const { json: undone } = await service.admin('POST', `dream/runs/${id}/revert`, {});
  expect(undone).toMatchObject({ state: 'canceled', outcome: 'reverted', left: [] });
  expect(await readThree(service)).toEqual(BEFORE);
  expect(await service.read('alice', 'user/dream-log.md')).toBeNull();
}

describe.each([
  ['the instance that does it', false],
  ['another instance', true],
])('a run that is canceled at %s while it writes', (_, byAnother) => {
  /** Cancels the run once its first file is written. */
  function cancelAtFirst({ watched, first, second }: Awaited<ReturnType<typeof openTwo>>) {
    let canceling: ReturnType<DreamService['admin']> | null = null;
    watched.afterWrite = async (paths) => {
      if (canceling !== null) return;
      const [run] =
        (
          await first.core.storage.dreams?.listRuns(
            { scope: 'u:alice' },
            { limit: 1, order: 'desc', after: null },
          )
        )?.items ?? [];
      if (run === undefined || !paths.some((path) => path in BEFORE)) return;
      canceling = (byAnother ? second : first).admin('POST', `dream/runs/${run.id}/cancel`, {});
      await vi.waitUntil(async () => (await stateOf(first, run.id)) === 'canceled', {
        interval: 5,
        timeout: 120_000,
      });
    };
    return async () => (await canceling)?.json;
  }

  it('stops before its next write, and says what it has written: in review mode', async () => {
    const two = await openTwo('review');
    const { first } = two;
    const { id } = await first.dream('alice');
    const canceled = cancelAtFirst(two);
    const applied = await first.admin('POST', `dream/runs/${id}/apply`, {});
    expect(applied).toMatchObject({ status: 409, json: { error: { code: 'RUN_STATE' } } });
    expect(await canceled()).toMatchObject({ id, state: 'canceled' });
    await expectOneWritten(first, id);
  });

  it('stops before its next write, and says what it has written: in auto mode', async () => {
    const two = await openTwo('auto');
    const { first } = two;
    const canceled = cancelAtFirst(two);
    const { id } = await first.dream('alice');
    expect(await canceled()).toMatchObject({ id, state: 'canceled' });
    await first.plugin.settle();
    await expectOneWritten(first, id);
  });
});

describe('canceling', () => {
  it('answers with what was written, where the run is done here', async () => {
    const { watched, first } = await openTwo('review');
    const { id } = await first.dream('alice');
    const answers: ReturnType<DreamService['admin']>[] = [];
    watched.afterWrite = async () => {
      if (answers.length > 0) return;
      answers.push(first.admin('POST', `dream/runs/${id}/cancel`, {}));
      await vi.waitUntil(async () => (await stateOf(first, id)) === 'canceled', {
        interval: 5,
        timeout: 120_000,
      });
    };
    await first.admin('POST', `dream/runs/${id}/apply`, {});
    expect(await Promise.all(answers)).toMatchObject([
      { status: 200, json: { state: 'canceled', outcome: 'partial', filesTouched: 1, writes: 2 } },
    ]);
  });

  it('a proposal of which a file is applied already logs what was, and rejects the rest', async () => {
    const { first } = await openTwo('review');
    const { id } = await first.dream('alice');
    const paths = ['users/alice/tea.md'];
    const applied = await first.admin('POST', `dream/runs/${id}/apply`, { paths });
    expect(applied.json).toMatchObject({ state: 'awaiting_review', filesTouched: 1, writes: 1 });
    await first.admin('POST', `dream/runs/${id}/cancel`, {});
    await expectOneWritten(first, id);
  });

  it('takes no paths: it says that files are rejected instead', async () => {
    const { first } = await openTwo('review');
    const { id } = await first.dream('alice');
    const paths = ['users/alice/tea.md'];
    const { status, json } = await first.admin('POST', `dream/runs/${id}/cancel`, { paths });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('reject files instead'),
      details: { issues: [{ path: '/paths' }] },
    });
    expect(await stateOf(first, id)).toBe('awaiting_review');
  });
});
