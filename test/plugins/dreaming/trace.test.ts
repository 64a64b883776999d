import { describe, expect, it } from 'vitest';
import { lines, openDreams, operation } from './dream-service.ts';

const CANARY = 'zanzibar';
const TEA = `- Likes ${CANARY} tea a lot.\n- Likes ${CANARY} tea a lot.\n- Has a cat.\n`;

const proposal = () => ({
  operations: [
    operation({
      kind: 'merge',
      reason: `because of ${CANARY}`,
      remove: lines('user/tea.md', TEA, 1, 2),
      add: { path: 'user/tea.md', heading: null, lines: [`- Likes ${CANARY} tea a lot.`] },
    }),
    operation({ kind: 'supersede', remove: lines('user/tea.md', TEA, 3) }),
    { kind: 'delete', path: CANARY },
  ],
});

async function openWithTea(options: Parameters<typeof openDreams>[0] = {}) {
  const service = await openDreams(options);
  await service.write('alice', 'user/tea.md', TEA);
  service.say(proposal);
  return service;
}

const eventsOf = async (service: Awaited<ReturnType<typeof openDreams>>) =>
  (await service.admin('GET', 'observability/events?kind=dream.run&spans=true')).json.items;

describe('a dream run', () => {
  it('is an observation event with its reading, its model call, its checks and its writes as spans', async () => {
    const service = await openWithTea();
    const run = await service.dream('alice');
    expect(run.outcome).toBe('applied');
    const trace = await service.admin('GET', `observability/traces/${run.traceId}`);
    const [call] = trace.json.calls;
    expect(call.root).toMatchObject({
      kind: 'dream.run',
      name: 'dream.run',
      toolCallId: run.id,
      userId: 'alice',
      actor: 'dream-agent',
      tool: null,
      status: 'ok',
      attributes: {
        state: 'completed',
        outcome: 'applied',
        mode: 'auto',
        files: 1,
        writes: 2,
        applied: 1,
        dropped: 1,
        inputTokens: run.inputTokens,
        outputTokens: run.outputTokens,
      },
    });
    const write = ['db.read', 'revision.write', 'access_log.write', 'db.write'];
    expect(call.spans.map(({ kind }: { kind: string }) => kind)).toEqual([
      'db.read',
      'access_log.write',
      'llm',
      'dream.check',
      'llm',
      ...write,
    ]);
    expect(call.spans[2]).toMatchObject({
      name: 'chat',
      attributes: { model: 'scripted', inputTokens: run.inputTokens / 2 },
    });
    expect(call.spans[3].attributes).toEqual({ applied: 1, dropped: 1, malformed: 1 });
    // What it read and wrote is found from the trace, and the trace from that.
    const paths = (rows: { path: string }[]) => rows.map(({ path }) => path).sort();
    const written = ['users/alice/dream-log.md', 'users/alice/tea.md'];
    expect(paths(call.revisions)).toEqual(written);
    expect(paths(call.accesses)).toEqual([...written, 'users/alice/tea.md']);
    expect(call.revisions[0].traceId).toBe(run.traceId);
    const byRun = await service.admin('GET', `observability/tool-calls/${run.id}`);
    const { shown, ...same } = byRun.json;
    expect(same).toEqual(call);
    // What its model was shown is known by line, as for a tool call.
    expect(shown).toMatchObject([
      {
        path: 'users/alice/tea.md',
        version: 1,
        lines: [{ startLine: 1, endLine: 3, content: TEA }],
      },
    ]);
  });

  it('names the tools that do what it does: a read, and an edit of lines', async () => {
    const service = await openWithTea();
    const first = await service.dream('alice');
    await service.write('alice', 'user/tea.md', TEA);
    const second = await service.dream('alice');
    expect([first.outcome, second.outcome]).toEqual(['applied', 'applied']);

    const toolsOf = async (list: string) => {
      const { json } = await service.admin('GET', `${list}?actor=dream-agent&order=asc`);
      type Row = { path: string; action: string; tool: string | null };
      return (json.items as Row[]).map(({ path, action, tool }) => [path, action, tool]);
    };
    const tea = 'users/alice/tea.md';
    const log = 'users/alice/dream-log.md';
    expect(await toolsOf('revisions')).toEqual([
      [tea, 'update', 'memory_patch'],
      [log, 'create', 'memory_patch'],
      [tea, 'update', 'memory_patch'],
      [log, 'update', 'memory_patch'],
    ]);
    const accesses = [
      [tea, 'read', 'memory_read'],
      [tea, 'write', 'memory_patch'],
      [log, 'write', 'memory_patch'],
      [tea, 'read', 'memory_read'],
      [tea, 'write', 'memory_patch'],
      [log, 'write', 'memory_patch'],
    ];
    expect(await toolsOf('access-logs')).toEqual(accesses);

    // They are found by their tool, and are no calls of it.
    const byTool = await service.admin('GET', 'access-logs?tool=memory_patch');
    expect(byTool.json.items).toHaveLength(4);
    const summary = (await service.admin('GET', 'observability/summary')).json;
    expect(summary).toMatchObject({ calls: 2, writes: 2, reads: 0 });
    const topology = (await service.admin('GET', 'observability/topology')).json;
    const sum = (kind: string) =>
      (topology.nodes as { kind: string; weight: number }[])
        .filter((node) => node.kind === kind)
        .reduce((total, node) => total + node.weight, 0);
    const agentsOwn = 2;
    expect([sum('file'), sum('tool')]).toEqual(Array(2).fill(accesses.length + agentsOwn));
  });

  it('leaves no content, no reason and no path in its events, and counts as no tool call', async () => {
    const service = await openWithTea();
    const run = await service.dream('alice');
    await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    const events = await eventsOf(service);
    expect(events.map(({ name }: { name: string }) => name)).toEqual(['dream.revert', 'dream.run']);
    expect(JSON.stringify(events)).not.toMatch(new RegExp(`${CANARY}|tea\\.md|a cat`));
    const summary = (await service.admin('GET', 'observability/summary')).json;
    expect(summary.calls).toBe(1);
  });

  it('that fails or is canceled is an event, too, with its code', async () => {
    const service = await openWithTea();
    service.provider.next((exchange) => exchange.sendJson(500, { error: { message: CANARY } }));
    await service.dream('alice');
    const [failed] = await eventsOf(service);
    expect(failed).toMatchObject({
      status: 'error',
      errorCode: 'MODEL_FAILED',
      attributes: { state: 'failed', writes: 0 },
    });
    const chat = failed.spans.find(({ kind }: { kind: string }) => kind === 'llm');
    expect(chat).toMatchObject({ status: 'error', errorCode: 'MODEL_FAILED' });

    const asked = new Promise<void>((resolve) => service.provider.next(() => resolve()));
    const begun = await service.admin('POST', 'dream/users/alice/run', {});
    await asked;
    await service.admin('POST', `dream/runs/${begun.json.id}/cancel`, {});
    await service.plugin.settle();
    const [canceled] = await eventsOf(service);
    expect(canceled).toMatchObject({ status: 'ok', attributes: { state: 'canceled' } });
    expect(JSON.stringify([failed, canceled])).not.toContain(CANARY);
  });

  it('in review mode is an event when it proposes, and another one when it is applied', async () => {
    const service = await openWithTea({ settings: { dream_mode: 'review' } });
    const run = await service.dream('alice');
    await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    const [applied, proposed] = await eventsOf(service);
    expect(proposed).toMatchObject({
      name: 'dream.run',
      toolCallId: run.id,
      attributes: { state: 'completed', outcome: 'waiting', mode: 'review', writes: 0 },
    });
    expect(applied).toMatchObject({
      name: 'dream.apply',
      toolCallId: run.id,
      attributes: { state: 'completed', outcome: 'applied', writes: 2 },
    });
    expect(applied.traceId).not.toBe(proposed.traceId);
    const trace = await service.admin('GET', `observability/traces/${applied.traceId}`);
    expect(trace.json.calls[0].revisions).toHaveLength(2);
  });
});
