import type { Bench, Opened, Suite } from './support/bench.ts';
import { FIGURES } from './support/figures.ts';
import {
  BUSIEST,
  CALLER,
  COLLECTOR,
  KNOWN,
  MONTH,
  openLogFixture,
  READER,
} from './support/observability-fixture.ts';
import { ADMIN_SECRET, startService } from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const EVENTS = 2_000_000;
const ACCESSES = 1_000_000;
const USERS = 1_000;
const DAY = 24 * 60 * 60 * 1_000;
const WARM_UPS = 3;
const LIMIT_MS = FIGURES['dashboard'].value;

/** What the dashboard asks for, on a month of logs. */
export const suite: Suite = {
  about: 'each answer of the dashboard, on 1M access rows and 2M events (a cached fixture)',
  options: {
    events: `events of the fixture (default ${EVENTS.toLocaleString('en-US')})`,
    requests: 'requests of each answer, one after the other (default 40)',
  },
  async run(bench) {
    const events = toCount(bench, 'events', bench.isQuick ? 20_000 : EVENTS, 2_000);
    const requests = toCount(bench, 'requests', bench.isQuick ? 3 : 40, 1);
    if (events < EVENTS) bench.report.note('Fewer rows than the figure is for.');
    const accesses = Math.round((events * ACCESSES) / EVENTS);
    const say = (text: string) => void process.stderr.write(`  ${text}\n`);
    const directory = await openLogFixture({ users: USERS, events, accesses }, say);
    // The rows are old by now: the service would begin to remove them while it is measured.
    const keep = { SERVICE_RETENTION_EVENTS_DAYS: '0' };
    const service = await startService(bench, 'memory-service', directory, keep);
    await measure(bench, service, requests);
  },
};

function toCount({ options }: Bench, name: string, byDefault: number, least: number): number {
  const count = Number(options[name] ?? byDefault);
  if (Number.isInteger(count) && count >= least) return count;
  throw new Error(`--${name} takes a whole number from ${least.toLocaleString('en-US')}.`);
}

async function measure(bench: Bench, { party }: Opened, requests: number): Promise<void> {
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  const { report } = bench;
  const queries = listQueries();
  const width = Math.max(...queries.map(([title]) => title.length));
  report.row(`Each answer over HTTP, ${requests} times, one after the other`, []);
  report.note(`  ${''.padEnd(width)}    p50 ms    p95 ms   p50 ≤ ${LIMIT_MS} ms`);
  const medians: number[] = [];
  for (const [title, path] of queries) {
    const times = await party.use(() => timeAnswers(port, path, requests));
    const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
    medians.push(p50);
    const verdict = p50 <= LIMIT_MS ? 'reached' : 'NOT REACHED';
    const cells = [p50, p95].map((ms) => ms.toFixed(1).padStart(8)).join('  ');
    report.note(`  ${title.padEnd(width)}  ${cells}   ${verdict}`);
  }
  report.row('The slowest of these answers, by its median', []);
  report.figure('dashboard', toSpread([Math.max(...medians)]));
  report.row(
    `Percentiles of ${CALLER}, a month: the dashboard's, and those of each recorded call`,
    [],
  );
  for (const line of await party.use(() => comparePercentiles(port))) report.note(`  ${line}`);
}

interface Summary {
  calls: number;
  refused: number;
  latency: { p50: number; p95: number; p99: number; relativeError: number };
}

/** The dashboard's percentiles beside the exact ones, of every call that is recorded. */
async function comparePercentiles(port: number): Promise<string[]> {
  const range = `userId=${CALLER}&since=${toTime(MONTH.since)}&until=${toTime(MONTH.until)}`;
  const { calls, refused, latency } = (await read(port, `summary?${range}`)) as Summary;
  const skipped = new Set<string>();
  const durations: number[] = [];
  const list = async (path: string, take: (event: Recorded) => void): Promise<void> => {
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await read(port, `${path}&${range}&limit=500${more}`)) as Page;
      page.items.forEach(take);
      cursor = page.nextCursor;
    } while (cursor !== null);
  };
  // Refused calls take no time, and are in no percentile.
  await list('failures?reason=refused', ({ id }) => void skipped.add(id));
  await list('events?kind=tool', ({ id, durationMs }) => {
    if (!skipped.has(id)) durations.push(durationMs);
  });
  if (durations.length !== calls - refused) throw new Error('The lists lack calls of the summary.');
  durations.sort((one, other) => one - other);
  return (['p50', 'p95', 'p99'] as const).map((name) => {
    const exact = quantile(durations, Number(name.slice(1)) / 100);
    const off = Math.abs(latency[name] - exact) / exact;
    const verdict = off <= latency.relativeError ? 'within' : 'NOT WITHIN';
    const figures = `${latency[name].toFixed(3)} ms, exact ${exact.toFixed(3)} ms`;
    const stated = `${verdict} the stated ${latency.relativeError * 100}%`;
    return `${name}: ${figures}, off by ${(off * 100).toFixed(2)}%, ${stated} (${durations.length} calls)`;
  });
}

