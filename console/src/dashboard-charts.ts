import type {
  ActivitySeries,
  LatencySeries,
  Topology,
  TopologyNode,
} from '../../core/contracts/admin.ts';
import type { RouteLocationRaw } from 'vue-router';
import {
  CALL_KIND_NAMES,
  CALL_KINDS,
  type CallSelection,
  countKind,
  toCallQuery,
} from './calls.ts';
import { count } from './story.ts';
import { endOfDay, formatDuration, formatTime, toInstant } from './times.ts';
import { takeEnd } from '../../core/encoding/take-text.ts';

/** A chart, and its data as rows of a table. */
export interface DashboardChart {
  /** `null` while loading. */
  option: Record<string, unknown> | null;
  columns: readonly string[];
  rows: readonly (readonly (string | number)[])[];
  /** The calls behind each row. */
  links: readonly RouteLocationRaw[];
  /** The calls behind a point, a bar, a node or an edge that was clicked. */
  linkOf(item: ChartItem): RouteLocationRaw | null;
}

/** What was clicked, as the charts report it. */
export interface ChartItem {
  dataType?: string;
  seriesName?: string;
  dataIndex?: number;
  name?: string;
  data?: unknown;
}

/** Adds the calls to the address of the view, whose other parts stay. */
const callsAt = (query: Readonly<Record<string, unknown>>, selection: CallSelection) =>
  ({ query: { ...query, ...toCallQuery(selection) } }) as RouteLocationRaw;

type Place = Readonly<Record<string, unknown>>;

/** The time that a bar of the activity covers, in words. */
export const BUCKETS = {
  '1m': 'minute',
  '5m': '5 minutes',
  '1h': 'hour',
  '1d': 'day',
} as const satisfies Record<ActivitySeries['bucket'], string>;

type Zone = 'local' | 'utc';

const DAY_MS = 86_400_000;
const BUCKET_MS = { '1m': 60_000, '5m': 300_000, '1h': 3_600_000, '1d': DAY_MS } as const;

/** The most bars of a chart: more are hairlines. */
const MOST_BARS = 72;
/** The most points that the service makes of a range. */
const MOST_POINTS = 2_000;

/**
 * The shortest bucket whose bars a reader can tell apart, for a range of the filters as seen at `now`; days
 * for a very long one. `undefined` leaves the choice to the service.
 */
export function fitBucket(
  { since, until }: Readonly<Record<string, string>>,
  now: number,
): ActivitySeries['bucket'] | undefined {
  const end = Date.parse((until && toInstant(until, now)) ?? new Date(now).toISOString());
  const start = since === undefined ? end - DAY_MS : Date.parse(toInstant(since, now) ?? '');
  const length = end - start;
  if (!(length > 0) || length / DAY_MS > MOST_POINTS) return undefined;
  const names = ['1m', '5m', '1h', '1d'] as const;
  return names.find((name) => length / BUCKET_MS[name] <= MOST_BARS) ?? '1d';
}

/** The bars, from the bottom of a stack to its top. */
const SERIES = CALL_KIND_NAMES.map((kind) => ({ kind, name: CALL_KINDS[kind].label }));

/** Calls by kind over time, stacked. */
export function toActivityChart(
  found: ActivitySeries | undefined,
  { zone, place }: { zone: Zone; place: Place },
): DashboardChart {
  const points = found?.points ?? [];
  const endOf = toEnds(found, zone);
  const timeOf = (at: string) => ({ since: at, until: endOf(at) });
  const moment = (at: string) => toMoment(at, zone, found?.bucket === '1d');
  const option = {
    xAxis: { type: 'category', data: points.map(({ at }) => moment(at)) },
    yAxis: { type: 'value', minInterval: 1 },
    tooltip: {
      valueFormatter: (value: unknown) => (typeof value === 'number' ? count(value, 'call') : '–'),
    },
    series: SERIES.map(({ name, kind }) => ({
      name,
      type: 'bar',
      stack: 'calls',
      barMaxWidth: 18,
      data: points.map((point) => countKind(point, kind)),
    })),
  };
  return {
    option: found === undefined ? null : option,
    columns: ['Time', 'Calls', ...SERIES.map(({ name }) => name)],
    rows: points
      .filter(({ calls }) => calls > 0)
      .map((point) => [
        moment(point.at),
        point.calls,
        ...SERIES.map(({ kind }) => countKind(point, kind)),
      ]),
    links: points.filter(({ calls }) => calls > 0).map(({ at }) => callsAt(place, timeOf(at))),
    linkOf({ dataIndex, seriesName }) {
      const at = points[dataIndex ?? -1]?.at;
      const kind = SERIES.find(({ name }) => name === seriesName)?.kind;
      return at === undefined ? null : callsAt(place, { ...timeOf(at), ...(kind && { kind }) });
    },
  };
}

