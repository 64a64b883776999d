import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { makeDatabase, openDatabase } from '../../support/tables.ts';
import { type DreamService, lines, MINUTE, openDreams, operation } from './dream-service.ts';
import { sqlite } from '../../support/databases.ts';
import { systemPrompt } from '../../../plugins/dreaming/prompt.ts';

const POLICIES = `# Policies

- Refunds take 14 days.
- Refunds take 14 days.
- Support answers on workdays.
`;
const TIDY = POLICIES.replace('- Refunds take 14 days.\n', '');
const INDEX = '# Index\n\n- [Policies](policies.md)\n- [Gone](gone.md)\n';

/** Writes in a space as an agent whose call names it. */
async function writeIn(service: DreamService, id: string, file: string, content: string) {
  await service.core.tools.execute('memory_write', {
    context: { userId: 'ann', spaces: [{ id, access: 'write' }] },
    arguments: { path: `spaces/${id}/${file}`, content },
  });
}

async function readIn({ core }: DreamService, id: string, file: string) {
  return (await core.storage.files.get({ scope: `s:${id}`, path: file }))?.content ?? null;
}

/** A merge of the two lines that say the same, and the entry of a file that is gone. */
const tidy = (id: string, home = `spaces/${id}/`) => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines(`${home}policies.md`, POLICIES, 4),
      sources: lines(`${home}policies.md`, POLICIES, 3),
    }),
    operation({ kind: 'index', remove: lines(`${home}index.md`, INDEX, 4) }),
  ],
});

async function openSpace(id: string, settings: object = { dream: true }) {
  const service = await openDreams({ storage: openDatabase(await makeDatabase()) });
  await fillSpace(service, id, settings);
  return service;
}

async function fillSpace(service: DreamService, id: string, settings: object = { dream: true }) {
  await service.admin('POST', 'spaces', { id, ...settings });
  await writeIn(service, id, 'policies.md', POLICIES);
  await writeIn(service, id, 'index.md', INDEX);
  service.clock.advance(60 * MINUTE);
}

