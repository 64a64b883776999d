import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findViolations, toLines } from './invariants.ts';
import type { KillableTarget } from './targets.ts';
import { seededRandom, type Target, Workload } from './workload.ts';

/** A database is left behind after so many kills, so that each check stays short. */
const KILLS_PER_DATABASE = 25;
/** Writers of a process. */
const WRITERS = 8;
/** Writers of a database at least: those of one wait for each other and share commits. */
const LEAST_WRITERS = 3;
/** A kill comes after at most so many acknowledgements, and so many milliseconds more. */
const MOST_WRITES = 24;
const MOST_DELAY_MS = 8;
/** What the index may take behind the last find; it takes some milliseconds. */
const INDEX_LIMIT_MS = 60_000;

export interface KillOptions {
  kills: number;
  /** An empty database for a directory: a file in it, or a URL. */
  makeDatabase(directory: string, at: number): string | Promise<string>;
  /** Starts the target on the database of a directory, and on those beside it in one process. */
  start(directory: string, database: string, beside: readonly string[]): Promise<KillableTarget>;
  /** Databases of a process: a kill of it counts for each; default 1. */
  databases?: number;
  signal?: NodeJS.Signals;
  seed?: number;
  /** Kills between two looks at the whole database; default 1. */
  checkEvery?: number;
  /** Whether the target finds, and brings its index up to date behind that. */
  isSearchable?: boolean;
  /** Stops at a problem that says so. */
  until?: RegExp;
  progress?(report: KillReport): void;
}

/** What a row of kills came to; each of a process counts as often as it has databases. */
export interface KillReport {
  kills: number;
  /** Kills at which a write was under way. */
  inFlight: number;
  acknowledged: number;
  /** Writes without an answer, and how many of them were committed all the same. */
  unanswered: number;
  committed: number;
  /** Acknowledged writes that were repeated, and gave the first answer. */
  replayed: number;
  /** How often a write was told to come again. */
  postponed: number;
  /** Exit codes that the signal led to. */
  codes: Set<number | null>;
  /** All that was lost, or there in part, and each invariant that broke. */
  problems: string[];
}

/** Starts, writes, kills, and looks at what is left: so many times. */
export async function killRepeatedly(options: KillOptions): Promise<KillReport> {
  const report: KillReport = {
    kills: 0,
    inFlight: 0,
    acknowledged: 0,
    unanswered: 0,
    committed: 0,
    replayed: 0,
    postponed: 0,
    codes: new Set(),
    problems: [],
  };
  const random = seededRandom(options.seed ?? 1);
  while (report.kills < options.kills && !isEnough(options, report)) {
    const directory = await mkdtemp(path.join(tmpdir(), 'memory-kills-'));
    try {
      await killOneDatabase(options, directory, random, report);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  return report;
}

/** One line that says what a report says, and how to have it again. */
export function summarise(report: KillReport, what: string): string {
  const { kills, inFlight, acknowledged, unanswered, committed, postponed, problems } = report;
  return (
    `${what}: ${kills} kills (${inFlight} with a write in flight), ${acknowledged} acknowledged, ` +
    `${problems.length} lost or in part; ${committed} of ${unanswered} unanswered were committed` +
    (postponed === 0 ? '' : `; ${postponed} times a write was told to come again`)
  );
}

async function killOneDatabase(
  options: KillOptions,
  directory: string,
  random: () => number,
  report: KillReport,
): Promise<void> {
  const { start, signal = 'SIGKILL', checkEvery = 1, databases: count = 1 } = options;
  const places = Array.from({ length: count }, (_, at) => at);
  const made = await Promise.all(places.map(async (at) => options.makeDatabase(directory, at)));
  const [first = '', ...others] = made;
  const workloads = places.map(() => new Workload(random));
  const all = [...made.entries()].map(([at, database]) => ({
    at,
    database,
    workload: workloads[at] as Workload,
  }));
  const kills = Math.min(KILLS_PER_DATABASE, Math.ceil((options.kills - report.kills) / count));
  const look = async (isDue: boolean) => {
    for (const { database, workload } of all) {
      const { acknowledged } = workload;
      if (isDue) report.problems.push(...toLines(await findViolations(database, { acknowledged })));
      report.problems.push(...workload.problems.splice(0));
    }
  };
  for (let kill = 0; kill <= kills; kill += 1) {
    const target = await start(directory, first, others);
    const targets: readonly Target[] = [target, ...(target.beside ?? [])];
    const each = (work: (workload: Workload, own: Target) => Promise<void>) =>
      Promise.all(all.map(({ at, workload }) => work(workload, targets[at] as Target)));
    try {
      if (kill === 0) await each((workload, own) => workload.prepare(own));
      else await look(kill % checkEvery === 0 || kill === kills);
      if (kill > 0 && !isEnough(options, report)) {
        await each((workload, own) => workload.settle(own));
      }
      if (kill === kills) {
        await look(true);
        if (options.isSearchable === true)
          report.problems.push(...(await findAndLook(target, first)));
      }
      if (kill === kills || isEnough(options, report)) break;

      const enough = total(workloads) + 1 + Math.floor(random() * MOST_WRITES);
      const writers = Math.max(LEAST_WRITERS, Math.ceil(WRITERS / count));
      const writing = each((workload, own) => workload.write(own, writers, () => false));
      const isWriting = () => workloads.every(({ inFlight }) => inFlight > 0);
      while (total(workloads) < enough && isWriting()) await sleep(1);
      await sleep(random() * MOST_DELAY_MS);
      report.kills += count;
      report.inFlight += workloads.filter(({ inFlight }) => inFlight > 0).length;
      report.codes.add(await target.end(signal));
      await writing;
    } finally {
      await target.end('SIGKILL');
    }
    options.progress?.(report);
  }
  report.acknowledged += total(workloads);
  for (const workload of workloads) {
    report.unanswered += workload.unanswered;
    report.committed += workload.committed;
    report.replayed += workload.replayed;
    report.postponed += workload.postponed;
  }
}

function total(workloads: readonly Workload[]): number {
  return workloads.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
}

/** Finds for every writer; then no file is behind for long, and the postings are right (I4). */
async function findAndLook(target: KillableTarget, database: string): Promise<string[]> {
  for (let writer = 0; writer < WRITERS; writer += 1) {
    const args = { query: 'a fact of some length' };
    const answer = await target.execute({ userId: `writer-${writer}`, tool: 'memory_find', args });
    if (answer.status !== 'acknowledged') return [`a find: ${JSON.stringify(answer)}`];
  }
  const end = performance.now() + INDEX_LIMIT_MS;
  for (;;) {
    const lines = toLines(await findViolations(database, { isIndexed: true }));
    if (!lines.some((line) => line.endsWith('are behind')) || performance.now() > end) return lines;
    await sleep(50);
  }
}

function isEnough({ until }: KillOptions, { problems }: KillReport): boolean {
  return until !== undefined && problems.some((problem) => until.test(problem));
}
