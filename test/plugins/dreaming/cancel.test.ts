import { describe, expect, it, vi } from 'vitest';
import { type DreamService, openDreams } from './dream-service.ts';
import { AFTER, BEFORE, readThree, watchedStorage, writeThree } from './three-files.ts';
import { sqlite } from '../../support/databases.ts';

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

const WAIT = { interval: 5, timeout: 20_000 };

const stateOf = async (service: DreamService, id: string) =>
  (await service.core.storage.runs?.of('dreaming').run(id))?.state;

async function newestRun({ core }: DreamService) {
  const page = { limit: 1, order: 'desc', after: null } as const;
  const runs = await core.storage.runs?.of('dreaming').listRuns({ scope: 'u:alice' }, page);
  return runs?.items[0];
}

describe.each([
  ['the instance that does it', false],
  ['another instance', true],
])('a run that is canceled at %s', (_, byAnother) => {
  it('while its model thinks writes nothing', async () => {
    const { first, second } = await openTwo('auto');
    const asked = new Promise<() => void>((resolve) =>
      first.provider.next((exchange) => resolve(() => exchange.sendJson(200, exchange.proper()))),
    );
    const { id } = (await first.admin('POST', 'dream/users/alice/run', {})).json;
    const answer = await asked;
    const canceling = (byAnother ? second : first).admin('POST', `dream/runs/${id}/cancel`, {});
    await vi.waitUntil(async () => (await stateOf(first, id)) === 'canceled', WAIT);
    answer();
    expect((await canceling).json).toMatchObject({ id, state: 'canceled' });
    await first.plugin.settle();
    const { json: run } = await first.admin('GET', `dream/runs/${id}`);
    expect(run).toMatchObject({
      state: 'canceled',
      outcome: null,
      filesTouched: 0,
      writes: 0,
      error: null,
      operationsWaiting: 0,
    });
    expect(run.endedAt).not.toBeNull();
    expect(await readThree(first)).toEqual(BEFORE);
  });

  it('right before its write writes nothing', async () => {
    const { watched, first, second } = await openTwo('auto');
    let canceling: ReturnType<DreamService['admin']> | null = null;
    watched.beforeWrite = async (paths) => {
      if (canceling !== null || !paths.some((path) => path in BEFORE)) return;
      const id = (await newestRun(first))?.id ?? '';
      canceling = (byAnother ? second : first).admin('POST', `dream/runs/${id}/cancel`, {});
      await vi.waitUntil(async () => (await stateOf(first, id)) === 'canceled', WAIT);
    };
    const { id } = await first.dream('alice');
    const canceled: unknown = await (canceling as unknown as Promise<unknown>);
    expect(canceled).toMatchObject({ json: { id, state: 'canceled', outcome: null } });
    await first.plugin.settle();
    const { json: run } = await first.admin('GET', `dream/runs/${id}`);
    expect(run).toMatchObject({
      state: 'canceled',
      outcome: null,
      filesTouched: 0,
      writes: 0,
      error: null,
      operationsApplied: 0,
      operationsWaiting: 0,
    });
    expect(run.endedAt).not.toBeNull();
    expect(await readThree(first)).toEqual(BEFORE);
  });

  it('once its write is committed has ended, and can be reverted', async () => {
    const { watched, first, second } = await openTwo('auto');
    let canceled: { status: number; json: unknown } | null = null;
    watched.afterWrite = async (paths) => {
      if (canceled !== null || !paths.some((path) => path in BEFORE)) return;
      const id = (await newestRun(first))?.id ?? '';
      canceled = await (byAnother ? second : first).admin('POST', `dream/runs/${id}/cancel`, {});
    };
    const { id } = await first.dream('alice');
    expect(canceled).toMatchObject({
      status: 409,
      json: { error: { code: 'RUN_STATE', details: { state: 'completed' } } },
    });
    await first.plugin.settle();
    const { json: run } = await first.admin('GET', `dream/runs/${id}`);
    expect(run).toMatchObject({
      state: 'completed',
      outcome: 'applied',
      filesTouched: 3,
      writes: 4,
      error: null,
      operationsApplied: 2,
    });
    expect(await readThree(first)).toEqual(AFTER);
    const { json: undone } = await first.admin('POST', `dream/runs/${id}/revert`, {});
    expect(undone).toMatchObject({ state: 'completed', outcome: 'reverted', left: [] });
    expect(await readThree(first)).toEqual(BEFORE);
    expect(await first.read('alice', 'user/dream-log.md')).toContain(`\n- revert of run ${id}\n`);
  });
});

describe('canceling', () => {
  it('is of runs that have not ended: operations that wait are rejected instead', async () => {
    const { first } = await openTwo('review');
    const { id } = await first.dream('alice');
    const ended = await first.admin('POST', `dream/runs/${id}/cancel`, {});
    expect(ended).toMatchObject({ status: 409, json: { error: { code: 'RUN_STATE' } } });
    const paths = ['users/alice/tea.md'];
    const { status, json } = await first.admin('POST', `dream/runs/${id}/cancel`, { paths });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('reject operations instead'),
      details: { issues: [{ path: '/paths' }] },
    });
    const odd = await first.admin('POST', `dream/runs/${id}/cancel`, { paths: 5 });
    expect(odd.status).toBe(400);
    expect(odd.json.error.details.issues).toEqual([
      { path: '/paths', message: 'must be an array' },
    ]);
  });
});
