import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fillDemo } from '../../../core/cli/demo.ts';
import { demoDreams } from '../../../core/cli/demo-dreams.ts';
import { createCore } from '../../../core/core.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { startCommand } from '../../support/command.ts';
import { temporaryDirectory } from '../../support/service.ts';

const UNTIL = Date.UTC(2026, 10, 21, 16, 0);

describe('the demo', () => {
  it('tells weeks of a team’s memory, with failures, corrections and dreams of every outcome, once', async () => {
    const filename = join(await temporaryDirectory(), 'demo.db');
    const config = () => ({ storage: sqlite({ filename }), plugins: [dreaming()] });
    const calls = await fillDemo(config(), UNTIL);
    expect(calls).toBeGreaterThan(500);

    const served = config();
    const core = createCore({ ...served, now: () => UNTIL });
    await core.ready();
    const users = await core.fileLists.users({});
    expect(users.items.length).toBeGreaterThan(4);
    const list = (actor: string) => core.revisions.list({ actor, limit: 500 });
    const correction = (await list('admin')).items.find(({ path }) => path.includes('maya'));
    expect(correction?.reason).toContain('moved');
    const dreamed = (await list('dream-agent')).items.map(({ path }) => path);
    // The date that moved, which the guides and the Playground ask for.
    expect(dreamed).toContain('users/maya.chen/projects/offline-packs.md');
    expect(dreamed.length).toBeGreaterThan(2);
    for (const outcome of ['not_found', 'denied'] as const) {
      expect((await core.accessLog.list({ outcome })).items.length).toBeGreaterThan(0);
    }
    const runs = (await demoDreams(core, served.plugins)?.runs()) ?? [];
    expect(new Set(runs.map(({ state, outcome }) => outcome ?? state))).toEqual(
      new Set([
        ...['applied', 'no_op', 'partial', 'rejected', 'reverted'],
        ...['failed', 'awaiting_review'],
      ]),
    );
    const told = await core.accessLog.list({ tool: 'memory_remember', action: 'write' });
    expect(told.items.length).toBeGreaterThan(3);
    const oldest = (await core.revisions.list({ order: 'asc', limit: 1 })).items[0];
    const newest = (await core.accessLog.list({ limit: 1 })).items[0];
    expect(UNTIL - Date.parse(oldest?.at ?? '')).toBeGreaterThan(21 * 86_400_000);
    expect(Date.parse(newest?.at ?? '')).toBeLessThanOrEqual(UNTIL);
    await core.close();

    expect(await fillDemo(config(), UNTIL)).toBe(0);
  });
});

describe('memory-service start --demo', () => {
  it('serves the demo from a database of its own', async () => {
    const cwd = await temporaryDirectory();
    const command = await startCommand({ cwd, args: ['--demo'] });
    onTestFinished(async () => void (await command.stop()));
    expect(existsSync(join(cwd, 'data/demo.db'))).toBe(true);
    expect(existsSync(join(cwd, 'data/memory.db'))).toBe(false);
    const answer = await fetch(`${command.url}/v1/admin/users`, {
      headers: { 'x-admin-secret': command.adminSecret },
    });
    const { items } = (await answer.json()) as { items: { userId: string }[] };
    expect(items.map(({ userId }) => userId)).toContain('maya.chen');
  });
});
