import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Opened, Suite } from './support/bench.ts';
import { listPlaces, type NoteSet, pickQuery } from './support/notes.ts';
import {
  fillRequest,
  readRequest,
  startService,
  toolRequest,
  writeRequest,
} from './support/service.ts';
import { toSpread } from './support/statistics.ts';

const DOCUMENTS = 500_000;
const USERS = 1_000;
const STARTS = 5;
const CHUNK = 20_000;
const ACTIVE_SECONDS = 60;
const SAMPLES = 20;

/** What the process holds while many users are active on a large store, and how soon it is up. */
export const suite: Suite = {
  about: 'memory with 500,000 documents and 1,000 active users, and the cold start (long)',
  options: { documents: `documents in all (default ${DOCUMENTS.toLocaleString('en-US')})` },
  async run(bench) {
    const documents = Number(bench.options['documents'] ?? (bench.isQuick ? 5_000 : DOCUMENTS));
    if (!Number.isInteger(documents) || documents < USERS) {
      throw new Error(`--documents takes a whole number from ${USERS}.`);
    }
    if (documents < DOCUMENTS) {
      bench.report.note(
        'Fewer documents than the figure is for: this says what it takes at least.',
      );
    }
    const set: NoteSet = { users: USERS, notes: Math.floor(documents / USERS) };
    const directory = await bench.makeDirectory('service');
    const first = await startService(bench, 'memory-service', directory);
    await fill(bench, first, set);
    await first.party?.close();
    const service = await startRepeatedly(bench, directory);
    await watchResident(bench, service, set);
  },
};

async function fill(bench: Bench, service: Opened, set: NoteSet): Promise<void> {
  const started = performance.now();
  const documents = set.users * set.notes;
  for (let start = 0; start < documents; start += CHUNK) {
    const end = Math.min(documents, start + CHUNK);
    await bench.fill(service, fillRequest(set, { start, end }));
    process.stderr.write(
      `  filled ${end.toLocaleString('en-US')} of ${documents.toLocaleString('en-US')}\n`,
    );
  }
  const seconds = (performance.now() - started) / 1_000;
  bench.report.note(
    `${documents.toLocaleString('en-US')} documents of ${set.users} users, ` +
      `written in ${seconds.toFixed(0)} s.`,
  );
}

/** Leaves the last one running. */
async function startRepeatedly(bench: Bench, directory: string): Promise<Opened> {
  const times: number[] = [];
  let service = await startService(bench, 'memory-service', directory);
  for (let start = 0; start < (bench.isQuick ? 1 : STARTS); start += 1) {
    await service.party?.close();
    service = await startService(bench, 'memory-service', directory);
    times.push(service.startedMs / 1_000);
  }
  bench.report.row('Start of the command, until it names its address', []);
  bench.report.figure('start-cold', toSpread(times));
  return service;
}

/** Every user reads, writes and, where there is a search, searches; the process is asked meanwhile. */
async function watchResident(bench: Bench, service: Opened, set: NoteSet): Promise<void> {
  const { party, name } = service;
  if (party === null) return;
  const seconds = (bench.isQuick ? 3 : ACTIVE_SECONDS) / 3;
  const samples: number[] = [];
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      samples.push((await party.resident()) / 2 ** 20);
      await sleep((seconds * 3 * 1_000) / SAMPLES);
    }
  })();
  const queries = listPlaces({ users: set.users, notes: 10 }).map(({ userId }, n) =>
    JSON.stringify({ context: { userId }, arguments: { query: pickQuery(n) } }),
  );
  const active = { users: set.users, notes: Math.min(set.notes, 20) };
  const phases = [
    ['reads', readRequest(active)],
    ['writes', writeRequest(active)],
    ...((await canFind(service))
      ? ([['searches', toolRequest('memory_find', queries, '"results"')]] as const)
      : []),
  ] as const;
  let failed = 0;
  for (const [phase, request] of phases) {
    const turn = await bench.ask(service, request, seconds);
    failed += turn.failed;
    bench.report.row(`${phase} of ${set.users} users`, [
      { name, role: 'service', leftOut: null, turns: [turn] },
    ]);
  }
  isOver = true;
  await sampling;
  bench.report.row('Resident memory of the process', []);
  // The most that it took, not the median: that is what has to be there.
  const { min, max } = toSpread(samples);
  bench.report.figure('memory-resident', { median: max, min, max }, failed);
}

async function canFind(service: Opened): Promise<boolean> {
  const { party } = service;
  if (party === null) return false;
  const { headers } = toolRequest('memory_find', [], '');
  const answer = await party.use(() =>
    fetch(`http://127.0.0.1:${party.port}/v1/tools`, { headers }),
  );
  const { tools } = (await answer.json()) as { tools: { name: string; available: boolean }[] };
  return tools.some(({ name, available }) => name === 'memory_find' && available);
}