describe('a space whose settings say dream', () => {
  it('is dreamed at a tick: in its own paths, with a log of its own, and nothing of a user', async () => {
    const service = await openSpace('acme');
    const prompts: string[] = [];
    service.say((prompt) => {
      prompts.push(prompt);
      return tidy('acme');
    });
    expect(await service.plugin.tick()).toMatchObject({ changed: 1, runs: 1, reasons: {} });

    const { items } = (await service.admin('GET', 'dream/runs?spaceId=acme')).json;
    expect(items).toMatchObject([
      { userId: null, spaceId: 'acme', origin: 'schedule', outcome: 'applied', filesTouched: 2 },
    ]);
    expect(prompts[0]).toContain('path="spaces/acme/policies.md"');
    expect(prompts.join('\n')).not.toContain('user/');
    expect(systemPrompt({ form: 'full' }, 's:acme')).not.toContain('user/');
    expect(systemPrompt({ form: 'short' }, 's:acme')).not.toContain('user/');
    expect(await readIn(service, 'acme', 'policies.md')).toBe(TIDY);
    expect(await readIn(service, 'acme', 'index.md')).toBe(
      '# Index\n\n- [Policies](policies.md)\n',
    );
    expect(await readIn(service, 'acme', 'dream-log.md')).toContain(
      '- spaces/acme/policies.md: merge',
    );

    const { json: run } = await service.admin('GET', `dream/runs/${items[0].id}`);
    expect(run.files.map((file: { path: string }) => file.path).sort()).toEqual([
      'spaces/acme/dream-log.md',
      'spaces/acme/index.md',
      'spaces/acme/policies.md',
    ]);
    expect(run.operations[0]).toMatchObject({ paths: ['spaces/acme/policies.md'] });
    const rows = (await service.core.accessLog.list({ spaceId: 'acme' })).items;
    const own = rows.filter(({ runId }) => runId === run.id);
    expect(own.map(({ action }) => action).sort()).toEqual([
      'read',
      'read',
      'write',
      'write',
      'write',
    ]);
    for (const row of own) expect(row).toMatchObject({ userId: null, spaceId: 'acme' });
    const events = (await service.admin('GET', 'observability/events?spaceId=acme')).json.items;
    expect(events).toContainEqual(
      expect.objectContaining({ name: 'dream.run', userId: null, spaceId: 'acme' }),
    );
    // Its own writes make nobody due.
    expect(await service.plugin.tick()).toMatchObject({ changed: 0, runs: 0 });
  });

  it('is undone, decided on and filtered as a run of a user is', async () => {
    const service = await openSpace('acme');
    await service.admin('PUT', 'dream/config', { dream_mode: 'review' });
    service.say(() => tidy('acme'));
    const begun = await service.admin('POST', 'dream/spaces/acme/run', {});
    expect([begun.status, begun.json.userId, begun.json.spaceId]).toEqual([202, null, 'acme']);
    await service.plugin.settle();
    const { id } = begun.json;
    expect((await service.admin('GET', 'dream/spaces')).json.items).toMatchObject([
      { userId: null, spaceId: 'acme', operationsWaiting: 2, runs: 1 },
    ]);
    const paths = ['spaces/acme/policies.md'];
    const applied = await service.admin('POST', `dream/runs/${id}/apply`, { paths });
    expect(applied.json.decided).toMatchObject([{ number: 1, status: 'applied' }]);
    expect(await readIn(service, 'acme', 'policies.md')).toBe(TIDY);
    await service.admin('POST', `dream/runs/${id}/reject`, { operations: [2] });
    const reverted = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(reverted.json.reverted).toMatchObject([{ path: 'spaces/acme/policies.md' }]);
    expect(await readIn(service, 'acme', 'policies.md')).toBe(POLICIES);
    expect(await readIn(service, 'acme', 'dream-log.md')).toContain(`revert of run ${id}`);
    expect((await service.admin('GET', 'dream/runs?spaceId=other')).json.items).toEqual([]);
    const both = await service.admin('GET', 'dream/runs?spaceId=acme&userId=acme');
    expect(both.json.error.code).toBe('INVALID_REQUEST');
    const audit = (await service.admin('GET', 'audit')).json.items;
    expect(audit.filter(({ action }: { action: string }) => action === 'dream.run')).toMatchObject([
      { target: 'spaces/acme/' },
    ]);
  });

  it('refuses what leaves the space, also by the paths of a user', async () => {
    const service = await openSpace('acme');
    await fillSpace(service, 'other');
    for (const home of ['user/', 'users/ann/', 'spaces/other/', 'shared/']) {
      service.say(() => tidy('acme', home));
      const begun = await service.admin('POST', 'dream/spaces/acme/run', {});
      await service.plugin.settle();
      const { json: run } = await service.admin('GET', `dream/runs/${begun.json.id}`);
      expect([run.state, run.operationsApplied, run.operationsWaiting]).toEqual([
        'completed',
        0,
        0,
      ]);
    }
    expect(await readIn(service, 'acme', 'policies.md')).toBe(POLICIES);
    expect(await readIn(service, 'other', 'policies.md')).toBe(POLICIES);
  });

  it('and a user of the same id have runs, pauses and leases of their own', async () => {
    const service = await openSpace('alice');
    await service.write('alice', 'user/policies.md', POLICIES);
    await service.write('alice', 'user/index.md', INDEX);
    service.clock.advance(60 * MINUTE);
    await service.admin('PUT', 'dream/users/alice/paused', { paused: true });
    service.say((prompt) => tidy('alice', prompt.includes('spaces/alice/') ? undefined : 'user/'));
    expect(await service.plugin.tick()).toMatchObject({ changed: 2, runs: 1 });
    expect(await service.read('alice', 'user/policies.md')).toBe(POLICIES);
    expect(await readIn(service, 'alice', 'policies.md')).toBe(TIDY);
    await service.admin('PUT', 'dream/users/alice/paused', { paused: false });
    const paused = await service.admin('PUT', 'dream/spaces/alice/paused', { paused: true });
    expect(paused.json).toMatchObject({ userId: null, spaceId: 'alice', paused: true });
    expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
    expect(await service.read('alice', 'user/policies.md')).toBe(TIDY);
    const runsOf = async (query: string) =>
      (await service.admin('GET', `dream/runs?${query}`)).json.items.length;
    expect([await runsOf('userId=alice'), await runsOf('spaceId=alice')]).toEqual([1, 1]);
    const values = async (query: string) =>
      (await service.admin('GET', `dream/runs/values?${query}`)).json;
    expect((await values('userId=alice&state=completed')).fields).toEqual([
      { field: 'userId', values: [{ value: 'alice', count: 1 }], others: 0 },
      { field: 'spaceId', values: [], others: 0 },
      { field: 'outcome', values: [{ value: 'applied', count: 1 }], others: 0 },
      { field: 'state', values: [{ value: 'completed', count: 1 }], others: 0 },
    ]);
    expect((await values('userId=alice&waiting=true')).without).toEqual([
      { filter: 'userId', rows: 0, isMore: false },
      { filter: 'waiting', rows: 1, isMore: false },
    ]);

    // Each is erased with its own rows.
    await service.admin('POST', 'users/alice/erase', { confirm: 'alice' });
    expect([await runsOf('userId=alice'), await runsOf('spaceId=alice')]).toEqual([0, 1]);
    await service.admin('POST', 'spaces/alice/erase', { confirm: 'alice' });
    expect(await runsOf('spaceId=alice')).toBe(0);
    const names = await leaseNames(service);
    expect(names.filter((name) => name.includes('alice'))).toEqual([]);
  });
});

