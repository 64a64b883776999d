import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';
import { lines, MINUTE, openDreams, operation } from './dream-service.ts';
import { withDreamRuns } from '../../support/dream-runs.ts';
import { sqlite } from '../../support/databases.ts';

const PROFILE = `# Profile

- Prefers green tea in the morning.
- Likes green tea in the morning.
- Lives in Berlin.
- Works at Acme on the billing team.
- Moved from Berlin to Madrid.
- It is important to note that he basically really prefers short answers.
- Decided to use Postgres for billing.
`;

const INDEX = `# Index

- [Profile](profile.md): who he is
- [Old plans](plans/old.md)
`;

const TEAM = '# Team\n\nAnna leads billing.\nBen does the invoices.\n';

/** At least one operation of each kind, all of them good. */
const everyKind = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines('user/profile.md', PROFILE, 3, 4),
      add: {
        path: 'user/profile.md',
        heading: null,
        lines: ['- Prefers green tea in the morning.'],
      },
    }),
    operation({
      kind: 'supersede',
      remove: lines('user/profile.md', PROFILE, 5),
      sources: [{ path: 'user/profile.md', line: 7 }],
    }),
    operation({
      kind: 'reword',
      remove: lines('user/profile.md', PROFILE, 8),
      add: { path: 'user/profile.md', heading: null, lines: ['- He prefers short answers.'] },
    }),
    operation({
      kind: 'move',
      remove: lines('user/profile.md', PROFILE, 9),
      add: {
        path: 'user/profile.md',
        heading: 'Decisions',
        lines: ['- Decided to use Postgres for billing.'],
      },
    }),
    operation({
      kind: 'index',
      remove: lines('user/index.md', INDEX, 4),
      add: {
        path: 'user/index.md',
        heading: null,
        lines: ['- [Team](team.md)'],
      },
    }),
  ],
});

async function openWithMemory(options: Parameters<typeof openDreams>[0] = {}) {
  const service = await openDreams(options);
  await service.write('alice', 'user/profile.md', PROFILE);
  await service.write('alice', 'user/index.md', INDEX);
  await service.write('alice', 'user/team.md', TEAM);
  service.clock.advance(60 * MINUTE);
  return service;
}