interface Recorded {
  id: string;
  durationMs: number;
}

interface Page {
  items: Recorded[];
  nextCursor: string | null;
}

/** Milliseconds of each answer, to its last byte; of a stream, to its first event. */
async function timeAnswers(port: number, path: string, requests: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = -WARM_UPS; n < requests; n += 1) {
    const begin = performance.now();
    await answer(port, path);
    if (n >= 0) times.push(performance.now() - begin);
  }
  return times.toSorted((one, other) => one - other);
}

async function read(port: number, path: string): Promise<unknown> {
  const response = await ask(port, path);
  return response.json();
}

async function ask(port: number, path: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/admin/observability/${path}`, {
    headers: { 'x-admin-secret': ADMIN_SECRET },
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok)
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function answer(port: number, path: string): Promise<void> {
  const limit = new AbortController();
  const response = await ask(port, path, limit.signal);
  if (!path.startsWith('events/stream')) {
    await response.text();
    return;
  }
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    if (decoder.decode(chunk as Uint8Array, { stream: true }).includes('data: ')) break;
  }
  limit.abort();
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.floor(q * (sorted.length - 1))] ?? NaN;
}

function listQueries(): [title: string, path: string][] {
  const time = toTime;
  const month = `since=${time(MONTH.since)}&until=${time(MONTH.until)}`;
  const day = `since=${time(MONTH.until - DAY)}&until=${time(MONTH.until)}`;
  // Off every bucket, so that calls at both ends are counted one by one.
  const odd = `since=${time(MONTH.since + 5_000_001)}&until=${time(MONTH.until - 3_000_007)}`;
  const oddDay = `since=${time(MONTH.until - DAY - 2_000_003)}&until=${time(MONTH.until - 1_007)}`;
  const busiest = `userId=${BUSIEST}`;
  const many = ['summary', 'activity', 'latency', 'topology', 'top-files'].flatMap((name) =>
    [
      ['a day', day],
      ['a month', month],
      ['a month, off every bucket', odd],
      ['a day of the busiest user', `${oddDay}&${busiest}`],
      ['a month of the busiest user', `${odd}&${busiest}`],
      ['a month of a tool', `${odd}&tool=memory_write`],
      ['a month of a user and a tool', `${odd}&${busiest}&tool=memory_write`],
    ].map(([title, query]): [string, string] => [`${name}, ${title}`, `${name}?${query}`]),
  );
  return [
    ...many,
    ['activity, a day by minutes', `activity?bucket=1m&${day}`],
    ['activity, a day of the busiest user by minutes', `activity?bucket=1m&${day}&${busiest}`],
    ['latency, a day by minutes', `latency?bucket=1m&${day}`],
    ['latency, a day of the busiest user by minutes', `latency?bucket=1m&${day}&${busiest}`],
    ['failures, a month', `failures?${month}`],
    ['failures, 500 of them', `failures?limit=500&${month}`],
    ['failures, slow ones of a tool', `failures?reason=slow&tool=memory_write&${month}`],
    ['failures, refused ones of a user', `failures?reason=refused&userId=${CALLER}&${month}`],
    ['failures of the busiest user', `failures?${busiest}&${month}`],
    ['events, a month', `events?spans=true&${month}`],
    ['events, 500 with their spans', `events?spans=true&limit=500&${month}`],
    ['events of the busiest user and a tool', `events?${busiest}&tool=memory_write&${month}`],
    ['events, errors of one code', `events?errorCode=STORAGE_UNAVAILABLE&${month}`],
    ['events of nobody', `events?actor=nobody&${month}`],
    ['the live stream, to its first event', `events/stream?since=${time(MONTH.until - DAY)}`],
    ['a trace', `traces/${KNOWN.traceId}`],
    ['a tool call', `tool-calls/${KNOWN.toolCallId}`],
    ['influence', `influence?revisionId=${KNOWN.revisionId}`],
    ['influence, a tool and a month', `influence?revisionId=${KNOWN.revisionId}&tool=x&${month}`],
    ['influence of a pruned revision', `influence?revisionId=${KNOWN.prunedRevisionId}`],
    ['hygiene of 20 files', `hygiene?userId=${READER}`],
    ['hygiene of 1,000 files', `hygiene?userId=${COLLECTOR}`],
    ['hygiene of 1,000 files, a tool', `hygiene?userId=${COLLECTOR}&tool=memory_write&${month}`],
  ];
}
