import { describe, expect, it } from 'vitest';
import type { EventRecord, SpanRecord } from '../../../core/contracts/records.ts';
import { RootTrace } from '../../../core/telemetry/tracer.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const everyTool = { delete: true, move: true };
const kindsOf = ({ spans }: { spans: readonly Pick<SpanRecord, 'kind'>[] }) =>
  spans.map(({ kind }) => kind);

describe('a trace', () => {
  it('of a write holds its root, its phases, its access row and its revision', async () => {
    const core = await openCore();
    const answer = await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    const { shown, ...found } = await core.traces.toolCall(answer.toolCallId);
    expect(shown).toEqual([]);
    expect(found.root).toMatchObject({
      traceId: answer.traceId,
      toolCallId: answer.toolCallId,
      parentSpanId: null,
      kind: 'tool',
      name: 'execute_tool memory_write',
      tool: 'memory_write',
      userId: 'alice',
      actor: 'agent',
      status: 'ok',
      errorCode: null,
      durationMs: answer.durationMs,
    });
    expect(kindsOf(found)).toEqual(['db.read', 'revision.write', 'access_log.write', 'db.write']);
    for (const span of found.spans) {
      expect(span.parentSpanId).toBe(found.root.spanId);
      expect(span.status).toBe('ok');
      expect(span.durationMs).toBeGreaterThanOrEqual(0);
      expect(span.durationMs).toBeLessThanOrEqual(found.root.durationMs);
    }
    expect(found.accesses).toMatchObject([{ action: 'write', path: 'users/alice/a.md' }]);
    expect(found.revisions).toMatchObject([{ id: answer.result['revisionId'], version: 1 }]);
    expect(await core.traces.trace(answer.traceId)).toEqual({
      traceId: answer.traceId,
      calls: [found],
    });
  });

  it('of a read holds the read, and the row that it queued', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    const answer = await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    const found = await core.traces.toolCall(answer.toolCallId);
    expect(kindsOf(found)).toEqual(['db.read', 'access_log.write']);
    expect(found.accesses).toMatchObject([{ action: 'read', outcome: 'ok' }]);
    expect(found.revisions).toEqual([]);
  });

  it('is kept of what failed too, with the code and the phase that failed', async () => {
    const core = await openCore();
    const attempts: [string, object, string, string[]][] = [
      ['memory_read', { path: 'user/no.md' }, 'FILE_NOT_FOUND', ['db.read', 'access_log.write']],
      [
        'memory_write',
        { path: 'user/a.md', content: 'x', ifVersion: 3 },
        'VERSION_CONFLICT',
        ['db.read', 'revision.write', 'access_log.write'],
      ],
      ['memory_write', { path: 'user/a.md' }, 'INVALID_REQUEST', []],
      ['memory_remember', { text: 'x' }, 'MODEL_NOT_CONFIGURED', []],
      ['memory_no_such', {}, 'TOOL_NOT_FOUND', []],
    ];
    for (const [tool, args, code, kinds] of attempts) {
      const error = await rejection(call(core, 'alice', tool, args));
      expect(error.code).toBe(code);
      const found = await core.traces.toolCall(error.toolCallId ?? '');
      expect(found.root).toMatchObject({
        traceId: error.traceId,
        status: 'error',
        errorCode: code,
        userId: 'alice',
      });
      expect(kindsOf(found)).toEqual(kinds);
    }
    const conflict = await rejection(
      call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x', ifVersion: 3 }),
    );
    const { spans } = await core.traces.toolCall(conflict.toolCallId ?? '');
    expect(spans.find(({ kind }) => kind === 'revision.write')).toMatchObject({
      status: 'error',
      errorCode: 'VERSION_CONFLICT',
    });
    const nobody = await rejection(call(core, '../x', 'memory_list', {}));
    const { root } = await core.traces.toolCall(nobody.toolCallId ?? '');
    expect(root).toMatchObject({ userId: null, errorCode: 'INVALID_USER_ID' });
  });

  it('joins the caller’s trace, which may hold several calls', async () => {
    const core = await openCore();
    const traceId = 'ab'.repeat(16);
    const parent = 'cd'.repeat(8);
    const execute = (tool: string, args: object, traceparent: string) =>
      core.tools.execute(tool, {
        context: { userId: 'alice', toolCallId: 'call_1' },
        arguments: args,
        traceparent,
      });
    const first = await execute(
      'memory_write',
      { path: 'user/a.md', content: 'x' },
      `00-${traceId}-${parent}-01`,
    );
    const second = await execute(
      'memory_read',
      { path: 'user/a.md' },
      `00-${traceId}-${parent}-00`,
    );
    expect([first.traceId, second.traceId]).toEqual([traceId, traceId]);
    const { calls } = await core.traces.trace(traceId);
    expect(calls.map(({ toolCallId }) => toolCallId)).toEqual([
      first.toolCallId,
      second.toolCallId,
    ]);
    for (const { root } of calls) {
      expect(root).toMatchObject({ parentSpanId: parent, callerToolCallId: 'call_1' });
    }
    for (const bad of [
      'x',
      '',
      `00-${'0'.repeat(32)}-${parent}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `ff-${traceId}-${parent}-01`,
      `00-${traceId.toUpperCase()}-${parent}-01`,
    ]) {
      const answer = await execute('memory_list', {}, bad);
      expect(answer.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(answer.traceId).not.toBe(traceId);
    }
  });

  it('is that of the caller’s run, unless a traceparent names another', async () => {
    const core = await openCore();
    const runTraceId = 'ab'.repeat(16);
    const list = async (more: { runTraceId?: unknown; traceparent?: string }) =>
      await core.tools.execute('memory_list', {
        context: { userId: 'alice' },
        arguments: {},
        ...(more as object),
      });
    const calls = [await list({ runTraceId }), await list({ runTraceId })];
    expect(calls.map(({ traceId }) => traceId)).toEqual([runTraceId, runTraceId]);
    const { calls: found } = await core.traces.trace(runTraceId);
    expect(found.map(({ root }) => root.parentSpanId)).toEqual([null, null]);
    const traceparent = `00-${'cd'.repeat(16)}-${'ef'.repeat(8)}-01`;
    expect((await list({ runTraceId, traceparent })).traceId).toBe('cd'.repeat(16));
    for (const bad of ['x', '0'.repeat(32), runTraceId.toUpperCase(), 5, {}]) {
      const { traceId } = await list({ runTraceId: bad });
      expect(traceId).toMatch(/^[0-9a-f]{32}$/);
      expect([runTraceId, bad]).not.toContain(traceId);
    }
  });

  it('of an id that no call has is a 404, whatever the id looks like', async () => {
    const core = await openCore();
    for (const id of ['', 'x', '0'.repeat(32), 'a'.repeat(36), '-'.repeat(36), "' or 1=1 --"]) {
      expect((await rejection(core.traces.trace(id))).code).toBe('TRACE_NOT_FOUND');
      expect((await rejection(core.traces.toolCall(id))).code).toBe('TRACE_NOT_FOUND');
    }
    const absent = '019c1350-2d80-7000-8a31-6f4f1c2b9d10';
    expect((await rejection(core.traces.toolCall(absent))).code).toBe('TRACE_NOT_FOUND');
  });

  it('holds no content, reason, path or argument in what it records', async () => {
    const recorded: EventRecord[] = [];
    const core = await openCore({
      tools: everyTool,
      exporters: [
        {
          name: 'collector',
          async export(events) {
            recorded.push(...events);
          },
        },
      ],
    });
    const canary = 'c4n4ry';
    const path = `user/${canary}.md`;
    const calls: [string, object][] = [
      ['memory_write', { path, content: `${canary} one\n`, reason: canary }],
      ['memory_write', { path, content: `${canary} two\n`, ifVersion: 9 }],
      [
        'memory_patch',
        { path, edits: [{ oldText: canary, newText: `${canary}!` }], reason: canary },
      ],
      ['memory_patch', { path, edits: [{ oldText: `no ${canary}`, newText: '' }] }],
      ['memory_patch', { path, append: { text: canary, afterHeading: canary } }],
      ['memory_read', { path }],
      ['memory_read', { path: `user/${canary}/no.md` }],
      ['memory_list', { path: `user/${canary}` }],
      ['memory_list', { cursor: canary }],
      ['memory_move', { from: path, to: `user/b/${canary}.md`, reason: canary }],
      ['memory_move', { from: path, to: `shared/${canary}.md` }],
      ['memory_delete', { path: `user/b/${canary}.md`, reason: canary }],
      ['memory_remember', { text: canary }],
      ['memory_write', { path, content: 'x', [canary]: canary }],
      [`memory_${canary}`, { path }],
    ];
    for (const [tool, args] of calls) {
      await call(core, 'alice', tool, args, { idempotencyKey: `key-${canary}` }).catch(() => null);
    }
    await core.queue.flush();
    expect(recorded).toHaveLength(calls.length);
    expect(JSON.stringify(recorded)).not.toContain(canary);
  });

  it('has durations that no jump of the clock touches', async () => {
    let ms = Date.UTC(2026, 0, 1);
    // Each look at the clock finds it an hour earlier.
    const core = await openCore({ now: () => (ms -= 3_600_000) });
    const begin = performance.now();
    const answer = await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    const elapsed = performance.now() - begin;
    const { root, spans } = await core.traces.toolCall(answer.toolCallId);
    for (const { durationMs } of [root, ...spans]) {
      expect(durationMs).toBeGreaterThanOrEqual(0);
      expect(durationMs).toBeLessThanOrEqual(elapsed);
    }
  });

  it('is bounded: of a call with very many phases the first 128 are kept', () => {
    const trace = new RootTrace({
      ids: { next: () => 'id' },
      kind: 'tool',
      name: 'execute_tool x',
      scope: 's',
      userId: null,
      tool: 'x',
      actor: 'agent',
      toolCallId: 'call',
      callerToolCallId: null,
      parent: null,
      startedAt: 0,
      knownErasure: 0,
    });
    for (let n = 0; n < 500; n += 1) {
      trace.start('db.read', 'x').end({ rows: n, content: 'secret', model: 'm'.repeat(500) });
    }
    const late = trace.start('db.write', 'never ended in time');
    const event = trace.finish(null, { bytes: Number.NaN, files: 1 });
    late.end();
    expect(event.spans).toHaveLength(128);
    expect(event.spans[0]?.attributes).toEqual({ rows: 0, model: 'm'.repeat(100) });
    expect(event.attributes).toEqual({ files: 1 });
    expect(trace.finish(new Error('late'))).toBe(event);
  });

  it('keeps a caller’s own id of the call, cut to 255 characters, and never takes it for one of ours', async () => {
    const core = await openCore();
    const execute = (toolCallId: string) =>
      core.tools.execute('memory_list', {
        context: { userId: 'alice', toolCallId },
        arguments: {},
      });
    const answer = await execute('x'.repeat(999));
    const { root } = await core.traces.toolCall(answer.toolCallId);
    expect(root.callerToolCallId).toBe('x'.repeat(255));
    const again = await execute(answer.toolCallId);
    expect(again.toolCallId).not.toBe(answer.toolCallId);
    for (const odd of ['half \ud800', 'nul \0', '']) await execute(odd);
  });
});
