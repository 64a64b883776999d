import { describe, expect, it } from 'vitest';
import {
  toActivityChart,
  toLatencyChart,
  toTopologyChart,
} from '../../console/src/dashboard-charts.ts';

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
      since: DAY(1),
      until: DAY(7),
      bucket: '1d',
      relativeError: 0.01,
      tools: [{ tool: 'memory_read', points }],
    },
    { zone: 'utc', place: { since: '7d' } },
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

  it('leads from a point to the calls of its tool in its time', () => {
    const calls = {
      query: {
        since: '7d',
        callsTool: 'memory_read',
        callsSince: DAY(2),
        callsUntil: DAY(3),
      },
    };
    expect(chart.linkOf({ seriesName: 'memory_read', data: [DAY(2), 2.5] })).toEqual(calls);
    expect(chart.links[1]).toEqual(calls);
  });
});

describe('the chart of activity', () => {
  const counts = { calls: 3, failed: 0, refused: 0, reads: 1, writes: 2, finds: 0 };
  const chart = toActivityChart(
    {
      since: DAY(1),
      until: DAY(3),
      bucket: '1d',
      points: [
        { at: DAY(1), ...counts, calls: 0 },
        { at: DAY(2), ...counts },
      ],
    },
    { zone: 'utc', place: {} },
  );
  const option = chart.option as unknown as Option;

  it('says the unit of a value', () => {
    expect(option.tooltip.valueFormatter(1)).toBe('1 call');
    expect(option.tooltip.valueFormatter(1_200)).toBe('1,200 calls');
  });

  it('leads from a bar to the calls of its kind, and from a row to all of its time', () => {
    const time = { callsSince: DAY(2), callsUntil: DAY(3) };
    const bar = chart.linkOf({ seriesName: 'Writes', dataIndex: 1 });
    expect(bar).toEqual({ query: { ...time, callsOf: 'writes' } });
    expect(chart.links).toEqual([{ query: time }]);
  });
});

describe('the topology', () => {
  const chart = toTopologyChart(
    {
      since: DAY(1),
      until: DAY(2),
      countedFrom: null,
      omitted: 0,
      nodes: [
        { id: 'scope:u:alice', kind: 'scope', label: 'users/alice', weight: 2 },
        { id: 'actor:agent', kind: 'actor', label: 'agent', weight: 2 },
        { id: 'tool:memory_list', kind: 'tool', label: 'memory_list', weight: 1 },
        { id: 'file:1', kind: 'file', label: 'users/alice/a.md', weight: 1 },
      ],
      edges: [{ from: 'scope:u:alice', to: 'actor:agent', weight: 2 }],
    },
    { range: { since: '7d' } },
  );
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

  it('leads from a node, an edge or a row to the accesses behind it', () => {
    const range = { name: 'activity', query: { since: '7d' } };
    const of = (query: object) => ({ ...range, query: { ...range.query, ...query } });
    expect(chart.linkOf({ name: 'file:1', data: {} })).toEqual(of({ path: 'users/alice/a.md' }));
    const edge = { source: 'scope:u:alice', target: 'actor:agent' };
    const both = of({ userId: 'alice', actor: 'agent' });
    expect(chart.linkOf({ data: edge })).toEqual(both);
    expect(chart.links).toEqual([both]);
  });
});
