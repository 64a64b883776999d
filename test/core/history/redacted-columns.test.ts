import { describe, expect, it } from 'vitest';
import { foldTables } from '../../../core/storage/schema/migration.ts';
import { MIGRATIONS } from '../../../core/storage/schema/migrations/list.ts';
import { rejection } from '../../support/rejection.ts';
import { dreamRunRow, eventRow } from '../../support/rows.ts';
import { call, openCore } from '../../support/service.ts';
import { findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';

const SECRET = 'zq-live-9931';
const reason = 'a key was written';
const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** What a redaction does with the texts of a table. A new column of a kind below has to be decided here. */
const DECIDED: Readonly<Record<string, { redacted?: string; named?: string; noText?: string }>> = {
  svc_access_log: {
    named: 'user_id path actor key_name',
    noText: 'tool action outcome lines_shown',
  },
  // Details are redacted; where they name somebody, the row is listed by its target.
  svc_admin_audit: { named: 'target details operator', noText: 'action address' },
  svc_api_key: { named: 'name rules created_by', noText: 'kind prefix previous_prefix' },
  svc_budget: { noText: 'name' },
  // Reasons of freezes and of redactions are redacted, other values are named by their keys.
  svc_check_result: { redacted: 'name why places' },
  svc_check_run: { noText: 'origin embedder' },
  // Stored checks that have the text are removed.
  svc_config: { redacted: 'value', named: 'key' },
  svc_content: { redacted: 'content' },
  svc_dream_history: {
    redacted: 'error_message details',
    named: 'user_id',
    noText: 'origin mode state outcome model prompt_version error_code plugin',
  },
  svc_dream_run: { redacted: 'error rejected', named: 'user_id', noText: 'status review_cursor' },
  svc_embed_model: { noText: 'provider model' },
  svc_event: {
    redacted: 'caller_tool_call_id name attributes spans',
    named: 'user_id actor key_name',
    noText: 'span_id parent_span_id kind status error_code tool',
  },
  svc_file: { named: 'path latest_actor' },
  svc_idempotency: { redacted: 'result' },
  svc_index_doc: { redacted: 'terms' },
  svc_lease: { noText: 'name holder' },
  svc_meta: { noText: 'key value' },
  svc_passage_list: { noText: 'hashes' },
  svc_plugin_user: {
    redacted: 'error rejected',
    named: 'user_id',
    noText: 'plugin status review_cursor',
  },
  svc_posting: { redacted: 'term postings' },
  svc_pruned_revision: { noText: 'shown' },
  svc_revision: {
    redacted: 'reason delta keyframe',
    named: 'actor operator',
    noText: 'action tool reverts',
  },
  svc_rollup: { noText: 'tool latency' },
  svc_scope: { named: 'scope', noText: 'hold_kind' },
  // While a hold has the text, the redaction waits.
  svc_scope_hold: { redacted: 'hold_details', named: 'scope', noText: 'hold_kind' },
  svc_segment: { redacted: 'head' },
  svc_segment_block: { redacted: 'bytes' },
  svc_space: { redacted: 'description metadata', named: 'name' },
  svc_vector: { redacted: 'vector' },
};

const KINDS: ReadonlySet<string> = new Set(['key', 'text', 'content', 'bytes']);
const toColumns = (which: 'redacted' | 'named' | 'noText') =>
  Object.entries(DECIDED).flatMap(([table, one]) =>
    (one[which]?.split(' ') ?? []).map((column) => `${table}.${column}`),
  );

describe('every column that can have a text', () => {
  it('is redacted, or named in the receipt, or has none of a person', () => {
    const columns = [...foldTables(MIGRATIONS).values()].flatMap(({ name, columns }) =>
      columns.filter(({ kind }) => KINDS.has(kind)).map((column) => `${name}.${column.name}`),
    );
    const decided = [...toColumns('redacted'), ...toColumns('named'), ...toColumns('noText')];
    expect(decided.sort()).toEqual(columns.sort());
  });

  it('has the text no more, unless it has a name, which the receipt lists', async () => {
    const database = await makeDatabase();
    const core = await openCore({ storage: openDatabase(database) });
    const { spaces, freezes, access, storage } = core;
    const user = `u-${SECRET}`;
    await call(
      core,
      user,
      'memory_write',
      { path: `user/${SECRET}.md`, content: `a ${SECRET}\n`, reason: `so ${SECRET}` },
      { actor: `actor-${SECRET}` },
    );
    await rejection(call(core, 'bob', 'memory_read', { path: `user/not-${SECRET}.md` }));
    await rejection(call(core, 'bob', `tool-${SECRET}`, {}));
    await spaces.create(
      {
        id: `space-${SECRET}`,
        name: `Space ${SECRET}`,
        description: `for ${SECRET}`,
        metadata: { path: `and ${SECRET}` },
      },
      operator,
    );
    const rules = {
      users: [`u-${SECRET}`],
      spaces: null,
      tools: 'all',
      rateLimit: null,
      actor: null,
    };
    await access.keys.create(
      { name: `key ${SECRET}`, rules: { ...rules, manage: null } as never, expiresAt: null },
      { ...operator, operator: `op ${SECRET}` } as never,
    );
    await freezes.freeze({ all: true, reason: `wrote ${SECRET}`, minutes: 60 }, operator);
    await freezes.freeze({ userId: 'bob', reason: `says "${SECRET}"`, minutes: 60 }, operator);
    await storage.config.set({ plugin_note: `x ${SECRET}` }, null);
    const run = dreamRunRow('u:bob', 1, { errorMessage: SECRET });
    await storage.log.append({
      access: [],
      events: [eventRow('u:bob', { attributes: { question: SECRET } })],
    });
    await storage.mutate(
      { scopes: ['u:bob'], files: [], runs: { plugin: run.plugin, scope: 'u:bob', ids: [run.id] } },
      () => ({ result: null, writes: 0, changes: { runs: { runs: [run] } } }),
    );
    await core.queue.flush();
    await core.indexer.drain();
    const before = await findCanary(database, SECRET);

    const request = { text: SECRET, in: 'everywhere', reason } as const;
    const preview = await core.revisions.redactText({ ...request, dryRun: true }, operator);
    expect(await findCanary(database, SECRET)).toEqual(before);
    const answer = await core.revisions.redactText(request, operator);
    expect(answer.nextCursor).toBe(null);
    expect(answer.records).toEqual(preview.records);
    expect(answer.records.notes).toBe(3);
    expect(answer.left).toEqual(preview.left);
    expect(answer.left).toEqual({
      paths: [`users/${user}/${SECRET}.md`, `users/bob/not-${SECRET}.md`],
      userIds: [user],
      spaces: [`Space ${SECRET}`, `space-${SECRET}`],
      actors: [`actor-${SECRET}`],
      operators: [`op ${SECRET}`],
      keys: [`key ${SECRET}`],
      settings: ['plugin_note'],
      audit: [`spaces/space-${SECRET}/`, `key ${SECRET}`],
    });

    await core.queue.flush();
    await core.indexer.drain();
    const named = new Set([...toColumns('named'), 'svc_config.value']);
    const after = new Set(await findCanary(database, SECRET));
    expect([...after].filter((column) => !named.has(column))).toEqual([]);
    // One setting has it still: a value that no rule can know.
    const values = Object.values(await storage.config.entries('')).map((one) =>
      JSON.stringify(one),
    );
    expect(values.filter((value) => value?.includes(SECRET))).toEqual([`"x ${SECRET}"`]);
    expect((await freezes.list()).map((one) => one.reason).sort()).toEqual([
      'says "[redacted]"',
      'wrote [redacted]',
    ]);
    expect(await spaces.get(`space-${SECRET}`)).toMatchObject({
      description: 'for [redacted]',
      metadata: { path: 'and [redacted]' },
      version: 2,
    });
  });

  it('keeps what is about another memory', async () => {
    const database = await makeDatabase();
    const core = await openCore({ storage: openDatabase(database) });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: `${SECRET}\n` });
    for (const userId of ['alice', 'bob']) {
      await core.freezes.freeze({ userId, reason: `of ${SECRET}`, minutes: 60 }, operator);
    }
    await core.spaces.create({ id: 'team', description: SECRET }, operator);
    const request = { text: SECRET, in: 'user', userId: 'alice', reason } as const;
    const { records } = await core.revisions.redactText(request, operator);
    expect(records.notes).toBe(1);
    const reasons = (await core.freezes.list()).map((one) => [one.userId, one.reason]);
    expect(Object.fromEntries(reasons)).toEqual({ alice: 'of [redacted]', bob: `of ${SECRET}` });
    expect(await core.spaces.get('team')).toMatchObject({ description: SECRET });
  });

  it('waits for a restore or an erasure that has it', async () => {
    const database = await makeDatabase();
    const core = await openCore({ storage: openDatabase(database) });
    const { storage } = core;
    const scope = 'u:bob' as const;
    const hold = {
      scope,
      id: '019a0000-0000-7000-8000-000000000000',
      kind: 'erase',
      progressAt: 1,
      details: { reason: `because of ${SECRET}` },
    } as const;
    const set = (next: typeof hold | null) =>
      storage.mutate({ scopes: [scope], files: [] }, () => ({
        result: null,
        writes: 0,
        changes: { holds: [{ scope, hold: next }] },
      }));
    await set(hold);
    const request = { text: SECRET, in: 'everywhere', reason } as const;
    const error = await rejection(core.revisions.redactText(request, operator));
    expect(error).toMatchObject({ code: 'MEMORY_HELD', retryable: true });
    expect(await core.revisions.unfinishedRedactions()).toHaveLength(1);
    await set(null);
    await core.revisions.redactText(request, operator);
    expect(await core.revisions.unfinishedRedactions()).toEqual([]);
    expect(await findCanary(database, SECRET)).toEqual([]);
  });
});
