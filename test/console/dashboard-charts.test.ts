import { describe, expect, it } from 'vitest';
import { toLatencyChart, toTopologyChart } from '../../console/src/dashboard-charts.ts';

const DAY = (day: number) => `2026-01-0${day}T00:00:00.000Z`;

/** The parts of an option that a rule is about. */
interface Option {
  tooltip: {
    valueFormatter(value: unknown): string;
    formatter(item: object): string;
  };
  series: { data: (readonly unknown[] | { name: string; depth: number })[] }[];
}

describe('the chart of latency', () => {
  const points = [1, 2, 5].map((day) => ({ at: DAY(day), calls: 1, p50: 1, p95: 2.5, p99: 3 }));
  const chart = toLatencyChart(
    {
      ...{ since: DAY(1), until: DAY(7), bucket: '1d', relativeError: 0.01 },
      tools: [{ tool: 'memory_read', points }],
    },
    'utc',
  );
  const option = chart.option as unknown as Option;

  it('breaks its lines where there were no calls', () => {
    expect(option.series[0]?.data).toEqual([
      [DAY(1), 2.5],
      [DAY(2), 2.5],
      [DAY(3), null],
      [DAY(5), 2.5],
    ]);
  });

  it('says the unit of a value', () => {
    expect(option.tooltip.valueFormatter(1_250)).toBe('1.3 s');
    expect(option.tooltip.valueFormatter(2.5)).toBe('2.5 ms');
    expect(option.tooltip.valueFormatter(null)).toBe('–');
  });
});

describe('the topology', () => {
  const chart = toTopologyChart({
    ...{ since: DAY(1), until: DAY(2), countedFrom: null, omitted: 0 },
    nodes: [
      { id: 'scope:u:alice', kind: 'scope', label: 'users/alice', weight: 2 },
      { id: 'actor:agent', kind: 'actor', label: 'agent', weight: 2 },
      { id: 'tool:memory_list', kind: 'tool', label: 'memory_list', weight: 1 },
      { id: 'file:1', kind: 'file', label: 'users/alice/a.md', weight: 1 },
    ],
    edges: [{ from: 'scope:u:alice', to: 'actor:agent', weight: 2 }],
  });
  const option = chart.option as unknown as Option;

  it('keeps each kind in its column, also a tool without files', () => {
    const nodes = option.series[0]?.data as { name: string; depth: number }[];
    expect(nodes.map(({ name, depth }) => [name, depth])).toEqual([
      ['scope:u:alice', 0],
      ['actor:agent', 1],
      ['tool:memory_list', 2],
      ['file:1', 3],
    ]);
  });

  it('names nodes and edges in its tooltip, not their ids', () => {
    const { formatter } = option.tooltip;
    expect(formatter({ name: 'file:1', value: 1, data: {} })).toBe('users/alice/a.md: 1 access');
    const edge = { source: 'scope:u:alice', target: 'actor:agent' };
    expect(formatter({ name: 'x > y', value: 1_200, data: edge })).toBe(
      'users/alice → agent: 1,200 accesses',
    );
  });
});
