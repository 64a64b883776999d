import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCore } from '../../core/service.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import {
  type AcknowledgedWrite,
  findViolations,
  type Invariant,
  toLines,
} from '../support/invariants.ts';
import { call, temporaryDirectory } from '../support/service.ts';
import { sqlite } from '../support/databases.ts';

let directory: string;
let healthy: string;
const acknowledged: AcknowledgedWrite[] = [];

/** A database in which every kind of row stands. */
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'memory-invariants-'));
  healthy = path.join(directory, 'healthy.db');
  const core = createCore({
    storage: sqlite({ filename: healthy }),
    tools: { delete: true, move: true },
  });
  const admin = { address: '127.0.0.1', traceId: '0'.repeat(32) };
  async function write(tool: string, args: { path: string }, content: string | null) {
    const key = `key-${acknowledged.length}`;
    const answer = await call(core, 'alice', tool, args, { idempotencyKey: key });
    const { version, revisionId } = answer.result as { version: number; revisionId: string };
    acknowledged.push({
      userId: 'alice',
      path: args.path.slice('user/'.length),
      version,
      revisionId,
      content,
    });
  }
  await write('memory_write', { path: 'user/tea.md', content: 'green\n' } as never, 'green\n');
  for (let n = 0; n < 70; n++) {
    const text = `cup ${n}`;
    const content = `green\n${Array.from({ length: n + 1 }, (_, cup) => `cup ${cup}\n`).join('')}`;
    await write('memory_patch', { path: 'user/tea.md', append: { text } } as never, content);
  }
  await write('memory_write', { path: 'user/gone.md', content: 'soon gone' } as never, 'soon gone');
  await write('memory_delete', { path: 'user/gone.md' }, null);
  await write('memory_write', { path: 'user/old.md', content: 'moves' } as never, 'moves');
  await call(core, 'alice', 'memory_move', { from: 'user/old.md', to: 'user/new.md' });
  await core.files.put('users/bob/plan.md', { content: 'by the admin' }, admin);
  await core.indexer.drain();
  await core.close();
  return () => rm(directory, { recursive: true });
});

it('find nothing wrong with a database that is whole', async () => {
  const violations = await findViolations(healthy, { acknowledged, isIndexed: true });
  expect(toLines(violations)).toEqual([]);
});

describe('a database that was spoilt', () => {
  const TEA = "(select file_no from svc_file where path = 'tea.md')";
  it.each<[Invariant, string]>([
    ['I1', `update svc_revision set id = randomblob(16) where version = 5`],
    ['I1', `delete from svc_file where path = 'gone.md'`],
    ['I2', `update svc_file set version = version + 1 where path = 'tea.md'`],
    ['I2', `update svc_file set writes = writes - 1 where path = 'tea.md'`],
    ['I2', `delete from svc_revision where file_no = ${TEA} and version = 1`],
    ['I2', `update svc_content set version = version - 1 where file_no = ${TEA}`],
    ['I3', `update svc_content set content = content || 'x' where file_no = ${TEA}`],
    ['I3', `update svc_content set content = replace(content, 'cup 3', 'cup 9')`],
    ['I3', `update svc_revision set delta = null where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set hash = zeroblob(32) where file_no = ${TEA} and version = 9`],
    ['I3', `update svc_revision set keyframe = 'x' where keyframe is not null`],
    ['I3', `update svc_revision set existed_before = 0 where file_no = ${TEA} and version = 9`],
    ['I4', 'delete from svc_segment'],
    ['I4', 'update svc_segment set head = zeroblob(9)'],
    ['I4', `update svc_segment set head = (select max(o.head) from svc_segment o)`],
    [
      'I4',
      `insert into svc_index_queue select scope_id, file_no, version from svc_file where path = 'tea.md'`,
    ],
    ['I5', `delete from svc_file where path = 'new.md'`],
    ['I5', `delete from svc_scope where scope = 'u:bob'`],
    [
      'I6',
      `delete from svc_access_log where id = (select max(id) from svc_access_log where action = 'write')`,
    ],
    [
      'I7',
      `insert into svc_dream_history (scope_id, id, user_id, origin, dry_run, mode, state, created_at, files_read, files_touched, writes, applied, dropped, input_tokens, output_tokens, fence, details) values (1, zeroblob(16), 'alice', 'person', 0, 'auto', 'running', 0, 0, 0, 0, 0, 0, 0, 0, 1, '{}')`,
    ],
    ['I8', `update svc_revision set version = 99 where file_no = ${TEA} and version = 71`],
    ['I8', `update svc_revision set id = zeroblob(16) where file_no = ${TEA} and version = 30`],
    ['I8', `update svc_revision set at = at - 9999999 where file_no = ${TEA} and version = 30`],
    ['I8', `update svc_file set latest_revision_id = randomblob(16) where path = 'tea.md'`],
    ['whole', `update svc_scope set files = files + 1`],
    ['whole', `update svc_scope set bytes = bytes - 1`],
    ['whole', `update svc_revision set peer_id = null where exists_after = 0 and action = 'move'`],
    ['whole', `update svc_idempotency set result = '{"revisionId":"0"}'`],
    ['whole', `delete from svc_admin_audit`],
  ])('breaks %s by: %s', async (invariant, sql) => {
    const spoilt = path.join(await temporaryDirectory(), 'spoilt.db');
    await copyFile(healthy, spoilt);
    const connection = await (await loadSqliteModule('sqlite3')).open(spoilt, { busyTimeoutMs: 0 });
    const changed = await connection.run(sql, []).finally(() => connection.close());
    expect(changed).toBeGreaterThan(0);
    const violations = await findViolations(spoilt, { acknowledged, isIndexed: true });
    expect(violations.map((violation) => violation.invariant)).toContain(invariant);
  });
});
