import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { convertExport } from '../../../core/formats/convert-export.ts';
import type { ForeignName } from '../../../core/schemas/archive.ts';

/** How often sets, maps and paths were touched while an export was converted. */
async function countSteps(value: unknown, from: ForeignName): Promise<number> {
  const text = Array.isArray(value) ? value.map((item) => JSON.stringify(item)).join('\n') : '';
  let steps = 0;
  const spies = [
    ...[Set.prototype, Map.prototype].flatMap((prototype) => [
      vi.spyOn(prototype, 'has' as never),
      ...('add' in prototype ? [vi.spyOn(prototype, 'add')] : []),
      ...('get' in prototype ? [vi.spyOn(prototype, 'get'), vi.spyOn(prototype, 'set')] : []),
    ]),
    vi.spyOn(String.prototype, 'toLowerCase'),
  ];
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  await convertExport(() => Readable.from([Buffer.from(text)]), {
    from,
    userId: 'alice',
    maxFileBytes: 256 * 1024,
    now: 0,
  });
  for (const spy of spies) {
    steps += spy.mock.calls.length;
    spy.mockRestore();
  }
  return steps;
}

const entity = (name: string, observation: string) => ({
  type: 'entity',
  name,
  entityType: 'x',
  observations: [observation],
});

describe('twice as many items take about twice as many steps:', () => {
  it.each<[string, ForeignName, (index: number) => object]>([
    ['one entity many times', 'server-memory', (at) => entity('John', `fact ${at}`)],
    ['one entity with the same observation', 'server-memory', () => entity('John', 'fact')],
    [
      'many entities whose files have one name',
      'server-memory',
      (at) => entity('/'.repeat(at), 'a'),
    ],
    [
      'many relations of one entity',
      'server-memory',
      (at) =>
        at === 0
          ? entity('John', 'a')
          : { type: 'relation', from: 'John', to: `x${at}`, relationType: 'knows' },
    ],
    ['one memory many times', 'mem0', () => ({ id: 'm', memory: 'x' })],
    ['many memories of one day', 'mem0', (at) => ({ id: at, memory: 'x', created_at: 1767607200 })],
    ['many blocks of one label', 'letta', () => ({ label: 'human', value: 'x' })],
  ])('%s', async (_what, from, create) => {
    const toItems = (count: number) => Array.from({ length: count }, (_, at) => create(at));
    const few = await countSteps(toItems(400), from);
    const many = await countSteps(toItems(800), from);
    expect(many).toBeLessThan(few * 2.2);
  });
});

it('names each relation of an entity that no file can hold, however many there are', async () => {
  const relations = Array.from({ length: 150_000 }, (_, at) => ({
    from: 'a',
    to: 'b',
    relationType: `r${at}`,
  }));
  const graph = { entities: [{ name: 'a', entityType: 'b', observations: [] }], relations };
  const bytes = Buffer.from(JSON.stringify(graph));
  const { items, skipped, itemsOf } = await convertExport(() => Readable.from([bytes]), {
    from: null,
    userId: 'alice',
    maxFileBytes: 64 * 1024,
    now: 0,
  });
  expect(skipped).toEqual([]);
  expect([...itemsOf.values()].reduce((sum, count) => sum + count, 0)).toBe(items);
  expect(itemsOf.size).toBeGreaterThan(10);
});
