import { chromium, type Browser } from 'playwright-core';
import { findChromium } from '../support/chromium.mjs';
import type { Bench, Opened, Suite } from './support/bench.ts';
import {
  type ConsoleSet,
  fileAt,
  largeFileAt,
  openConsoleFixture,
} from './support/console-fixture.ts';
import { FIGURES, type FigureId } from './support/figures.ts';
import { openScreen, type Screen, scrollThrough, watchEvents } from './support/screens.ts';
import { ADMIN_SECRET, startService } from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const WHOLE: ConsoleSet = { users: 1_000, files: 100_000, accesses: 1_000_000, largest: 10_000 };
const SMALL: ConsoleSet = { users: 100, files: 2_000, accesses: 10_000, largest: 1_000 };
const LIST_MS = FIGURES['console-list'].value;
const PAGES = 20;
/** Of one file. */
const LONG_LINES = 6_000;
const LONG_PATH = 'users/user-long/log.md';
const LIVE = { aSecond: 500, seconds: 5 };

/** What an operator waits for, in Chromium and at the API. */
export const suite: Suite = {
  about:
    'the console: views and scrolling in Chromium, and its lists, on 100k files and 1M log rows',
  isAlone: true,
  options: { share: 'of the files and rows, from 0.01 to 1 (default 1: some minutes to write)' },
  switches: { 'no-browser': 'measure the lists alone', 'no-lists': 'measure in the browser alone' },
  async run(bench) {
    const share = Number(bench.options['share'] ?? 1);
    if (!(share >= 0.01 && share <= 1)) throw new Error('--share takes a number from 0.01 to 1.');
    const set = bench.isQuick ? SMALL : scale(WHOLE, share);
    if (set.files < WHOLE.files) bench.report.note('Fewer rows than the figures are for.');
    const say = (text: string) => void process.stderr.write(`  ${text}\n`);
    const directory = await openConsoleFixture(set, say);
    const service = await startService(bench, 'memory-service', directory, {
      SERVICE_RETENTION_EVENTS_DAYS: '0',
    });
    if (bench.options['no-lists'] === undefined) await measureLists(bench, service, set);
    if (bench.options['no-browser'] === undefined) await measureInBrowser(bench, service, set);
  },
};

/** Fewer files and rows, of as many users. */
function scale(set: ConsoleSet, share: number): ConsoleSet {
  const of = (count: number): number => Math.round(count * share);
  return { ...set, files: of(set.files), accesses: of(set.accesses) };
}

async function measureLists(bench: Bench, { party }: Opened, set: ConsoleSet): Promise<void> {
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  const { report } = bench;
  const lists = listQueries(set);
  const width = Math.max(...lists.map(([title]) => title.length));
  const times = bench.isQuick ? 3 : PAGES;
  report.row(`Each list over HTTP, ${times} times, one after the other`, []);
  report.note(`  ${''.padEnd(width)}    p50 ms    p95 ms   p50 ≤ ${LIST_MS} ms`);
  const medians: number[] = [];
  for (const [title, query] of lists) {
    const taken = await party.use(() => timeAnswers(port, query, times));
    const [p50, p95] = [quantile(taken, 0.5), quantile(taken, 0.95)];
    medians.push(p50);
    const cells = [p50, p95].map((ms) => ms.toFixed(1).padStart(8)).join('  ');
    const verdict = p50 <= LIST_MS ? 'reached' : 'NOT REACHED';
    report.note(`  ${title.padEnd(width)}  ${cells}   ${verdict}`);
  }
  if (set.files < WHOLE.files) return;
  report.row('The slowest of these lists, by its median', []);
  report.figure('console-list', toSpread([Math.max(...medians)]));
}

/** The lists of the views as the views ask for them, filtered and deep ones too. */
function listQueries(set: ConsoleSet): [title: string, query: string][] {
  const { userId, path } = fileAt(1_234, set);
  const folder = `users/${userId}/notes/`;
  const file = `users/${userId}/${path}`;
  const day = since(1);
  return [
    ['status', 'status'],
    ['users', 'users?limit=100'],
    ['users that contain a text', 'users?q=99&limit=20'],
    ['files: roots', 'files?depth=1&limit=200'],
    ['files: users', 'files?prefix=users/&depth=1&limit=200'],
    ['files: a folder', `files?prefix=${folder}&depth=1&limit=200`],
    ['files: read most', 'files?sort=reads&limit=6'],
    ['files: changed last', 'files?sort=updatedAt&limit=50'],
    ['files that contain a text', 'files?q=/7/77.md&limit=50'],
    ['files that contain what none does', 'files?q=nowhere-at-all&limit=50'],
    ['a file', `files/${file}`],
    ['revisions', 'revisions?limit=50'],
    ['revisions of a user', `revisions?userId=${userId}&limit=50`],
    ['revisions of a file', `revisions?path=${file}&limit=6`],
    ['revisions of an actor', 'revisions?actor=agent&limit=50'],
    ['revisions of an actor that has none', 'revisions?actor=dream-agent&limit=50'],
    ['accesses', 'access-logs?limit=100'],
    ['accesses of a user', `access-logs?userId=${userId}&limit=100`],
    ['accesses of a file', `access-logs?path=${file}&limit=6`],
    ['accesses nearby', `access-logs?prefix=${folder}&${day}&limit=30`],
    ['accesses that were denied', 'access-logs?outcome=denied&limit=6'],
    ['accesses that missed', 'access-logs?outcome=not_found&limit=6'],
    ['accesses of a tool', 'access-logs?tool=memory_find&limit=100'],
    ['accesses of an actor, a day', `access-logs?actor=support-agent&${day}&limit=100`],
    ['values of accesses', 'access-logs/values'],
    ['values of revisions', 'revisions/values'],
    ['audit', 'audit?limit=50'],
    ['dream users', 'dream/users?limit=50'],
    ['dream runs', 'dream/runs?limit=25'],
    ['summary, a day', `observability/summary?${day}`],
    ['activity, two weeks', `observability/activity?bucket=1d&${since(14)}`],
    ['topology, a day', `observability/topology?${day}`],
    ['top files, a day', `observability/top-files?${day}`],
    ['usage, a day', `observability/usage?${day}`],
    ['failures, a day', `observability/failures?${day}&limit=30`],
    ['events', 'observability/events?limit=50'],
  ];
}

