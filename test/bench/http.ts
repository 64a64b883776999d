import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Bench,
  CALLERS,
  type Entrant,
  type Opened,
  prepared,
  type Suite,
} from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';
import { toRate } from './support/report.ts';
import {
  fillRequest,
  readFilesBehind,
  readRequest,
  startService,
  writeRequest,
} from './support/service.ts';
import { toSpread } from './support/statistics.ts';

/** The read and the write over HTTP beside the limits of their parts. */
export const suite: Suite = {
  about: 'read and write over HTTP, 32 callers, beside the limits of HTTP and SQLite',
  isCore: true,
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 100 } : { users: 100, notes: 100 };
    bench.report.note(
      `${set.users} users with ${set.notes} notes of about 500 bytes, ${CALLERS} connections; ` +
        'SQLite with WAL and synchronous=FULL; access log and traces on.',
    );
    await compareFloors(bench);

    const service = await startService(
      bench,
      'memory-service',
      await bench.makeDirectory('service'),
    );
    await bench.fill(service, fillRequest(set));
    await catchUp(bench, service);
    const peer = await bench.open('server-memory', 'contestants/server-memory.ts', { set });
    await compareReads(bench, set, service, peer);
    await compareWrites(bench, set, service, peer);
    await sustainWrites(bench, set, service);
  },
};

const FLOORS = {
  'node-hello': 'node:http hello',
  'koa-hello': 'Koa hello',
  'node-ajv': 'POST + Ajv on node:http',
  'koa-ajv': 'Koa + router + body + Ajv',
} as const;

async function compareFloors(bench: Bench): Promise<void> {
  const request = readRequest({ users: 100, notes: 1 });
  const entrants: Entrant[] = [];
  for (const [variant, name] of Object.entries(FLOORS)) {
    const opened = await bench.open(name, 'limits/floor.ts', { variant });
    const isHello = variant.endsWith('hello');
    entrants.push(
      bench.asked('limit', opened, {
        ...request,
        method: isHello ? 'GET' : 'POST',
        expect: isHello ? 'hello' : '"path"',
      }),
    );
  }
  const ratios = Object.values(FLOORS)
    .slice(1)
    .map((of) => ({ of, to: FLOORS['node-hello'] }));
  await bench.compare({ title: 'HTTP alone', entrants, ratios, isBrief: true });
}

async function compareReads(
  bench: Bench,
  set: NoteSet,
  service: Opened,
  peer: Opened,
): Promise<void> {
  const request = readRequest(set);
  const limit = await bench.open('Koa + Ajv + prepared read × 4', 'limits/koa-read.ts', { set });
  const naive = await bench.open('Koa + Knex, logged in the call', 'limits/knex-naive.ts', { set });
  await bench.compare({
    title: 'Read over HTTP',
    entrants: [
      bench.asked('limit', limit, request),
      bench.asked('service', service, request),
      bench.asked('peer', naive, request),
      bench.called('peer', peer, 'read', 1),
    ],
    ratios: [
      { of: service.name, to: limit.name, figure: 'http-read-limit' },
      { of: service.name, to: naive.name },
      { of: service.name, to: peer.name, figure: 'http-read-peer' },
    ],
    figures: [
      { of: service.name, figure: 'loop-delay', value: ({ loopDelay }) => loopDelay?.p99 ?? NaN },
    ],
  });
}

async function compareWrites(
  bench: Bench,
  set: NoteSet,
  service: Opened,
  peer: Opened,
): Promise<void> {
  const request = writeRequest(set);
  const limit = await bench.open('Koa + Ajv + group commit', 'limits/koa-write.ts', { set });
  const naive = await bench.open('Koa + Knex + FTS5', 'limits/knex-naive.ts', { set });
  bench.report.note('Each turn of the service begins with its index caught up.');
  await bench.compare({
    title: 'Write over HTTP',
    entrants: [
      bench.asked('limit', limit, request),
      // The indexer's patience runs out while the service is stopped, and it would index in this turn
      // at full speed what the last one left.
      prepared(bench.asked('service', service, request), () => catchUp(bench, service)),
      bench.asked('peer', naive, request),
      bench.called('peer', peer, 'write', 1),
    ],
    ratios: [
      { of: service.name, to: limit.name },
      { of: service.name, to: naive.name },
      { of: service.name, to: peer.name, figure: 'http-write-peer' },
    ],
    figures: [
      { of: service.name, figure: 'loop-delay', value: ({ loopDelay }) => loopDelay?.p99 ?? NaN },
    ],
  });
}

const BURST_SECONDS = 10;
const SUSTAINED_SECONDS = 30;
const CATCH_UP_SECONDS = 30;
const POLL_MS = 250;

async function sustainWrites(bench: Bench, set: NoteSet, service: Opened): Promise<void> {
  const { party, name, leftOut } = service;
  if (party === null) return;
  const request = writeRequest(set);
  const seconds = (full: number): number => (bench.isQuick ? 2 : full);
  await catchUp(bench, service);

  const burst = await bench.ask(service, request, seconds(BURST_SECONDS));
  bench.report.row(`Write burst, ${seconds(BURST_SECONDS)} s`, [
    { name, role: 'service', leftOut, turns: [burst] },
  ]);
  bench.report.figure('http-write-burst', toRateSpread(burst), burst.failed);
  await catchUp(bench, service);

  // While it catches up the service runs, and the time that it takes counts.
  await party.use(async () => {
    const sustained = await bench.ask(service, request, seconds(SUSTAINED_SECONDS));
    const behind = await readFilesBehind(service);
    const { left, tookSeconds } = await catchUp(bench, service);
    bench.report.row(`Writes sustained for ${seconds(SUSTAINED_SECONDS)} s`, [
      { name, role: 'service', leftOut, turns: [sustained] },
    ]);
    bench.report.note(
      `  index: ${behind} files behind at the end` +
        (left === 0 ? `, none ${tookSeconds.toFixed(1)} s later` : `, and it does not catch up`),
    );
    // A write counts once it is in the index too.
    const kept = Math.max(0, sustained.operations - left);
    const rate = kept / (sustained.seconds + (left === 0 ? tookSeconds : 0));
    bench.report.figure('http-write-sustained', toSpread([rate]), sustained.failed);
  });
}

/** Waits until no file's index is behind, or it stays so. */
async function catchUp(
  bench: Bench,
  service: Opened,
): Promise<{ left: number; tookSeconds: number }> {
  const { party } = service;
  if (party === null) return { left: 0, tookSeconds: 0 };
  return party.use(async () => {
    const start = performance.now();
    const elapsed = (): number => (performance.now() - start) / 1_000;
    let left = await readFilesBehind(service);
    let least = left;
    let progressAt = 0;
    while (left > 0 && elapsed() < (bench.isQuick ? 5 : CATCH_UP_SECONDS)) {
      // Nothing of it done for three seconds: nobody is doing it.
      if (elapsed() - progressAt > 3) break;
      await sleep(POLL_MS);
      left = await readFilesBehind(service);
      if (left < least) {
        least = left;
        progressAt = elapsed();
      }
    }
    return { left, tookSeconds: elapsed() };
  });
}

function toRateSpread(turn: Parameters<typeof toRate>[0]): ReturnType<typeof toSpread> {
  const { min, max } = toSpread(turn.perSecond.length > 0 ? turn.perSecond : [toRate(turn)]);
  return { median: toRate(turn), min, max };
}