/** The p95 of each tool over time. */
export function toLatencyChart(
  found: LatencySeries | undefined,
  { zone, place }: { zone: Zone; place: Place },
): DashboardChart {
  const tools = found?.tools ?? [];
  const endOf = toEnds(found, zone);
  const linkOf = (tool: string | null, at: string) =>
    callsAt(place, {
      since: at,
      until: endOf(at),
      ...(tool !== null && { tool }),
    });
  const moment = (at: string) => toMoment(at, zone, found?.bucket === '1d');
  const option = {
    // The same time range as the activity chart, also where buckets have no calls.
    xAxis: {
      type: 'time',
      min: found?.since,
      max: found?.until,
      minInterval: found?.bucket === '1d' ? DAY_MS : 0,
      axisLabel: {
        formatter: (ms: number) => moment(new Date(ms).toISOString()),
        hideOverlap: true,
      },
      // The head of a tooltip.
      axisPointer: {
        label: {
          formatter: ({ value }: { value: number }) => moment(new Date(value).toISOString()),
        },
      },
    },
    useUTC: zone === 'utc',
    yAxis: { type: 'value', axisLabel: { formatter: '{value} ms' } },
    tooltip: {
      valueFormatter: (value: unknown) => (typeof value === 'number' ? formatDuration(value) : '–'),
    },
    series: tools.map(({ tool, points }) => ({
      name: tool ?? 'unknown',
      type: 'line',
      symbolSize: 4,
      lineStyle: { width: 1.5 },
      data: points.flatMap(({ at, p95 }, index) => {
        const point = [at, Number(p95.toFixed(2))] as const;
        const before = Date.parse(points[index - 1]?.at ?? at);
        const bucketMs = BUCKET_MS[found?.bucket ?? '1d'];
        // A line must not bridge times without calls.
        const isAfterGap = Date.parse(at) - before > 1.5 * bucketMs;
        return isAfterGap ? [[new Date(before + bucketMs).toISOString(), null], point] : [point];
      }),
    })),
  };
  return {
    option: found === undefined ? null : option,
    columns: ['Time', 'Tool', 'Calls', 'p50', 'p95', 'p99'],
    rows: tools.flatMap(({ tool, points }) =>
      points.map(({ at, calls, p50, p95, p99 }) => [
        moment(at),
        tool ?? 'unknown',
        calls,
        ...[p50, p95, p99].map((value) => formatDuration(value)),
      ]),
    ),
    links: tools.flatMap(({ tool, points }) => points.map(({ at }) => linkOf(tool, at))),
    linkOf({ seriesName, data }) {
      const at: unknown = Array.isArray(data) ? data[0] : null;
      if (typeof at !== 'string') return null;
      return linkOf(seriesName === 'unknown' ? null : (seriesName ?? null), at);
    },
  };
}

/** Colours by kind, distinct on light and dark. */
const KINDS = { scope: '#14a08f', actor: '#6d6af0', tool: '#d18a1f', file: '#3794c8' } as const;
/** The column of each kind, also where the nodes between are left out. */
const COLUMNS = { scope: 0, actor: 1, tool: 2, file: 3 } as const;
/** The heads of the columns; the last one has room for its labels on the right. */
export const TOPOLOGY_HEADS = ['Memory', 'Actors', 'Tools', 'Files'].map((label, at) => ({
  label,
  left: `calc(4px + (100% - 164px) * ${at} / 3)`,
}));
/** The most nodes of a kind that stay readable; the others are one node. */
const MOST_OF_A_KIND = 11;
const REST = 'rest:';
const LONGEST_LABEL = 23;

/** Accesses by user, actor, tool and file. The table has all of them. */
export function toTopologyChart(
  found: Topology | undefined,
  { range }: { range: Place },
): DashboardChart {
  const nodes = new Map((found?.nodes ?? []).map((node) => [node.id, node]));
  // A node that groups the others of its kind stands for many values, which no filter names.
  const filtersOf = (id: string | undefined) => toAccessFilter(nodes.get(id ?? ''));
  const linkOf = (...ids: (string | undefined)[]): RouteLocationRaw => ({
    name: 'activity',
    query: { ...range, ...Object.assign({}, ...ids.map(filtersOf)) } as Record<string, string>,
  });
  const labels = new Map((found?.nodes ?? []).map(({ id, label }) => [id, label]));
  return {
    option: found === undefined ? null : toSankey(found, labels),
    columns: ['From', 'To', 'Accesses'],
    rows: (found?.edges ?? []).map(({ from, to, weight }) => [
      labels.get(from) ?? from,
      labels.get(to) ?? to,
      weight,
    ]),
    links: (found?.edges ?? []).map(({ from, to }) => linkOf(from, to)),
    linkOf({ name, data }) {
      const { source, target } = (data ?? {}) as SankeyItem['data'];
      return source === undefined ? linkOf(name) : linkOf(source, target);
    },
  };
}

