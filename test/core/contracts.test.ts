import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CoreConfig } from '../../core/service.ts';
import type { Host, Plugin } from '../../core/contracts/plugin.ts';
import type { WriteResult } from '../../core/contracts/tool.ts';
import type { Core } from '../../core/service.ts';
import { MemoryError } from '../../core/errors.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore } from '../support/service.ts';
import { writeOne } from '../support/write-one.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

interface TidyRun {
  userId: string;
  outcome: 'completed' | 'in_flight' | 'lease_lost' | 'budget';
  writes: number;
}

interface Tidier extends Plugin {
  /** One pass over all users. */
  tick(): Promise<TidyRun[]>;
}

/**
 * What dreaming needs, in small: it takes each user's memory under a lease, removes lines that are
 * there twice, and is held to its budget and its lease by the writes themselves.
 */
function tidier(options: {
  budget: number;
  ttlMs?: number;
  beforeWrite?: () => Promise<void>;
}): Tidier {
  let host: Host;

  async function tidyUser(userId: string): Promise<TidyRun> {
    const lease = await host.lease(`tidy:${userId}`, { ttlMs: options.ttlMs ?? 60_000 });
    if (lease === null) return { userId, outcome: 'in_flight', writes: 0 };
    const runId = randomUUID();
    const budget = { kind: 'budget', name: `tidy:${runId}`, max: options.budget } as const;
    let writes = 0;
    try {
      const files = await host.memory.list(`u:${userId}`, { prefix: '', after: null, limit: 100 });
      for (const { path } of files) {
        const file = await host.memory.read(`u:${userId}`, path);
        if (file === null || file.content === null) continue;
        const content = [...new Set(file.content.split('\n'))].join('\n');
        await options.beforeWrite?.();
        const { unchanged } = await writeOne(
          host,
          {
            scope: `u:${userId}`,
            path: `user/${path}`,
            content,
            reason: 'tidied',
            ifVersion: file.version,
          },
          { actor: 'dream-agent', runId, guards: [lease.guard, budget] },
        );
        if (!unchanged) writes += 1;
      }
      return { userId, outcome: 'completed', writes };
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      if (error.code === 'RUN_STATE') return { userId, outcome: 'lease_lost', writes };
      if (error.details?.['limit'] === budget.name) return { userId, outcome: 'budget', writes };
      throw error;
    } finally {
      await lease.release();
    }
  }

  return {
    name: 'tidier',
    apiVersion: 2,
    setup(received) {
      host = received;
    },
    async tick() {
      const runs: TidyRun[] = [];
      let after: string | null = null;
      do {
        const users = await host.memory.users({ after, limit: 2 });
        for (const { userId } of users) runs.push(await tidyUser(userId));
        after = users.at(-1)?.userId ?? null;
      } while (after !== null);
      return runs;
    },
  };
}

