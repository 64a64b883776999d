import { expect, it, onTestFinished, vi } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import { makeStorage } from '../../support/service.ts';
import { type DreamService, openDreams, operation, lines } from './dream-service.ts';
import { dreamRunsOf } from '../../support/dream-runs.ts';

const PROFILE = '# Profile\n\n- Prefers tea.\n- Prefers tea.\n';

/** A run of alice that proposes to remove a repeated line, and waits for a person. */
async function proposeRemoval(service: DreamService): Promise<string> {
  service.say(() => ({
    operations: [
      operation({
        kind: 'merge',
        remove: lines('user/profile.md', PROFILE, 4),
        sources: lines('user/profile.md', PROFILE, 3),
      }),
    ],
  }));
  return (await service.dream('alice')).id as string;
}

/** A write of the admin API, the read that its answer needs, and what shows that it was made. */
const WRITES: Record<
  string,
  {
    settings?: object;
    prepare?: (service: DreamService) => Promise<string>;
    request: (id: string) => [method: string, path: string, body?: unknown];
    failRead: (storage: Storage, error: MemoryError) => { mockRestore(): void };
    look: (id: string) => string;
    made: object;
  }
> = {
  'PUT files': {
    request: () => ['PUT', 'files/users/alice/new.md', { content: 'New.\n' }],
    failRead: ({ files }, error) => vi.spyOn(files, 'getListing').mockRejectedValue(error),
    look: () => 'files/users/alice/new.md',
    made: { file: { content: 'New.\n' } },
  },
  'PUT dream/config': {
    request: () => ['PUT', 'dream/config', { dream_max_writes: 7 }],
    failRead: ({ config }, error) => vi.spyOn(config, 'entries').mockRejectedValue(error),
    look: () => 'dream/config',
    made: { dream_max_writes: 7 },
  },
  'PUT dream/users/:userId/paused': {
    request: () => ['PUT', 'dream/users/alice/paused', { paused: true }],
    // It is read before, to know whether there is such a memory, and for the answer.
    failRead(storage, error) {
      const dreams = dreamRunsOf(storage);
      const read = dreams.user.bind(dreams);
      return vi.spyOn(dreams, 'user').mockImplementationOnce(read).mockRejectedValue(error);
    },
    look: () => 'dream/users?userIds=alice',
    made: { items: [{ userId: 'alice', paused: true }] },
  },
  'POST dream/users/:userId/run': {
    request: () => ['POST', 'dream/users/alice/run', {}],
    failRead: ({ revisions }, error) => vi.spyOn(revisions, 'list').mockRejectedValue(error),
    look: () => 'dream/runs?userId=alice',
    made: { items: [{ origin: 'manual' }] },
  },
  'POST dream/runs/:id/reject': {
    settings: { dream_mode: 'review' },
    prepare: proposeRemoval,
    request: (id) => ['POST', `dream/runs/${id}/reject`, {}],
    failRead: ({ revisions }, error) => vi.spyOn(revisions, 'list').mockRejectedValue(error),
    look: (id) => `dream/runs/${id}`,
    made: { operations: [{ status: 'rejected' }] },
  },
};

it.each(Object.keys(WRITES))(
  'says that a write may be made when only the read for its answer fails (%s)',
  async (name) => {
    const write = WRITES[name];
    if (write === undefined) throw new Error(name);
    const storage = await makeStorage();
    const { settings = {} } = write;
    const service = await openDreams({ storage, settings });
    onTestFinished(() => service.plugin.settle());
    await service.write('alice', 'user/profile.md', PROFILE);
    const id = (await write.prepare?.(service)) ?? '';
    const failed = write.failRead(storage, new MemoryError('STORAGE_UNAVAILABLE'));
    onTestFinished(() => failed.mockRestore());
    const { status, json } = await service.admin(...write.request(id));
    failed.mockRestore();
    expect([status, json]).toMatchObject([
      503,
      { error: { code: 'STORAGE_UNAVAILABLE', details: { reason: 'outcome_unknown' } } },
    ]);
    expect(json.error.message).toContain('may have been written');
    expect((await service.admin('GET', write.look(id))).json).toMatchObject(write.made);
  },
);