describe('a dream run in auto mode', () => {
  it('applies an operation of each kind, as dream-agent, with its run and reasons; the same again does nothing', async () => {
    const service = await openWithMemory();
    service.say(everyKind);
    const run = await service.dream('alice');
    expect(run.operations.map((it: { status: string; why: string }) => it.why)).toEqual(
      Array(5).fill(null),
    );
    expect(run).toMatchObject({
      state: 'completed',
      outcome: 'applied',
      filesTouched: 2,
      writes: 3,
      operationsApplied: 5,
      operationsDropped: 0,
      model: 'scripted',
      promptVersion: 'dream-5',
      error: null,
    });
    expect(await service.read('alice', 'user/profile.md')).toBe(`# Profile

- Prefers green tea in the morning.
- Works at Acme on the billing team.
- Moved from Berlin to Madrid.
- He prefers short answers.

## Decisions

- Decided to use Postgres for billing.
`);
    expect(await service.read('alice', 'user/index.md')).toBe(`# Index

- [Profile](profile.md): who he is
- [Team](team.md)
`);
    const log = (await service.read('alice', 'user/dream-log.md')) ?? '';
    expect(log).toContain('- user/profile.md: merge, supersede, reword, move\n');
    expect(log).toContain(`- run ${run.id}\n`);
    const revisions = await service.admin('GET', `revisions?runId=${run.id}`);
    expect(
      revisions.json.items.map((it: { path: string; actor: string }) => [it.path, it.actor]).sort(),
    ).toEqual([
      ['users/alice/dream-log.md', 'dream-agent'],
      ['users/alice/index.md', 'dream-agent'],
      ['users/alice/profile.md', 'dream-agent'],
    ]);
    const reads = await service.admin('GET', 'access-logs?actor=dream-agent&action=read');
    expect(reads.json.items.map((it: { path: string }) => it.path).sort()).toEqual([
      'users/alice/index.md',
      'users/alice/profile.md',
      'users/alice/team.md',
    ]);

    const again = await service.dream('alice');
    expect(again).toMatchObject({
      state: 'completed',
      outcome: 'no_op',
      filesTouched: 0,
      operationsApplied: 0,
      operationsDropped: 5,
    });
    expect(await service.read('alice', 'user/dream-log.md')).toBe(log);
    expect(service.provider.violations).toEqual([]);
  });

  it('says in the log how often it did the same to a file', async () => {
    const content = '- Likes tea.\n- Likes tea.\n- Has a cat.\n- Has a cat.\n- Plays chess.\n';
    const service = await openDreams();
    await service.write('alice', 'user/inbox.md', content);
    service.clock.advance(60 * MINUTE);
    service.say(() => ({
      operations: [1, 3].map((line) =>
        operation({
          kind: 'merge',
          remove: lines('user/inbox.md', content, line, line + 1),
          add: {
            path: 'user/inbox.md',
            heading: null,
            lines: [content.split('\n')[line - 1] as string],
          },
        }),
      ),
    }));
    await service.dream('alice');
    expect(await service.read('alice', 'user/dream-log.md')).toContain(
      'user/inbox.md: 2 × merge\n',
    );
  });

  it('leaves nothing behind when there is nothing to do: no entry, no revision, no files touched', async () => {
    const service = await openWithMemory();
    const before = await service.admin('GET', 'revisions');
    const run = await service.dream('alice');
    expect(run).toMatchObject({ state: 'completed', outcome: 'no_op', filesTouched: 0, writes: 0 });
    expect(await service.read('alice', 'user/dream-log.md')).toBeNull();
    expect((await service.admin('GET', 'revisions')).json).toEqual(before.json);
    const users = await service.admin('GET', 'dream/users');
    expect(users.json.items).toMatchObject([
      { userId: 'alice', status: 'completed', filesTouched: 0, runs: 1, skipReason: 'no_change' },
    ]);
  });

  it('never loses a write that comes between the snapshot and the apply: what it leaves standing is applied', async () => {
    const service = await openWithMemory();
    const newer = `${PROFILE.replace('- Lives in Berlin.\n', '')}- Plays chess on Fridays.\n`;
    service.say(everyKind);
    service.provider.next((exchange) => {
      void service
        .write('alice', 'user/profile.md', newer)
        .then(() => exchange.sendJson(200, exchange.proper()));
    });
    const run = await service.dream('alice');
    expect(run).toMatchObject({ state: 'completed', outcome: 'partial', filesTouched: 2 });
    expect(await service.read('alice', 'user/profile.md')).toBe(`# Profile

- Prefers green tea in the morning.
- Works at Acme on the billing team.
- Moved from Berlin to Madrid.
- He prefers short answers.
- Plays chess on Fridays.

## Decisions

- Decided to use Postgres for billing.
`);
    expect(run.operations[1]).toMatchObject({
      status: 'stale',
      why: 'A quoted line is not in the file.',
    });
    const { items } = (await service.admin('GET', 'dream/users')).json;
    // What came in between is yet to be dreamed.
    expect(items[0]).toMatchObject({ skipReason: 'grace' });
  });

  it('moves a line within one transaction, or not at all', async () => {
    const service = await openDreams();
    const a = '# Inbox\n\n- Uses Vim at work.\n- Decided on Kafka in 2024.\n';
    const b = '# Projects\n\n- Decided on Redis in 2023.\n';
    await service.write('bob', 'user/inbox.md', a);
    await service.write('bob', 'user/projects.md', b);
    service.say(() => ({
      operations: [
        operation({
          kind: 'move',
          remove: lines('user/inbox.md', a, 4),
          add: {
            path: 'user/projects.md',
            heading: 'Projects',
            lines: ['- Decided on Kafka in 2024.'],
          },
        }),
      ],
    }));
    const run = await service.dream('bob');
    expect(run).toMatchObject({ outcome: 'applied', filesTouched: 2 });
    expect(await service.read('bob', 'user/projects.md')).toBe(`${b}- Decided on Kafka in 2024.\n`);
    expect(await service.read('bob', 'user/inbox.md')).toBe('# Inbox\n\n- Uses Vim at work.\n');
    const at = run.revisions.map((revision: { at: string }) => revision.at);
    expect(new Set(at).size).toBe(1);
  });

  it('writes no more than dream_max_writes, the entry of the log included', async () => {
    const service = await openDreams({ settings: { dream_max_writes: 3 } });
    const content = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
    const paths = ['user/inbox.md', 'user/projects.md', 'user/c.md', 'user/d.md'];
    for (const path of paths) await service.write('alice', path, content);
    service.say(() => ({
      operations: paths.map((path) =>
        operation({
          kind: 'merge',
          remove: lines(path, content, 1, 2),
          add: { path, heading: null, lines: ['- Likes tea a lot.'] },
        }),
      ),
    }));
    const run = await service.dream('alice');
    expect(run).toMatchObject({
      outcome: 'waiting',
      filesTouched: 2,
      writes: 3,
      operationsApplied: 2,
      operationsWaiting: 2,
    });
    expect(
      run.operations.map((it: { status: string; why: string | null; preselected: boolean }) => [
        it.status,
        it.why,
        it.preselected,
      ]),
    ).toEqual([
      ['applied', null, false],
      ['applied', null, false],
      ['waiting', 'The write budget of the run is spent.', true],
      ['waiting', 'The write budget of the run is spent.', true],
    ]);
    // What a person applies later spends no budget.
    const { json } = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(json).toMatchObject({ outcome: 'applied', filesTouched: 4, operationsWaiting: 0 });
  });

  it('never shows the model excluded files, nor those that say dream: never', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/notes.md', '- Fine.\n');
    for (const path of ['user/log.md', 'user/dream-log.md', 'user/a-LOG.md', 'user/b.log']) {
      await service.write('alice', path, 'SECRET-OF-A-LOG\n');
    }
    await service.write('alice', 'user/private.md', '---\ndream: never\n---\nSECRET-OF-MINE\n');
    const run = await service.dream('alice');
    expect(run).toMatchObject({ state: 'completed', filesRead: 1 });
    const asked = JSON.stringify(service.provider.received);
    expect(asked).toContain('- Fine.');
    expect(asked).not.toMatch(/SECRET-OF/);
  });
});