async function leaseNames({ core }: DreamService): Promise<string[]> {
  const { scope } = { scope: 's:alice' as const };
  const found: string[] = [];
  for (const name of ['dream:alice', 'space-run/alice/dreaming']) {
    await core.storage.mutate({ scopes: [scope], files: [], leases: [name] }, (current) => {
      if (current.lease(name) !== null) found.push(name);
      return { result: null, writes: 0, changes: {} };
    });
  }
  return found;
}

describe('a space that is not to be dreamed', () => {
  it('without dream goes to no model, at a tick or asked for', async () => {
    const service = await openSpace('acme', {});
    let asked = 0;
    service.say(() => ({ operations: [], asked: (asked += 1) }));
    expect(await service.plugin.tick()).toMatchObject({ changed: 0, runs: 0 });
    const [listed] = (await service.admin('GET', 'dream/spaces?spaceIds=acme')).json.items;
    expect(listed).toMatchObject({ eligible: false, skipReason: 'disabled' });
    for (const body of [{}, { dryRun: true }]) {
      const { status, json } = await service.admin('POST', 'dream/spaces/acme/run', body);
      expect([status, json.error.code, json.error.details.reason]).toEqual([
        409,
        'RUN_STATE',
        'disabled',
      ]);
    }
    expect(asked).toBe(0);
  });

  it('that is archived is skipped, and a run that writes is refused', async () => {
    const service = await openSpace('acme');
    await service.admin('POST', 'spaces/acme/archive', {});
    expect(await service.plugin.tick()).toMatchObject({ runs: 0, reasons: { archived: 1 } });
    const { json } = await service.admin('POST', 'dream/spaces/acme/run', {});
    expect(json.error.code).toBe('READ_ONLY_SCOPE');
  });

  it('that is frozen is skipped', async () => {
    const service = await openSpace('acme');
    await service.admin('POST', 'freeze', { spaceId: 'acme', reason: 'audit', minutes: 60 });
    expect(await service.plugin.tick()).toMatchObject({ runs: 0, reasons: { frozen: 1 } });
    const { json } = await service.admin('POST', 'dream/spaces/acme/run', {});
    expect(json.error.code).toBe('WRITES_FROZEN');
  });

  it('that does not exist is 404, and an id that cannot be one is 400', async () => {
    const service = await openSpace('acme');
    const run = (id: string) => service.admin('POST', `dream/spaces/${id}/run`, {});
    const pause = (id: string) =>
      service.admin('PUT', `dream/spaces/${id}/paused`, { paused: true });
    for (const act of [run, pause]) {
      expect((await act('nobody')).json.error.code).toBe('SPACE_NOT_FOUND');
      const { status, json } = await act('.acme');
      expect([status, json.error.details.issues[0].path]).toEqual([400, '/spaceId']);
    }
    const many = Array.from({ length: 51 }, (_, n) => `s${n}`).join(',');
    for (const ids of [many, 'acme,.b']) {
      const { status, json } = await service.admin('GET', `dream/spaces?spaceIds=${ids}`);
      expect([status, json.error.details.issues[0].path]).toEqual([400, '/spaceIds']);
    }
  });
});

