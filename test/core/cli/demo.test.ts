import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fillDemo } from '../../../core/cli/demo.ts';
import { createCore } from '../../../core/core.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';

const UNTIL = Date.UTC(2026, 10, 21, 16, 0);

describe('the demo', () => {
  it('tells weeks of a team’s memory, with failures, a correction and tidying, once', async () => {
    const filename = join(await temporaryDirectory(), 'demo.db');
    const config = () => ({ storage: sqlite({ filename }) });
    const calls = await fillDemo(config(), UNTIL);
    expect(calls).toBeGreaterThan(500);

    const core = createCore({ ...config(), now: () => UNTIL });
    await core.ready();
    const users = await core.fileLists.users({});
    expect(users.items.length).toBeGreaterThan(4);
    const list = (actor: string) => core.revisions.list({ actor, limit: 500 });
    const correction = (await list('admin')).items.find(({ path }) => path.includes('maya'));
    expect(correction?.reason).toContain('moved');
    expect((await list('dream-agent')).items.length).toBeGreaterThan(2);
    for (const outcome of ['not_found', 'denied'] as const) {
      expect((await core.accessLog.list({ outcome })).items.length).toBeGreaterThan(0);
    }
    const oldest = (await core.revisions.list({ order: 'asc', limit: 1 })).items[0];
    const newest = (await core.accessLog.list({ limit: 1 })).items[0];
    expect(UNTIL - Date.parse(oldest?.at ?? '')).toBeGreaterThan(21 * 86_400_000);
    expect(Date.parse(newest?.at ?? '')).toBeLessThanOrEqual(UNTIL);
    await core.close();

    expect(await fillDemo(config(), UNTIL)).toBe(0);
  });
});
