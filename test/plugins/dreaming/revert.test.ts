import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { type DreamService, lines, openDreams, operation, verdicts } from './dream-service.ts';
import { AFTER, BEFORE, readThree, watchedStorage, writeThree } from './three-files.ts';
import { sqlite } from '../../support/databases.ts';

const LOG = 'user/dream-log.md';

const entriesIn = (log: string | null) =>
  [...(log ?? '').matchAll(/^- (revert of )?run (.*)$/gm)].map(
    ([, revert = '', id]) => revert + id,
  );

/** A service whose answers from the database are lost once `writes` writes of memory are committed. */
async function openFailing() {
  const watched = await watchedStorage();
  const service = await openDreams({ storage: watched.storage });
  await writeThree(service);
  const run = await service.dream('alice');
  expect(run).toMatchObject({ outcome: 'applied', filesTouched: 3 });
  const failAfter = (writes: number) => {
    let left = writes;
    watched.afterWrite = async () => {
      left -= 1;
      if (left > 0) return;
      throw new MemoryError('STORAGE_UNAVAILABLE', 'The answer of the database is lost.');
    };
  };
  const heal = () => {
    watched.afterWrite = async () => undefined;
  };
  return { watched, service, run, failAfter, heal };
}

async function expectAllUndone(service: DreamService): Promise<void> {
  expect(await readThree(service)).toEqual(BEFORE);
}

/** All but the log are reverted, which keeps its entry. */
const STATUSES = ['applied', 'reverted', 'reverted', 'reverted'];

describe('an undoing whose answer is lost', () => {
  it('has ended with its last files, though nobody was told', async () => {
    const { service, run, failAfter, heal } = await openFailing();
    failAfter(1);
    const failed = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(failed.json.error.code).toBe('STORAGE_UNAVAILABLE');
    heal();
    await expectAllUndone(service);
    const { json: found } = await service.admin('GET', `dream/runs/${run.id}`);
    expect(found).toMatchObject({ state: 'completed', outcome: 'reverted', endedAt: run.endedAt });
    expect(found.files.map((file: { status: string }) => file.status).sort()).toEqual(STATUSES);
    const again = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(again.json.error).toMatchObject({ code: 'RUN_STATE', details: { outcome: 'reverted' } });
  });

  it('has its entry in the log once it is asked for again', async () => {
    const { service, run, failAfter, heal } = await openFailing();
    failAfter(1);
    await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    heal();
    expect(entriesIn(await service.read('alice', LOG))).toEqual([run.id]);
    for (let time = 0; time < 2; time += 1) {
      await service.admin('POST', `dream/runs/${run.id}/revert`, {});
      const log = (await service.read('alice', LOG)) ?? '';
      expect(entriesIn(log)).toEqual([run.id, `revert of ${run.id}`]);
      for (const file of Object.keys(BEFORE)) expect(log).toContain(`- ${file}: reverted\n`);
    }
  });
});

describe('a run whose id stands at the writes of another user, too', () => {
  it('shows and undoes the writes of its own user alone', async () => {
    const filename = await temporaryDatabase();
    const service = await openDreams({ storage: sqlite({ filename }) });
    await writeThree(service);
    const run = await service.dream('alice');
    await service.write('bob', 'user/tea.md', 'mine\n');
    await service.write('bob', 'user/tea.md', 'still mine\n');
    // As an import leaves it, which keeps the run ids of an archive.
    await withRawSql(filename, 'sqlite3', (raw) =>
      raw.run(
        "update svc_revision set actor = 'dream-agent', run_id = ? where scope_id = (select scope_id from svc_scope where scope = 'u:bob')",
        [Buffer.from(run.id.replaceAll('-', ''), 'hex')],
      ),
    );
    const { json: seen } = await service.admin('GET', `dream/runs/${run.id}`);
    expect(seen.files).toEqual(run.files);
    const selection = { runId: run.id, dryRun: true };
    const { json: preview } = await service.admin('POST', 'revert', selection);
    expect(preview.files).toHaveLength(4);
    const { json: named } = await service.admin('POST', 'revert', { ...selection, userId: 'bob' });
    expect(named.files).toMatchObject([{ path: 'users/bob/tea.md' }]);

    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json.left).toEqual([]);
    await expectAllUndone(service);
    expect(await service.read('bob', 'user/tea.md')).toBe('still mine\n');

    // Once the run's record is removed, nothing says whose it was.
    await withRawSql(filename, 'sqlite3', (raw) => raw.run('delete from svc_dream_history', []));
    const refused = await service.admin('POST', 'revert', selection);
    expect(refused).toMatchObject({
      status: 400,
      json: { error: { code: 'INVALID_REQUEST', details: { issues: [{ path: '/userId' }] } } },
    });
    const { json: chosen } = await service.admin('POST', 'revert', {
      ...selection,
      userId: 'alice',
    });
    expect(chosen.files).toHaveLength(4);
  });
});