function since(days: number): string {
  return `since=${new Date(Date.now() - days * 86_400_000).toISOString()}`;
}

async function timeAnswers(port: number, query: string, times: number): Promise<number[]> {
  const taken: number[] = [];
  // The first two warm up what any later one finds warm.
  for (let time = -2; time < times; time += 1) {
    const started = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/${query}`, {
      headers: { 'x-admin-secret': ADMIN_SECRET },
    });
    const body = await answer.text();
    if (!answer.ok) throw new Error(`${query} answered ${answer.status}: ${body.slice(0, 200)}`);
    if (time >= 0) taken.push(performance.now() - started);
  }
  return taken;
}

/** Looks at an address of the console as often as there are rounds. */
type Repeat = <Result>(
  address: string,
  look: (browser: Browser, url: string) => Promise<Result>,
) => Promise<Result[]>;

async function measureInBrowser(bench: Bench, opened: Opened, set: ConsoleSet): Promise<void> {
  const executablePath = findChromium();
  if (executablePath === null) {
    bench.report.problem('There is no Chromium: npm test finds or installs one.');
    return;
  }
  const { party } = opened;
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const repeat: Repeat = async (address, look) => {
    const url = `http://127.0.0.1:${port}/admin${address}`;
    const results = [];
    for (let round = 0; round < bench.rounds; round += 1) {
      results.push(await party.use(() => look(browser, url)));
    }
    return results;
  };
  try {
    const longRevision = await party.use(() => writeLongFile(port));
    await measureViews(bench, viewsOf(set, longRevision), { set, repeat });
    await measureScrolling(bench, set, repeat);
    await measureLive(bench, repeat);
  } finally {
    await browser.close();
  }
}

