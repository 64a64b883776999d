import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fillDemo } from '../../../core/demo/fill-demo.ts';
import { readDemo } from '../../../core/demo/demo-data.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { asAdmin, serveCore } from '../http/serve.ts';

const UNTIL = Date.UTC(2026, 10, 21, 16, 0);

describe('the demo', () => {
  it('tells weeks of a team’s memory, with failures, corrections and dreams, once', async () => {
    const filename = join(await temporaryDirectory(), 'demo.db');
    const config = () => ({ storage: sqlite({ filename }), plugins: [dreaming()] });
    const calls = await fillDemo(config(), UNTIL);
    expect(calls).toBeGreaterThan(500);

    const { core, request } = await serveCore({ ...config(), now: () => UNTIL });
    const users = await core.fileLists.users({});
    expect(users.items.length).toBeGreaterThan(4);
    const list = (actor: string) => core.revisions.list({ actor, limit: 500 });
    const correction = (await list('admin')).items.find(
      ({ path }) => path === 'users/maya.chen/profile.md',
    );
    expect(correction?.reason).toContain('moved');
    const dreamed = (await list('dream-agent')).items.map(({ path }) => path);
    // The date that moved, which the guides and the Playground ask for.
    expect(dreamed).toContain('users/maya.chen/projects/offline-packs.md');
    expect(dreamed.length).toBeGreaterThan(2);
    for (const outcome of ['not_found', 'denied'] as const) {
      expect((await core.accessLog.list({ outcome })).items.length).toBeGreaterThan(0);
    }
    const { json } = await request('GET', '/v1/admin/dream/runs', { headers: asAdmin });
    const { items } = json as { items: { state: string; outcome: string | null }[] };
    expect(new Set(items.map(({ state, outcome }) => outcome ?? state))).toEqual(
      new Set([...['applied', 'no_op', 'rejected', 'reverted'], ...['failed', 'waiting']]),
    );
    const told = await core.accessLog.list({ tool: 'memory_remember', action: 'write' });
    expect(told.items.length).toBeGreaterThan(3);
    const oldest = (await core.revisions.list({ order: 'asc', limit: 1 })).items[0];
    const newest = (await core.accessLog.list({ limit: 1 })).items[0];
    expect(UNTIL - Date.parse(oldest?.at ?? '')).toBeGreaterThan(21 * 86_400_000);
    expect(Date.parse(newest?.at ?? '')).toBeLessThanOrEqual(UNTIL);

    expect(await fillDemo(config(), UNTIL)).toBe(0);
  });
});

describe('the data of the demo', () => {
  async function copyData(): Promise<string> {
    const directory = await temporaryDirectory();
    const source = fileURLToPath(new URL('../../../examples/demo', import.meta.url));
    await cp(source, directory, { recursive: true });
    return directory;
  }

  it.each([
    ['story.json', '{', /story\.json is invalid: .*JSON/],
    ['users/maya.chen.json', '{ "actor": 1 }', /users\/maya\.chen\.json is invalid: \/\w+ .*\.$/],
  ])('that is broken in %s is refused by the name of that file', async (name, text, message) => {
    const directory = await copyData();
    await writeFile(join(directory, name), text);
    await expect(readDemo(directory)).rejects.toThrow(message);
  });

  it('names an entry that is not known, and where it stands', async () => {
    const directory = await copyData();
    const file = join(directory, 'story.json');
    const story = JSON.parse(await readFile(file, 'utf8')) as { end: object[] };
    story.end[0] = { minutesBefore: 25, modle: {} };
    await writeFile(file, JSON.stringify(story));
    await expect(readDemo(directory)).rejects.toThrow(
      /story\.json is invalid: \/end\/0\/modle is not known\.$/,
    );
  });

  it('without a memory file is refused by the name of that file', async () => {
    const directory = await copyData();
    await rm(join(directory, 'memory/shared/playbook.md'));
    await expect(readDemo(directory)).rejects.toThrow(
      /memory\/shared\/playbook\.md cannot be read \(ENOENT\)/,
    );
  });
});