describe('a dry run', () => {
  it('proposes and writes nothing, and changes nothing of the user’s state', async () => {
    const service = await openWithMemory();
    service.say(everyKind);
    const before = (await service.admin('GET', 'dream/users')).json;
    const run = await service.dream('alice', { dryRun: true });
    expect(run).toMatchObject({ dryRun: true, state: 'completed', filesTouched: 0, writes: 0 });
    const statuses = run.operations.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual(Array(5).fill('applied'));
    expect(run.operations[1].remove).toMatchObject([{ text: '- Lives in Berlin.' }]);
    expect(run.operations.some((one: { applicable: boolean }) => one.applicable)).toBe(false);
    const refused = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(refused.json.error.code).toBe('RUN_STATE');
    expect(await service.read('alice', 'user/profile.md')).toBe(PROFILE);
    expect((await service.admin('GET', 'dream/users')).json).toEqual(before);
  });
});

describe('undoing a run', () => {
  it('puts every file back to the byte, and makes nobody eligible', async () => {
    const service = await openWithMemory();
    service.say(everyKind);
    const run = await service.dream('alice');
    const answer = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(answer.json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(answer.json.reverted).toHaveLength(2);
    expect(await service.read('alice', 'user/profile.md')).toBe(PROFILE);
    expect(await service.read('alice', 'user/index.md')).toBe(INDEX);
    const log = await service.read('alice', 'user/dream-log.md');
    expect(log).toContain(`\n- run ${run.id}\n`);
    expect(log).toContain(`\n- revert of run ${run.id}\n`);
    const users = await service.admin('GET', 'dream/users');
    expect(users.json.items[0].skipReason).toBe('no_change');
    const again = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(again.json.error.code).toBe('RUN_STATE');
    const audit = await service.admin('GET', 'audit?action=dream.revert');
    expect(audit.json.items).toHaveLength(1);
  });

  it('undoes one run after the other, the newest first, to the byte', async () => {
    const service = await openDreams();
    const first = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n- Has a cat.\n- Sings.\n';
    await service.write('alice', 'user/inbox.md', first);
    const merging = (content: string, one: number) => () => ({
      operations: [
        operation({
          kind: 'merge',
          remove: lines('user/inbox.md', content, one, one + 1),
          add: {
            path: 'user/inbox.md',
            heading: null,
            lines: [content.split('\n')[one - 1] ?? ''],
          },
        }),
      ],
    });
    service.say(merging(first, 1));
    const older = await service.dream('alice');
    const second = (await service.read('alice', 'user/inbox.md')) ?? '';
    service.say(merging(second, 2));
    const newer = await service.dream('alice');
    expect(await service.read('alice', 'user/inbox.md')).toBe(
      '- Likes tea a lot.\n- Has a cat.\n- Sings.\n',
    );
    for (const [run, content] of [
      [newer, second],
      [older, first],
    ]) {
      const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
      expect(json).toMatchObject({ outcome: 'reverted', left: [] });
      expect(await service.read('alice', 'user/inbox.md')).toBe(content);
      const log = await service.read('alice', 'user/dream-log.md');
      expect(log).toMatch(new RegExp(`\n- revert of run ${run.id}\n$`));
    }
  });

  it('takes its own lines out of a file that somebody wrote since', async () => {
    const service = await openWithMemory();
    service.say(everyKind);
    const run = await service.dream('alice');
    const changed = `${await service.read('alice', 'user/index.md')}- Mine.\n`;
    await service.write('alice', 'user/index.md', changed);
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/index.md')).toBe(`${INDEX}- Mine.\n`);
    expect(await service.read('alice', 'user/profile.md')).toBe(PROFILE);
  });

  it('leaves the lines that somebody changed since, and says so', async () => {
    const service = await openWithMemory();
    service.say(everyKind);
    const run = await service.dream('alice');
    const dreamed = (await service.read('alice', 'user/index.md')) ?? '';
    const changed = dreamed.replaceAll(/^(- .*)$/gm, '$1 So it is.');
    await service.write('alice', 'user/index.md', changed);
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json.outcome).toBe('partial');
    expect(json.left).toEqual([
      {
        path: 'users/alice/index.md',
        outcome: 'conflict',
        why: expect.stringContaining('agent changed'),
      },
    ]);
    expect(await service.read('alice', 'user/index.md')).toBe(changed);
    expect(await service.read('alice', 'user/profile.md')).toBe(PROFILE);
  });

  it('keeps lines in the file that took them, while they were changed there', async () => {
    const service = await openDreams();
    const a = '# Inbox\n\n- Uses Vim at work.\n- Decided on Kafka in 2024.\n';
    await service.write('bob', 'user/inbox.md', a);
    await service.write('bob', 'user/projects.md', '# Projects\n\n- Decided on Redis in 2023.\n');
    service.say(() => ({
      operations: [
        operation({
          kind: 'move',
          remove: lines('user/inbox.md', a, 4),
          add: {
            path: 'user/projects.md',
            heading: 'Projects',
            lines: ['- Decided on Kafka in 2024.'],
          },
        }),
      ],
    }));
    const run = await service.dream('bob');
    expect(run.filesTouched).toBe(2);
    const theirs =
      '# Projects\n\n- Decided on Redis in 2023.\n- Decided on Kafka in 2024, finally.\n';
    await service.write('bob', 'user/projects.md', theirs);
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json.left.map((it: { path: string }) => it.path).sort()).toEqual([
      'users/bob/inbox.md',
      'users/bob/projects.md',
    ]);
    expect(await service.read('bob', 'user/projects.md')).toBe(theirs);
    expect(await service.read('bob', 'user/inbox.md')).not.toContain('Kafka');
  });
});

