import { describe, expect, it } from 'vitest';
import { createStorage } from '../../../core/storage/storage.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';
import { loseCommits, openSqlDatabase } from '../../support/sql-database.ts';
import { makeDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** A service on a database whose answers to a COMMIT get lost; alice has two files of five versions. */
async function open() {
  const losing = loseCommits(openSqlDatabase(await makeDatabase()));
  const core = await openCore(
    { storage: createStorage(losing.database) },
    // No other instance has to see an erasure before it goes on.
    { erasureLookMs: 1 },
  );
  for (const path of ['user/a.md', 'user/b.md']) {
    for (let version = 1; version <= 5; version += 1) {
      await call(core, 'alice', 'memory_write', { path, content: `version ${version}\n` });
    }
  }
  await core.queue.flush();
  /** With one writer nobody is told what became of it: the operator asks again. */
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    if (losing.database.limits.writers === 'many') return await work();
    return await work().catch(work);
  };
  return { core, ask, ...losing };
}

async function countAudits(core: Core, action: string): Promise<number> {
  return (await core.accessLog.audit({ action })).items.length;
}

const holds = /^(?:insert|replace)\b[^;]*\bsvc_scope_hold\b/i;
const matches = (pattern: RegExp) => (written: readonly string[]) =>
  written.some((sql) => pattern.test(sql));

describe.each([
  ['took place', true],
  ['did not take place', false],
])('a COMMIT without an answer that %s', (_, takesPlace) => {
  it.each([
    [
      'the beginning',
      (sql: readonly string[]) => matches(holds)(sql) && matches(/admin_audit/)(sql),
    ],
    [
      'a batch',
      (sql: readonly string[]) => matches(holds)(sql) && matches(/delete\b[^;]*svc_/i)(sql),
    ],
    ['the end', matches(/delete\b[^;]*svc_scope_hold/i)],
  ])('of %s of an erasure: each row is counted once', async (_step, isMeant) => {
    const { core, ask, lose, lost } = await open();
    const preview = await core.erasures.erase(
      { userId: 'alice' },
      { confirm: 'alice', dryRun: true },
      operator,
    );
    lose({ isMeant, takesPlace });
    const erase = () => core.erasures.erase({ userId: 'alice' }, { confirm: 'alice' }, operator);
    await ask(erase);
    expect(lost()).toBe(1);
    expect(await core.storage.erasure?.count('u:alice')).toEqual({});
    expect(await core.storage.holds?.list(9)).toEqual([]);
    const { items } = await core.accessLog.audit({ action: 'users.erase' });
    const ends = items.filter(({ details }) => details['step'] === 'end');
    // An operator who was not told of the end, and asks again, gets a second receipt.
    expect(pickWritten(ends.map(({ details }) => details['tables']))).toEqual(
      pickWritten([preview.tables]),
    );
  });

  it('of a prune: it counts each row once', async () => {
    const { core, ask, lose, lost } = await open();
    lose({ isMeant: matches(/delete from svc_revision/), takesPlace });
    await ask(() => core.revisions.prune({ keepLast: 2 }, operator));
    expect(lost()).toBe(1);
    const { items } = await core.accessLog.audit({ action: 'revisions.prune' });
    expect(items.map(({ details }) => details['pruned'])).toEqual([6]);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('of a redaction: it is done once', async () => {
    const { core, ask, lose, lost } = await open();
    const { items } = await core.revisions.list({ path: 'users/alice/a.md' });
    const id = items.at(-2)?.id ?? '';
    lose({ isMeant: matches(/\binto svc_revision\b/i), takesPlace });
    await ask(() => core.revisions.redact(id, { reason: 'a test' }, operator));
    expect(lost()).toBe(1);
    expect(await countAudits(core, 'revisions.redact')).toBe(1);
    expect((await core.storage.inspection?.scope('u:alice'))?.redactions).toBe(1);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });
});

/** How many rows of what the calls wrote were counted: the index goes on by itself. */
function pickWritten(receipts: readonly unknown[]): number[] {
  const counts = receipts as Record<string, number>[];
  return ['svc_file', 'svc_content', 'svc_revision', 'svc_access_log', 'svc_event'].map((table) =>
    counts.reduce((sum, tables) => sum + (tables[table] ?? 0), 0),
  );
}
