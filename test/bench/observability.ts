import type { Bench, Opened, Suite } from './support/bench.ts';
import { MONTH, openLogFixture } from './support/observability-fixture.ts';
import { ADMIN_SECRET, startService } from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const EVENTS = 2_000_000;
const ACCESSES = 1_000_000;
const USERS = 1_000;
const DAY = 24 * 60 * 60 * 1_000;

/** What the dashboard asks for, on a month of logs. */
export const suite: Suite = {
  about: 'each answer of the dashboard, on 1M access rows and 2M events (a cached fixture)',
  options: { events: `events of the fixture (default ${EVENTS.toLocaleString('en-US')})` },
  async run(bench) {
    const events = Number(bench.options['events'] ?? (bench.isQuick ? 20_000 : EVENTS));
    if (!Number.isInteger(events) || events < 2_000) {
      throw new Error('--events takes a whole number from 2,000.');
    }
    if (events < EVENTS) bench.report.note('Fewer rows than the figure is for.');
    const accesses = Math.round((events * ACCESSES) / EVENTS);
    const say = (text: string) => void process.stderr.write(`  ${text}\n`);
    const { directory, revisionId } = await openLogFixture({ users: USERS, events, accesses }, say);
    const service = await startService(bench, 'memory-service', directory);
    await measure(bench, service, revisionId);
  },
};

async function measure(bench: Bench, service: Opened, revisionId: string): Promise<void> {
  if (service.party === null) return;
  const p50: number[] = [];
  for (const [title, path] of listQueries(revisionId)) {
    const request = {
      method: 'GET' as const,
      path: `/v1/admin/observability/${path}`,
      headers: { 'x-admin-secret': ADMIN_SECRET },
      bodies: [''],
      connections: 1,
      expect: '{',
    };
    const turns = await bench.compare({
      title,
      entrants: [bench.asked('service', service, request)],
      isBrief: true,
    });
    for (const turn of turns.get(service.name) ?? []) {
      if (turn.latency !== null) p50.push(turn.latency.p50);
    }
  }
  bench.report.row('The slowest of these answers, by its median', []);
  bench.report.figure('console-list', toSpread([Math.max(...p50)]));
}

function listQueries(revisionId: string): [title: string, path: string][] {
  const time = (ms: number) => new Date(ms).toISOString();
  const month = `since=${time(MONTH.since)}&until=${time(MONTH.until)}`;
  const day = `since=${time(MONTH.until - DAY)}&until=${time(MONTH.until)}`;
  // Off every bucket, so that calls at both ends are counted one by one.
  const odd = `since=${time(MONTH.since + 5_000_001)}&until=${time(MONTH.until - 3_000_007)}`;
  const user = 'userId=user-7';
  const many = ['summary', 'activity', 'latency', 'topology', 'top-files'].flatMap((name) => [
    [`${name}, a day`, `${name}?${day}`] as [string, string],
    [`${name}, a month`, `${name}?${month}`] as [string, string],
    [`${name}, a month, off every bucket`, `${name}?${odd}`] as [string, string],
    [`${name}, a month of a user`, `${name}?${odd}&${user}`] as [string, string],
    [`${name}, a month of a tool`, `${name}?${odd}&tool=memory_write`] as [string, string],
  ]);
  return [
    ...many,
    ['failures', `failures?${month}`],
    ['failures, slow ones of a tool', `failures?reason=slow&tool=memory_write&${month}`],
    ['failures of a user', `failures?${user}&${month}`],
    ['events', `events?spans=true&${month}`],
    ['events of a user and a tool', `events?${user}&tool=memory_write&${month}`],
    ['events, errors of one code', `events?errorCode=STORAGE_UNAVAILABLE&${month}`],
    ['influence', `influence?revisionId=${revisionId}`],
  ];
}
