import path from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { expect, it } from 'vitest';
import { unifiedDiff } from '../../../core/history/delta/unified-diff.ts';
import { manualClock } from '../../support/clock.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { openDreams } from './dream-service.ts';
import { AFTER, BEFORE, readThree, writeThree } from './three-files.ts';
import { sqlite } from '../../support/databases.ts';

/** A proposal as version 5 kept it: whole files, with their diffs, and operations without lines. */
function earlierDetails(): object {
  return {
    operations: [
      ...[['user/tea.md'], ['user/inbox.md', 'user/projects.md']].map((paths, index) => ({
        kind: index === 0 ? 'merge' : 'move',
        reason: 'tidy',
        paths,
        status: 'applied',
        check: null,
        why: null,
      })),
      {
        kind: 'reword',
        reason: 'shorter',
        paths: ['user/tea.md'],
        status: 'dropped',
        check: 'specifics',
        why: 'a number is lost',
      },
    ],
    malformed: 1,
    files: Object.keys(BEFORE).map((file) => ({
      path: file,
      version: 1,
      reason: 'tidy',
      status: 'proposed',
      note: null,
      after: AFTER[file],
      diff: unifiedDiff(BEFORE[file] ?? null, AFTER[file] ?? null, { path: file }),
      needs: [],
      written: null,
    })),
    leftOut: [],
    tooLarge: [],
    maxWrites: 10,
    traceId: null,
  };
}

/** Makes a database what version 5 left: a run of alice awaits review. */
function toVersion5(filename: string): void {
  const database = new BetterSqlite3(filename);
  database.exec(`
    drop index svc_dream_history_waiting;
    alter table svc_dream_history drop column waiting;
    alter table svc_dream_history drop column is_waiting;
    alter table svc_dream_run drop column waiting;
    alter table svc_dream_run drop column rejected;
    update svc_meta set value = '5' where key = 'schema_version';
    update svc_dream_run set status = 'awaiting_review';
    update svc_dream_history set state = 'awaiting_review', outcome = null, ended_at = null, mode = 'review';
  `);
  database
    .prepare('update svc_dream_history set details = ?, applied = 2, dropped = 1')
    .run(JSON.stringify(earlierDetails()));
  database.close();
}

it('a proposal that waits in a database of version 5 becomes operations that wait, and can be applied', async () => {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const first = await openDreams({ storage: sqlite({ filename }) });
  await writeThree(first);
  first.say(() => ({ operations: [] }));
  const { id } = await first.dream('alice');
  await first.core.close();
  toVersion5(filename);

  // The proposal is older than an operation may wait, and nobody has seen its operations yet.
  const clock = manualClock(Date.now());
  const second = await openDreams({ storage: sqlite({ filename }), clock });
  await second.plugin.tick();
  const { json: run } = await second.admin('GET', `dream/runs/${id}`);
  expect(run).toMatchObject({
    state: 'completed',
    outcome: 'waiting',
    operationsWaiting: 2,
    operationsDropped: 1,
    malformedOperations: 1,
  });
  expect(run.endedAt).not.toBeNull();
  expect(run.operations).toMatchObject([
    {
      kind: 'merge',
      status: 'waiting',
      preselected: true,
      remove: [{ path: 'users/alice/tea.md', text: '- Likes tea a lot.' }],
    },
    {
      kind: 'move',
      status: 'waiting',
      preselected: true,
      remove: [{ path: 'users/alice/inbox.md', text: '- Decided on Kafka in 2024.' }],
      add: { path: 'users/alice/projects.md', lines: ['- Decided on Kafka in 2024.'] },
    },
    { status: 'dropped', guard: 'specifics', applicable: false },
  ]);
  expect((await second.admin('GET', 'status')).json.dreaming.operationsWaiting).toBe(2);
  expect((await second.admin('GET', 'dream/users')).json.items).toMatchObject([
    { userId: 'alice', status: 'completed', operationsWaiting: 2 },
  ]);
  const { json } = await second.admin('POST', `dream/runs/${id}/apply`, {});
  expect(json.decided.map(({ status }: { status: string }) => status)).toEqual([
    'applied',
    'applied',
  ]);
  expect(json).toMatchObject({ outcome: 'applied', filesTouched: 3 });
  expect(await readThree(second)).toEqual(AFTER);
});

it('a proposal that an instance of version 5 leaves beside this one ends, and its user is dreamed again', async () => {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const service = await openDreams({ storage: sqlite({ filename }) });
  await writeThree(service);
  service.say(() => ({ operations: [] }));
  const { id } = await service.dream('alice');
  await withRawSql(filename, 'sqlite3', async (raw) => {
    await raw.run("update svc_dream_run set status = 'awaiting_review'", []);
    await raw.run(
      "update svc_dream_history set state = 'awaiting_review', outcome = null, ended_at = null, mode = 'review', details = ?, applied = 2",
      [JSON.stringify(earlierDetails())],
    );
  });
  const { status, json: left } = await service.admin('GET', `dream/runs/${id}`);
  expect([status, left.state, left.operationsApplied]).toEqual([200, 'failed', 0]);
  expect(left.error.message).toContain('An instance of an earlier version made this proposal');
  await writeThree(service);
  expect(await service.dream('alice')).toMatchObject({ outcome: 'applied', filesTouched: 3 });
  expect(await readThree(service)).toEqual(AFTER);
});
