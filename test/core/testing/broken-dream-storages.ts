import type { DreamStore } from '../../../core/contracts/dreams.ts';
import type { Guard, Storage } from '../../../core/contracts/storage.ts';
import type { BrokenStorage } from './broken-storages.ts';

/** Bugs of drivers that keep what dreaming needs, each found by one case alone. */
export const brokenDreamStorages: readonly BrokenStorage[] = [
  {
    bug: 'gives the run of another user',
    breaks: 'keeps what dreaming knows of a user and of a run, each field',
    wrap: withDreams((good) => ({
      update: async (request, decide) => {
        const run = request.runId === null ? null : await good.run(request.runId);
        return await good.update(request, (current) => decide({ ...current, run }));
      },
    })),
  },
  {
    bug: 'writes the audit behind the change',
    breaks: 'changes a user and a run together with the audit, or none of them',
    wrap: withDreams((good) => ({
      async update(request, decide) {
        const decided = await good.update(request, (current) => {
          const { audit, ...decision } = decide(current);
          return { ...decision, result: { result: decision.result, audit } };
        });
        const { result, audit } = decided;
        if (audit !== undefined) await good.update(request, () => ({ result: null, audit }));
        return result;
      },
    })),
  },
  {
    bug: 'reads a user first, and writes then',
    breaks: 'takes changes of one user one after the other',
    wrap: withDreams((good) => ({
      async update(request, decide) {
        const current = await good.update(request, (it) => ({ result: it }));
        return await good.update(request, () => decide(current));
      },
    })),
  },
  {
    bug: 'looks at no lease where a run’s rows change',
    breaks: 'refuses a change whose lease is not the one that lasts',
    wrap: withDreams((good) => ({
      update: ({ scope, runId }, decide) => good.update({ scope, runId }, decide),
    })),
  },
  {
    bug: 'forgets where a list of users goes on',
    breaks: 'finds users whose writes are newer than their watermark',
    wrap: withDreams((good) => ({
      changedUsers: ({ limit }) => good.changedUsers({ after: null, limit }),
    })),
  },
  {
    bug: 'takes a run that waits for one that has ended',
    breaks: 'lists runs by user, by state, and those that have not ended',
    wrap: withDreams((good) => ({
      listRuns: ({ isOpen, ...filter }, page) => good.listRuns(filter, page),
    })),
  },
  {
    bug: 'takes a run that wrote nothing for one that did',
    breaks: 'lists runs by outcome, by time, and those that wrote',
    wrap: withDreams((good) => ({
      listRuns: ({ hasWritten, ...filter }, page) => good.listRuns(filter, page),
    })),
  },
  {
    bug: 'counts runs in place of the operations that wait in them',
    breaks: 'finds and counts operations that wait, and keeps their runs',
    wrap: withDreams((good) => ({
      async countWaiting() {
        const page = { limit: 500, order: 'asc', after: null } as const;
        return (await good.listRuns({ isWaiting: true }, page)).items.length;
      },
    })),
  },
  {
    bug: 'expires runs by when they were asked for',
    breaks: 'removes runs that ended before a time, the oldest first, and none that has not',
    wrap: withDreams((good) => ({
      async expire(before, limit) {
        const page = { limit: 500, order: 'asc', after: null } as const;
        for (const { id, scope, createdAt } of (await good.listRuns({}, page)).items) {
          if (createdAt >= before) continue;
          await good.update({ scope, runId: id }, ({ run }) =>
            run === null ? { result: null } : { result: null, run: { ...run, endedAt: 0 } },
          );
        }
        return await good.expire(before, limit);
      },
    })),
  },
  {
    bug: 'begins with the fence 1 where a lease was removed',
    breaks:
      'removes a run’s budget with it, and a user’s lease with the last run: its next fence is greater',
    wrap(good) {
      const firsts = new Map<string, number>();
      const removed = new Set<string>();
      /** The fence that the good driver has for one of a driver that counts each row from 1. */
      const toGood = (name: string, fence: number) => fence + (firsts.get(name) ?? 1) - 1;
      const toGuard = (guard: Guard): Guard =>
        guard.kind === 'lease' ? { ...guard, fence: toGood(guard.name, guard.fence) } : guard;
      return {
        leases: {
          async claim(name, holder, ttlMs) {
            const fence = await good.leases.claim(name, holder, ttlMs);
            if (fence === null) return null;
            if (!firsts.has(name) || removed.delete(name)) firsts.set(name, fence);
            return fence - toGood(name, 0);
          },
          renew: (name, fence, ttlMs) => good.leases.renew(name, toGood(name, fence), ttlMs),
          release: (name, fence) => good.leases.release(name, toGood(name, fence)),
        },
        mutate: (request, decide) =>
          good.mutate({ ...request, guards: (request.guards ?? []).map(toGuard) }, decide),
        ...withDreams((dreams) => ({
          expire(before, limit) {
            for (const name of firsts.keys()) if (name === 'dream:gone') removed.add(name);
            return dreams.expire(before, limit);
          },
          update({ lease, ...request }, decide) {
            if (lease === undefined) return dreams.update(request, decide);
            const { name, fence } = lease;
            return dreams.update(
              { ...request, lease: { name, fence: toGood(name, fence) } },
              decide,
            );
          },
        }))(good, new Map()),
      };
    },
  },
];

/** Puts something before what is kept of dreaming. */
function withDreams(change: (good: DreamStore) => Partial<DreamStore>): BrokenStorage['wrap'] {
  return ({ dreams }: Storage) => {
    if (dreams === undefined) throw new Error('The storage keeps nothing of dreaming.');
    return { dreams: { ...dreams, ...change(dreams) } };
  };
}