/** The filter of the activity for a node. */
function toAccessFilter(node: TopologyNode | undefined): Record<string, string> {
  switch (node?.kind) {
    case 'scope':
      if (node.label === 'shared') return { prefix: 'shared/' };
      return node.label.startsWith('spaces/')
        ? { spaceId: node.label.slice('spaces/'.length) }
        : { userId: node.label.replace(/^users\//, '') };
    case 'actor':
      return { actor: node.label };
    case 'tool':
      return { tool: node.label };
    case 'file':
      return { path: node.label };
    default:
      return {};
  }
}

/** When the bucket ends that starts at a time. A day of a zone may have 23 or 25 hours. */
function toEnds(found: { bucket: ActivitySeries['bucket'] } | undefined, zone: Zone) {
  const bucket = found?.bucket ?? '1d';
  return (at: string) =>
    bucket === '1d'
      ? endOfDay(at, zone)
      : new Date(Date.parse(at) + BUCKET_MS[bucket]).toISOString();
}

/** A node or an edge under the pointer. */
interface SankeyItem {
  name: string;
  value: number;
  data: { source?: string; target?: string };
}

function toSankey(found: Topology, labels: ReadonlyMap<string, string>): Record<string, unknown> {
  const { nodes, links, restOf } = groupTail(found);
  const labelOf = (id: unknown) => {
    const rest = restOf.get(String(id));
    return rest === undefined ? (labels.get(String(id)) ?? String(id)) : count(rest, 'other');
  };
  const formatter = ({ name }: { name: string }) => {
    const text = labelOf(name).replace(/^users\//, '');
    return text.length > LONGEST_LABEL ? `…${takeEnd(text, LONGEST_LABEL - 1)}` : text;
  };
  return {
    tooltip: {
      trigger: 'item',
      formatter: ({ name, value, data }: SankeyItem) =>
        (data.source === undefined
          ? labelOf(name)
          : `${labelOf(data.source)} → ${labelOf(data.target)}`) +
        `: ${value.toLocaleString('en')} ${value === 1 ? 'access' : 'accesses'}`,
    },
    series: [
      {
        type: 'sankey',
        nodeAlign: 'left',
        top: 8,
        // Room for the label of the lowest node.
        bottom: 16,
        left: 4,
        right: 150,
        // A label high.
        nodeGap: 14,
        labelLayout: { hideOverlap: true },
        nodeWidth: 10,
        draggable: false,
        emphasis: { focus: 'adjacency' },
        lineStyle: { color: 'source', opacity: 0.18 },
        label: { fontSize: 11, formatter },
        data: nodes.map(({ id, kind }) => ({
          name: id,
          depth: COLUMNS[kind],
          itemStyle: { color: KINDS[kind] },
        })),
        links,
      },
    ],
  };
}

/** Makes one node of all that are beyond the most frequent ones of their kind. */
function groupTail({ nodes, edges }: Topology) {
  const kept: { id: string; kind: TopologyNode['kind'] }[] = [];
  const places = new Map<string, string>();
  const restOf = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const { id, kind } of [...nodes].sort((a, b) => b.weight - a.weight)) {
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    const place = number <= MOST_OF_A_KIND ? id : `${REST}${kind}`;
    places.set(id, place);
    if (number <= MOST_OF_A_KIND) kept.push({ id, kind });
    else {
      if (!restOf.has(place)) kept.push({ id: place, kind });
      restOf.set(place, (restOf.get(place) ?? 0) + 1);
    }
  }
  const sums = new Map<string, { source: string; target: string; value: number }>();
  for (const { from, to, weight } of edges) {
    const [source, target] = [places.get(from), places.get(to)];
    if (source === undefined || target === undefined) continue;
    const key = `${source}\n${target}`;
    const sum = sums.get(key) ?? { source, target, value: 0 };
    sums.set(key, { ...sum, value: sum.value + weight });
  }
  return { nodes: kept, links: [...sums.values()], restOf };
}

/** A short time for an axis: no year, no seconds; for a whole day only the date. */
function toMoment(at: string, zone: Zone, isDay: boolean): string {
  const [day = '', time = ''] = formatTime(at, zone).split(', ');
  const date = day.replace(/ \d{4}$/, '');
  return isDay ? date : `${date}, ${time.slice(0, -3)}`;
}