it('lists spaces by id in pages, beside users and never among them', async () => {
  const service = await openDreams();
  for (const id of ['b', 'a', 'c']) await fillSpace(service, id);
  await service.write('a', 'user/a.md', 'x');
  const first = (await service.admin('GET', 'dream/spaces?limit=2')).json;
  expect(first.items.map(({ spaceId }: { spaceId: string }) => spaceId)).toEqual(['a', 'b']);
  const rest = (await service.admin('GET', `dream/spaces?limit=2&cursor=${first.nextCursor}`)).json;
  expect(rest.items.map(({ spaceId }: { spaceId: string }) => spaceId)).toEqual(['c']);
  expect((await service.admin('GET', 'dream/spaces?q=B')).json.items).toHaveLength(1);
  const users = (await service.admin('GET', 'dream/users')).json.items;
  expect(users.map(({ userId }: { userId: string }) => userId)).toEqual(['a']);
});

it('goes on with a database of schema 22 without rewriting a row of it', async () => {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const first = await openDreams({ storage: sqlite({ filename }) });
  await first.write('acme', 'user/policies.md', POLICIES);
  await first.write('acme', 'user/index.md', INDEX);
  await fillSpace(first, 'acme');
  first.say(() => tidy('acme', 'user/'));
  const { id } = await first.dream('acme');
  await first.core.close();
  const tables = [
    'svc_dream_run',
    'svc_dream_history',
    'svc_plugin_user',
    'svc_lease',
    'svc_space',
  ];
  const readAll = () =>
    withRawSql(filename, 'sqlite3', async (raw) =>
      Promise.all(tables.map((table) => raw.all(`select * from ${table} order by 1, 2`, []))),
    );
  await withRawSql(filename, 'sqlite3', async (raw) => {
    await raw.run("update svc_meta set value = '22' where key = 'schema_version'", []);
  });
  const before = await readAll();

  const second = await openDreams({ storage: sqlite({ filename }), clock: first.clock });
  expect(await readAll()).toEqual(before);
  expect((await second.admin('GET', `dream/runs/${id}`)).json).toMatchObject({
    userId: 'acme',
    spaceId: null,
    outcome: 'applied',
  });
  second.say(() => tidy('acme'));
  expect(await second.plugin.tick()).toMatchObject({ runs: 1 });
  expect(await readIn(second, 'acme', 'policies.md')).toBe(TIDY);
});

it('takes the longest ids, on every database', async () => {
  const id = `x${'~'.repeat(127)}`;
  const storage = openDatabase(await makeDatabase());
  const service = await openDreams({ storage });
  await fillSpace(service, id);
  service.say(() => tidy(id));
  expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
  expect(await readIn(service, id, 'policies.md')).toBe(TIDY);
});