/** A file of many lines, half of them changed by its second version; returns the revision of that. */
async function writeLongFile(port: number): Promise<string> {
  let revisionId = '';
  for (const word of ['tea', 'coffee']) {
    const lines = Array.from(
      { length: LONG_LINES },
      (_, n) => `- Note ${n}: likes ${n % 2 === 0 ? word : 'jazz'}\n`,
    );
    const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/files/${LONG_PATH}`, {
      method: 'PUT',
      headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
      body: JSON.stringify({ content: lines.join('') }),
    });
    if (!answer.ok) throw new Error(`The long file: ${await answer.text()}`);
    ({ revisionId } = (await answer.json()) as { revisionId: string });
  }
  return revisionId;
}

/** A view: its address, and the selectors of what it shows when its data is there. */
type View = [title: string, path: string, shown: readonly string[]];

function viewsOf(set: ConsoleSet, longRevision: string): View[] {
  const { userId, path } = fileAt(1_234, set);
  const week = new Date(Date.now() - 7 * 86_400_000).toISOString();
  return [
    ['overview', '/', ['[aria-label="Latest revisions"] li', '[aria-label="Most read files"] li']],
    ['files', '/files', ['[aria-label="Latest changes"] li', '[role=treeitem]']],
    ['files, a deep link', `/files?path=users/${userId}/${path}`, ['[aria-label=Source] li']],
    ['a long file', `/files?path=${LONG_PATH}`, ['[aria-label=Source] li']],
    ['a long file, blamed', `/files?path=${LONG_PATH}&as=blame`, ['[aria-label=Source] li']],
    ['a long diff', `/revisions?id=${longRevision}&lines=all`, ['[aria-label^=Diff] tr']],
    ['search', '/search?q=jazz', ['[aria-label="Files with the words"] li']],
    ['users', '/users', ['[data-row]']],
    ['a user', `/users?user=${userId}`, ['[role=dialog]']],
    ['spaces', '/spaces', ['text=No spaces yet']],
    ['revisions', '/revisions', ['[data-row]']],
    ['compare', `/compare?userId=${userId}&from=${week}`, ['[aria-label="Changed files"]']],
    ['activity', '/activity', ['[data-row]']],
    ['observability', '/observability', ['canvas', '[aria-label="Top files"] td']],
    ['observability, a month', '/observability?since=30d', ['canvas']],
    ['usage', '/usage', ['[aria-label="By user and space"] td']],
    ['playground', '/playground', ['[aria-label=Tools] button']],
    ['dreams', '/dreams', ['[aria-label="Table of runs"] td']],
    ['dreams, runs', '/dreams?tab=runs', ['[aria-label="Table of runs"] td']],
    ['dreams, users', '/dreams?tab=users', ['[aria-label="Table of users"] td']],
    ['checks', '/checks', ['text=No checks yet']],
    ['audit', '/audit', ['[data-row]']],
    ['access', '/access', ['text=No named keys yet']],
    ['configuration', '/configuration', ['[aria-label=Access]']],
  ];
}

async function measureViews(
  { report }: Bench,
  views: readonly View[],
  { set, repeat }: { set: ConsoleSet; repeat: Repeat },
): Promise<void> {
  report.row('Each view in Chromium with an empty cache, medians', []);
  report.note(`  ${''.padEnd(22)}  shown s   LCP ms  task ms     CLS       KB`);
  const measured: Screen[][] = [];
  for (const [title, address, shown] of views) {
    const screens = await repeat(address, (browser, url) => openScreen(browser, { url, shown }));
    measured.push(screens);
    const of = (key: keyof Screen) => toSpread(screens.map((screen) => screen[key])).median;
    const [paint, task, shift] = [of('paintMs'), of('taskMs'), of('shift')];
    const cells = [
      (of('shownMs') / 1_000).toFixed(2).padStart(8),
      paint.toFixed(0).padStart(7),
      task.toFixed(0).padStart(7),
      shift.toFixed(3).padStart(7),
      (of('transferred') / 1_024).toFixed(0).padStart(7),
      isWithin('console-paint', paint) &&
      isWithin('console-task', task) &&
      isWithin('console-shift', shift)
        ? ''
        : 'NOT REACHED',
    ];
    report.note(`  ${title.padEnd(22)} ${cells.join('  ')}`);
  }
  const transfers = (measured[0] ?? []).map(({ transferred }) => transferred / 1_024);
  report.row('The first screen: the overview', []);
  report.figure('console-transfer', toSpread(transfers));
  report.row('The longest task of a view, by their medians', []);
  report.figure('console-task', worst(measured.map((screens) => screens.map((one) => one.taskMs))));
  if (set.files < WHOLE.files) return;
  report.figure('console-screen', toSpread((measured[0] ?? []).map((one) => one.shownMs / 1_000)));
  report.row('The slowest and the least steady view, by their medians', []);
  const allOf = (key: keyof Screen) => measured.map((screens) => screens.map((one) => one[key]));
  report.figure('console-paint', worst(allOf('paintMs')));
  report.figure('console-shift', worst(allOf('shift')));
}

function isWithin(figure: FigureId, value: number): boolean {
  return value <= FIGURES[figure].value;
}

/** The spread with the greatest median. */
function worst(measured: readonly (readonly number[])[]) {
  const spreads = measured.map((values) => toSpread(values));
  return spreads.reduce((most, one) => (one.median > most.median ? one : most));
}

async function measureScrolling({ report }: Bench, set: ConsoleSet, repeat: Repeat): Promise<void> {
  const { userId, path } = largeFileAt(set.largest - 1);
  const folder = `users/${userId}/${path.slice(0, path.lastIndexOf('/') + 1)}`;
  const lists = [
    {
      title: `${set.largest.toLocaleString('en-US')} files`,
      path: `/files?folder=${folder}`,
      list: '[role=tree]',
      last: path.slice(path.lastIndexOf('/') + 1),
    },
    {
      title: `${set.users.toLocaleString('en-US')} users`,
      path: '/users?sort=userId&order=asc',
      list: '[aria-label="List of users"]',
      more: 'Show more',
      last: userId,
    },
  ];
  report.row('Scrolling to the end of a list, its longest frame', []);
  const longest: number[][] = [];
  for (const { title, path: address, ...rest } of lists) {
    const frames = await repeat(address, (browser, url) =>
      scrollThrough(browser, { url, ...rest }),
    );
    longest.push(frames);
    const { median, min, max } = toSpread(frames);
    const verdict = isWithin('console-frame', median) ? '' : '   NOT REACHED';
    report.note(
      `  ${title.padEnd(20)} ${median.toFixed(0)} ms (${min.toFixed(0)}–${max.toFixed(0)})${verdict}`,
    );
  }
  if (set.largest < WHOLE.largest) return;
  report.figure('console-frame', worst(longest));
}

/** Live events at the pace of a busy service. */
async function measureLive({ report }: Bench, repeat: Repeat): Promise<void> {
  const seen = await repeat('/observability', (browser, url) =>
    watchEvents(browser, { url, ...LIVE }),
  );
  report.row(`Live events, ${LIVE.seconds} s of ${LIVE.aSecond} a second`, []);
  report.figure('console-live', toSpread(seen));
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