describe('a plugin', () => {
  const open = (config: Partial<CoreConfig> = {}) =>
    openCore({ tools: { delete: true, move: true }, ...config });
  const write = (core: Core, userId: string, path: string, content: string, more: object = {}) =>
    call<WriteResult>(core, userId, 'memory_write', { path, content, ...more }).then(
      (a) => a.result,
    );
  const read = async (core: Core, userId: string, path: string) =>
    (await call(core, userId, 'memory_read', { path })).result['content'];

  describe('a plugin that consolidates memory through its host alone', () => {
    it('lists users, reads, and writes as itself, with its run on each revision', async () => {
      const plugin = tidier({ budget: 10 });
      const core = await open({ plugins: [plugin] });
      for (const userId of ['alice', 'bob', 'carol']) {
        await write(core, userId, 'user/a.md', 'tea\nmilk\ntea\n');
        await write(core, userId, 'user/b.md', 'tidy\n');
      }
      expect(await plugin.tick()).toEqual(
        ['alice', 'bob', 'carol'].map((userId) => ({ userId, outcome: 'completed', writes: 1 })),
      );
      expect(await read(core, 'bob', 'user/a.md')).toBe('tea\nmilk\n');
      const { items } = await core.revisions.list({ userId: 'bob', actor: 'dream-agent' });
      expect(items).toMatchObject([
        { path: 'users/bob/a.md', version: 2, reason: 'tidied', runId: expect.any(String) },
      ]);
      const runId = items[0]?.runId ?? '';
      expect((await core.revisions.list({ runId })).items).toHaveLength(1);
      const rows = (await core.accessLog.list({ actor: 'dream-agent' })).items;
      // A write that changed nothing leaves its access row too.
      expect(rows).toHaveLength(6);
      expect((await plugin.tick()).map(({ writes }) => writes)).toEqual([0, 0, 0]);
    });

    it('is stopped by a spent budget, which counts writes and nothing else', async () => {
      const plugin = tidier({ budget: 2 });
      const core = await open({ plugins: [plugin] });
      await write(core, 'alice', 'user/0.md', 'nothing to do\n');
      for (let n = 1; n <= 5; n += 1) await write(core, 'alice', `user/${n}.md`, 'x\nx\n');
      expect(await plugin.tick()).toEqual([{ userId: 'alice', outcome: 'budget', writes: 2 }]);
      expect(await read(core, 'alice', 'user/2.md')).toBe('x\n');
      expect(await read(core, 'alice', 'user/3.md')).toBe('x\nx\n');
      expect(await plugin.tick()).toMatchObject([{ outcome: 'budget', writes: 2 }]);
      expect(await plugin.tick()).toMatchObject([{ outcome: 'completed', writes: 1 }]);
    });

    it('is stopped by a lost lease, at the very write', async () => {
      const events: string[] = [];
      const plugin = tidier({
        budget: 10,
        ttlMs: 20,
        // A pause longer than the lease, in which another instance takes over.
        beforeWrite: async () => {
          await expect
            .poll(() => core.storage.leases.claim('tidy:alice', 'another', 60_000), {
              interval: 10,
            })
            .not.toBeNull();
          events.push('taken over');
        },
      });
      const core = await open({ plugins: [plugin] });
      await write(core, 'alice', 'user/a.md', 'x\nx\n');
      expect(await plugin.tick()).toEqual([{ userId: 'alice', outcome: 'lease_lost', writes: 0 }]);
      expect(events).toEqual(['taken over']);
      expect(await read(core, 'alice', 'user/a.md')).toBe('x\nx\n');
      // It frees no lease but its own: the other instance still has it.
      expect(await plugin.tick()).toEqual([{ userId: 'alice', outcome: 'in_flight', writes: 0 }]);
    });

    it('is stopped by an expired lease that nobody took', async () => {
      const wait = () => new Promise<void>((resolve) => setTimeout(resolve, 30));
      const plugin = tidier({ budget: 10, ttlMs: 5, beforeWrite: wait });
      const core = await open({ plugins: [plugin] });
      await write(core, 'alice', 'user/a.md', 'x\nx\n');
      expect(await plugin.tick()).toMatchObject([{ outcome: 'lease_lost', writes: 0 }]);
      expect((await core.revisions.list({})).items).toHaveLength(1);
    });

    it('never passes its budget, with 40 writes at once', async () => {
      let host: Host | null = null;
      const plugin: Plugin = {
        name: 'racer',
        apiVersion: 2,
        setup(received) {
          host = received;
        },
      };
      const core = await open({ plugins: [plugin] });
      const guards = [{ kind: 'budget', name: 'race', max: 3 }] as const;
      const one = (n: number) =>
        writeOne(
          host as unknown as Host,
          { scope: `u:user${n % 5}`, path: `user/${n}.md`, content: 'x', reason: 'race' },
          { actor: 'dream-agent', guards },
        );
      const attempts = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => one(n)));
      expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
      const refused = await rejection(one(99));
      expect(refused).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { limit: 'race' } });
      expect((await core.revisions.list({})).items).toHaveLength(3);
    });

    it('has no way to shared memory, to another path, or past a version', async () => {
      let host: Host | null = null;
      const plugin: Plugin = {
        name: 'prober',
        apiVersion: 2,
        setup(received) {
          host = received;
        },
      };
      const core = await open({ plugins: [plugin] });
      await core.files.put('users/alice/a.md', { content: 'x' }, operator);
      const attempt = (change: object) =>
        rejection(
          writeOne(
            host as unknown as Host,
            { scope: 'u:alice', path: 'user/a.md', content: 'y', reason: 'r', ...change },
            { actor: 'dream-agent' },
          ),
        ).then(({ code }) => code);
      expect(await attempt({ path: 'shared/a.md' })).toBe('READ_ONLY_SCOPE');
      expect(await attempt({ path: 'users/bob/a.md' })).toBe('INVALID_PATH');
      expect(await attempt({ scope: 'u:bob/../alice' })).toBe('INVALID_USER_ID');
      expect(await attempt({ ifVersion: 0 })).toBe('VERSION_CONFLICT');
      expect(await attempt({ content: 'a\0b' })).toBe('INVALID_CONTENT');
      expect((await core.revisions.list({})).items).toHaveLength(1);
      expect(Object.keys(host as unknown as Host)).not.toContain('storage');
    });
  });

  describe('the main scenarios', () => {
    it('keep every concurrent append, version and quota', async () => {
      const core = await open({ limits: { maxFilesPerUser: 10 } });
      await write(core, 'alice', 'user/a.md', '');
      const append = (n: number) =>
        call(core, 'alice', 'memory_patch', { path: 'user/a.md', append: { text: `${n}` } });
      const create = (n: number) => write(core, 'alice', `user/${n}.md`, 'x');
      const same = () => write(core, 'alice', 'user/a.md', 'x', { ifVersion: 0 });
      const appends = Array.from({ length: 30 }, (_, n) => append(n));
      const others = [
        ...Array.from({ length: 30 }, (_, n) => create(n)),
        ...Array.from({ length: 5 }, same),
      ];
      await Promise.all(appends);
      const settled = await Promise.allSettled(others);
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
      const lines = String(await read(core, 'alice', 'user/a.md'))
        .trimEnd()
        .split('\n');
      expect(lines.map(Number).sort((a, b) => a - b)).toEqual(appends.map((_, n) => n));
      const { items } = await core.revisions.list({ path: 'users/alice/a.md', order: 'asc' });
      expect(items.map(({ version }) => version)).toEqual(
        Array.from({ length: 31 }, (_, n) => n + 1),
      );
    });

    it('write once for simultaneous repeats of one key', async () => {
      const core = await open();
      const args = { path: 'user/a.md', content: 'x' };
      const answers = await Promise.all(
        Array.from({ length: 10 }, () =>
          call(core, 'alice', 'memory_write', args, { idempotencyKey: 'k' }),
        ),
      );
      expect(answers.filter(({ replayed }) => replayed !== true)).toHaveLength(1);
      expect(new Set(answers.map(({ toolCallId }) => toolCallId)).size).toBe(1);
    });

    it('move, delete, revert and prune with a history that stays whole', async () => {
      const core = await open();
      await write(core, 'alice', 'user/a.md', 'one\n');
      await write(core, 'alice', 'user/a.md', 'two\n');
      await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
      await call(core, 'alice', 'memory_delete', { path: 'user/b.md' });
      const path = 'users/alice/b.md';
      const [deletion] = (await core.revisions.list({ path, action: 'delete' })).items;
      await core.revisions.revert(deletion?.id ?? '', {}, operator);
      expect(await read(core, 'alice', 'user/b.md')).toBe('two\n');
      const before = await core.fileLists.file('users/alice/a.md', { version: 1 });
      expect(before.file.content).toBe('one\n');
      const dry = await core.revisions.prune({ keepLast: 1, dryRun: true }, operator);
      const real = await core.revisions.prune({ keepLast: 1 }, operator);
      expect(real).toEqual({ ...dry, dryRun: false });
      expect(real.pruned).toBe(4);
      const kept = (await core.revisions.list({ order: 'asc' })).items;
      const details = await Promise.all(kept.map(({ id }) => core.revisions.get(id)));
      expect(details.map((one) => [one.contentBefore, one.contentAfter])).toEqual([
        ['two\n', null],
        [null, 'two\n'],
      ]);
    });

    it('log what was read, count it, and trace every call', async () => {
      const core = await open();
      await write(core, 'alice', 'user/a.md', 'x');
      await Promise.all(Array.from({ length: 20 }, () => read(core, 'alice', 'user/a.md')));
      await rejection(call(core, 'alice', 'memory_read', { path: 'user/no.md' }));
      const rows = (await core.accessLog.list({ action: 'read', limit: 500 })).items;
      expect(rows).toHaveLength(21);
      const { file } = await core.fileLists.file('users/alice/a.md', {});
      expect(file).toMatchObject({ reads: 20, writes: 1 });
      for (const { toolCallId, outcome } of rows) {
        const { root } = await core.traces.toolCall(toolCallId ?? '');
        expect(root.status).toBe(outcome === 'ok' ? 'ok' : 'error');
      }
    });
  });
});