it('a run that was asked for goes on though the database fails right after it was put down', async () => {
  const real = sqlite({ filename: path.join(await temporaryDirectory(), 'memory.db') });
  let failures = 0;
  const service = await openDreams({
    storage: withDreamRuns(real, (dreams) => ({
      async run(id) {
        if (failures-- > 0) throw new MemoryError('STORAGE_UNAVAILABLE');
        return await dreams.run(id);
      },
    })),
  });
  await service.write('alice', 'user/tea.md', '- Likes tea.\n');
  service.say(() => {
    failures = 0;
    return { operations: [] };
  });
  failures = 1;
  const begun = await service.admin('POST', 'dream/users/alice/run', {});
  expect([begun.status, begun.json.state]).toEqual([202, 'queued']);
  await service.plugin.settle();
  const { json: run } = await service.admin('GET', `dream/runs/${begun.json.id}`);
  expect(run).toMatchObject({ state: 'completed', outcome: 'no_op' });
});

describe('an erasure of a user', () => {
  const erase = async (service: Awaited<ReturnType<typeof openWithMemory>>) =>
    (await service.admin('POST', 'users/alice/erase', { confirm: 'alice' })).json;
  const named = async (database: string) =>
    [...new Set(await findCanary(database, 'alice'))].sort();

  it('takes the runs and the operations that wait along', async () => {
    const database = await makeDatabase();
    const storage = openDatabase(database);
    const service = await openWithMemory({ storage, settings: { dream_mode: 'review' } });
    service.say(everyKind);
    expect(await service.dream('alice')).toMatchObject({ outcome: 'waiting' });
    expect(await findCanary(database, 'green tea')).toContain('svc_dream_history.details');
    expect(await erase(service)).toMatchObject({ left: {} });
    expect(await findCanary(database, 'green tea')).toEqual([]);
    expect(await named(database)).toEqual(['svc_admin_audit.target', 'svc_scope.scope']);
  });

  it('ends the run that is under way, which writes nothing any more', async () => {
    const database = await makeDatabase();
    const service = await openWithMemory({ storage: openDatabase(database) });
    let erasing = Promise.resolve<unknown>(null);
    service.say(() => {
      erasing = erase(service);
      return everyKind();
    });
    await service.admin('POST', 'dream/users/alice/run', {});
    await service.plugin.settle();
    expect(await erasing).toMatchObject({ left: {} });
    expect(await findCanary(database, 'green tea')).toEqual([]);
    await service.write('alice', 'user/new.md', 'new\n');
    service.say(() => ({ operations: [] }));
    expect(await service.dream('alice')).toMatchObject({ state: 'completed' });
  });
});