describe('operations that a person reverted', () => {
  it('are not proposed again while their lines stand', async () => {
    const service = await openDreams({});
    await writeThree(service);
    const run = await service.dream('alice');
    await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(await service.dream('alice')).toMatchObject({
      outcome: 'no_op',
      operations: [],
      repeatedOperations: run.operationsApplied,
    });
    expect(await readThree(service)).toEqual(BEFORE);
  });
});

/** Has a run merge the lines of each file, one after the other; their ids. */
async function dreamOfEach(service: DreamService, userId: string, files: readonly string[]) {
  const twice = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
  const ids: string[] = [];
  for (const file of files) {
    await service.write(userId, file, twice);
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          remove: lines(file, twice, 1, 2),
          add: { path: file, heading: null, lines: ['- Likes tea a lot.'] },
        }),
      ],
    }));
    ids.push((await service.dream(userId)).id);
  }
  return ids;
}

describe('undoing runs', () => {
  it('adds an entry to the log for each, and takes none out', async () => {
    const service = await openDreams();
    const ids = await dreamOfEach(service, 'alice', ['user/inbox.md', 'user/projects.md']);
    const log = (await service.read('alice', LOG)) ?? '';
    expect(entriesIn(log)).toEqual(ids);
    const mine = `${log}\nThat was a good one.\n`;
    await service.write('alice', LOG, mine);
    const { json } = await service.admin('POST', `dream/runs/${ids[0]}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    const after = (await service.read('alice', LOG)) ?? '';
    expect(after.startsWith(mine)).toBe(true);
    expect(entriesIn(after)).toEqual([...ids, `revert of ${ids[0]}`]);
    expect(after).toContain('- user/inbox.md: reverted\n');
    // The log keeps its format: a blank line before each entry, and none at the end.
    expect(after.split(/\n\n(?=## )/)).toHaveLength(4);
    expect(after.endsWith('\n\n')).toBe(false);
  });

  it('adds the entry also when another one is written to the log at that moment', async () => {
    const { watched, service, run } = await openFailing();
    const log = (await service.read('alice', LOG)) ?? '';
    let isDone = false;
    watched.beforeWrite = async (paths) => {
      if (isDone || !paths.includes(LOG)) return;
      isDone = true;
      await service.write('alice', LOG, `${log}\nAdded by hand.\n`);
    };
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(isDone).toBe(true);
    const after = (await service.read('alice', LOG)) ?? '';
    expect(after).toContain('Added by hand.');
    expect(entriesIn(after)).toEqual([run.id, `revert of ${run.id}`]);
  });
});

describe('undoing a run', () => {
  it('keeps what somebody wrote since, and takes the harmed line out', async () => {
    const service = await openDreams();
    const [id] = await dreamOfEach(service, 'alice', ['user/inbox.md']);
    const dreamed = (await service.read('alice', 'user/inbox.md')) ?? '';
    await service.write('alice', 'user/inbox.md', `${dreamed}- Started yoga.\n`);
    const { json } = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/inbox.md')).toBe(
      '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n- Started yoga.\n',
    );
  });

  it('puts a line that it had taken out back before what somebody wrote instead', async () => {
    const { service, run } = await openFailing();
    await service.write('alice', 'user/tea.md', '- Mine.\n');
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/tea.md')).toBe('- Likes tea a lot.\n- Mine.\n');
  });

  it('is decided place by place where others changed what it wrote', async () => {
    const service = await openDreams({});
    const twice = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
    await service.write('alice', 'user/inbox.md', twice);
    service.say(() => ({
      operations: [
        operation({
          kind: 'merge',
          remove: lines('user/inbox.md', twice, 1, 2),
          add: { path: 'user/inbox.md', heading: null, lines: ['- Likes tea a lot!'] },
        }),
      ],
    }));
    service.judge(verdicts({ 1: 'keeps' }));
    const { id } = await service.dream('alice');
    await service.admin('POST', `dream/runs/${id}/apply`, { operations: [1] });
    const dreamed = '- Likes tea a lot!\n- Has a cat.\n';
    expect(await service.read('alice', 'user/inbox.md')).toBe(dreamed);
    const changed = '- Likes coffee.\n- Has a cat.\n';
    await service.write('alice', 'user/inbox.md', changed);

    const path = 'users/alice/inbox.md';
    const revert = (body: object) => service.admin('POST', `dream/runs/${id}/revert`, body);
    const { json: look } = await service.admin('POST', 'revert', { runId: id, dryRun: true });
    const file = look.files.find((one: { path: string }) => one.path === path);
    expect(file).toMatchObject({
      outcome: 'conflict',
      conflicts: [{ startLine: 1, theirs: '- Likes coffee.\n' }],
    });
    const resolution = { path, version: file.fromVersion, startLine: 1, take: 'both' };
    expect(await revert({ resolutions: [] })).toMatchObject({
      status: 422,
      json: { error: { code: 'CONFLICTS_UNDECIDED' } },
    });
    expect(await revert({ resolutions: [{ ...resolution, version: 1 }] })).toMatchObject({
      status: 412,
      json: { error: { code: 'VERSION_CONFLICT' } },
    });
    expect((await revert({ resolutions: [{ ...resolution, startLine: 9 }] })).status).toBe(400);
    expect((await revert({ onConflict: 'maybe' })).status).toBe(400);
    expect(await service.read('alice', 'user/inbox.md')).toBe(changed);
    const { json } = await revert({ resolutions: [resolution] });
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(await service.read('alice', 'user/inbox.md')).toBe(
      '- Likes tea a lot.\n- Likes tea a lot.\n- Likes coffee.\n- Has a cat.\n',
    );
    expect(entriesIn(await service.read('alice', LOG))).toEqual([id, `revert of ${id}`]);
  });

  it('takes a file that somebody has put back for undone', async () => {
    const { service, run } = await openFailing();
    await service.write('alice', 'user/tea.md', BEFORE['user/tea.md'] ?? '');
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    await expectAllUndone(service);
  });

  it('ends the run also where nothing is left to be written', async () => {
    const service = await openDreams();
    const [id] = await dreamOfEach(service, 'alice', ['user/inbox.md']);
    const twice = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
    await service.write('alice', 'user/inbox.md', twice);
    await service.write('alice', LOG, '# Dream log\n\nCleared.\n');
    const { json } = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(json).toMatchObject({ outcome: 'reverted', left: [] });
    const { json: run } = await service.admin('GET', `dream/runs/${id}`);
    expect(run.outcome).toBe('reverted');
    expect((await service.admin('GET', 'revisions?action=revert')).json.items).toEqual([]);
  });

  it('leaves moved lines where they are, when the revision of the file that they left is pruned', async () => {
    const service = await openDreams({});
    const from = '# Inbox\n\n- Likes green tea.\n- Has a cat.\n';
    await service.write('alice', 'user/inbox.md', from);
    await service.write('alice', 'user/tea.md', '# Tea\n\n- Drinks it at four.\n');
    service.say(() => ({
      operations: [
        operation({
          kind: 'move',
          remove: lines('user/inbox.md', from, 3),
          add: { path: 'user/tea.md', heading: null, lines: ['- Likes green tea.'] },
        }),
      ],
    }));
    service.judge(verdicts({ 1: 'keeps' }));
    const { id } = await service.dream('alice');
    await service.admin('POST', `dream/runs/${id}/apply`, { operations: [1] });
    const moved = await service.read('alice', 'user/tea.md');
    expect(moved).toContain('- Likes green tea.');
    await service.write('alice', 'user/inbox.md', '# Inbox\n\n- Has a dog.\n');
    await service.admin('POST', 'revisions/prune', { keepLast: 1, path: 'users/alice/inbox.md' });
    const { json } = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(json.outcome).not.toBe('reverted');
    expect(await service.read('alice', 'user/tea.md')).toBe(moved);
  });

  it('does not call a run undone whose revisions are not kept any more', async () => {
    const { service, run } = await openFailing();
    for (const file of Object.keys(AFTER))
      await service.write('alice', file, `${AFTER[file]}- x\n`);
    await service.admin('POST', 'revisions/prune', { keepLast: 1 });
    const { json } = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(json.outcome).not.toBe('reverted');
    expect(json.left.map((file: { path: string }) => file.path).sort()).toEqual(
      expect.arrayContaining([
        'users/alice/inbox.md',
        'users/alice/projects.md',
        'users/alice/tea.md',
      ]),
    );
  });

  it('is refused for a run that wrote nothing, or is undone', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    await writeThree(service);
    const { id } = await service.dream('alice');
    const refused = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(refused.json.error).toMatchObject({
      code: 'RUN_STATE',
      message: 'The run has written nothing.',
    });
    await service.admin('POST', `dream/runs/${id}/apply`, {});
    await service.admin('POST', `dream/runs/${id}/revert`, {});
    const again = await service.admin('POST', `dream/runs/${id}/revert`, {});
    expect(again.json.error).toMatchObject({ code: 'RUN_STATE', details: { outcome: 'reverted' } });
  });
});
