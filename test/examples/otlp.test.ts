import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startCollector } from '../support/collector.ts';
import { root, run } from './run-example.ts';

it('sends the spans of the app and of its memory as one trace', async () => {
  const collector = await startCollector();
  const { code, stdout, stderr } = await run(['examples/otlp/main.mjs', collector.url]);
  expect([code, stderr]).toEqual([0, '']);
  const readme = await readFile(join(root, 'examples/otlp/README.md'), 'utf8');
  const [, shown = ''] = /```text\n([^]*?)```/.exec(readme) ?? [];
  expect(withoutFigures(stdout)).toBe(withoutFigures(shown));
  const traceId = /^Trace ([0-9a-f]{32})$/m.exec(stdout)?.[1];
  const spans = new Map(collector.spans.map((span) => [span.spanId, span]));
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));

  const of = (name: string) =>
    collector.spans.filter((span) => span.resource['service.name'] === name);
  const [app, ...others] = of('travel-agent');
  expect(others).toEqual([]);
  expect(app).toMatchObject({ name: 'answer a question', parentSpanId: '', statusCode: 2 });
  const memory = of('memory-service');
  expect(stdout).toContain(`\n${memory.length} spans of memory exported, 0 dropped, 0 failed\n`);
  const calls = memory.filter(({ parentSpanId }) => parentSpanId === app?.spanId);
  expect(calls.map(({ name }) => name)).toEqual([
    'execute_tool memory_write',
    'execute_tool memory_find',
    'execute_tool memory_read',
  ]);
  expect(calls[2]).toMatchObject({ statusCode: 2, attributes: { 'error.type': 'FILE_NOT_FOUND' } });
  // Every other one is a phase of a call.
  for (const { parentSpanId } of memory.filter((span) => !calls.includes(span))) {
    expect(calls).toContain(spans.get(parentSpanId));
  }
  const sent = collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
  for (const word of ['anna', 'Bergen', 'profile.md', 'live']) expect(sent).not.toContain(word);
});

/** Another run has another trace, and more phases where a call had to wait. */
function withoutFigures(output: string): string {
  return output.replace(/^Trace .*/m, 'Trace …').replace(/^\d+ spans/m, '… spans');
}
