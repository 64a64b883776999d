import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Turn } from './contestant.ts';
import type { FigureId } from './figures.ts';
import type { Load } from './load.ts';
import {
  type LoadGenerator,
  openContestant,
  type Party,
  startCommand,
  startLoadGenerator,
} from './party.ts';
import { type Report, type Role, toRate } from './report.ts';
import { toSpread } from './statistics.ts';

/**
 * A suite: `export const suite: Suite` in a file right under `test/bench/`, whose name is what it is
 * called by. Importing it measures nothing.
 */
export interface Suite {
  /** One line for the help. */
  about: string;
  /** Part of `npm run bench` without names. */
  isCore?: boolean;
  /** Compares the service with nothing, so nothing else has to be installed. */
  isAlone?: boolean;
  /** Options of its own, each with one line for the help: `{ data: 'queries to ask, JSON lines' }`. */
  options?: Record<string, string>;
  /** The same for those without a value: one that is given is `yes` among the options. */
  switches?: Record<string, string>;
  run(bench: Bench): Promise<void>;
}

/** One that takes part in a row. */
export interface Entrant {
  name: string;
  role: Role;
  /** `null`, and why, when it could not be opened. */
  turn: ((seconds: number) => Promise<Turn>) | null;
  leftOut?: string;
}

/** The same entrant with something to do before each turn, which is not measured. */
export function prepared(entrant: Entrant, prepare: () => Promise<unknown>): Entrant {
  const { turn } = entrant;
  if (turn === null) return entrant;
  return {
    ...entrant,
    async turn(seconds) {
      await prepare();
      return await turn(seconds);
    },
  };
}

/**
 * The service with its index caught up before each turn. A turn is a burst, as over HTTP. The clock by
 * which the indexer loses its patience goes on while a contestant is stopped.
 */
export function caughtUp(entrant: Entrant, { party }: Opened): Entrant {
  if (party === null) return entrant;
  return prepared(entrant, () =>
    party.run({ operation: 'settle', callers: 1, seconds: 0, count: 1 }),
  );
}

export interface Row {
  title: string;
  entrants: readonly Entrant[];
  /** The rate of one to the rate of another, by their names. */
  ratios?: readonly { of: string; to: string; figure?: FigureId }[];
  /** A figure that one entrant's own numbers are held against. */
  figures?: readonly { of: string; figure: FigureId; value: (turn: Turn) => number }[];
  /** For context alone: fewer and shorter turns. */
  isBrief?: boolean;
}

/** A request over HTTP, as {@link Bench.ask} repeats it. */
export type Request = Omit<Load, 'port' | 'seconds' | 'once' | 'connections'> & {
  connections?: number;
};

export interface Opened {
  name: string;
  party: Party | null;
  leftOut: string;
}

/** What a suite works with. */
export interface Bench {
  readonly report: Report;
  readonly options: Readonly<Record<string, string | undefined>>;
  /** Seconds of a turn, and turns of each entrant in a row. */
  readonly seconds: number;
  readonly rounds: number;
  /** `--quick`: everything is to run once, shortly, to see that it works. */
  readonly isQuick: boolean;
  /** An empty directory, removed at the end of the suite. */
  makeDirectory(name: string): Promise<string>;
  /** Opens a module of `contestants/` or `limits/` in a process of its own. */
  open(name: string, module: string, options?: object): Promise<Opened>;
  /** Starts a command that prints its address. */
  start(
    name: string,
    file: string,
    args: readonly string[],
    options: { directory: string; environment: Record<string, string> },
  ): Promise<Opened & { startedMs: number }>;
  /** Sends `request` for that long, and watches the server's event loop meanwhile. */
  ask(opened: Opened, request: Request, seconds: number): Promise<Turn>;
  /** Sends each body of `request` once; throws when one is refused. */
  fill(opened: Opened, request: Request): Promise<void>;
  /** An entrant that is asked over HTTP. */
  asked(role: Role, opened: Opened, request: Request): Entrant;
  /** An entrant whose operation is called in its own process, by so many callers at once. */
  called(role: Role, opened: Opened, operation: string, callers: number): Entrant;
  /** Measures the entrants in turns, one after the other, round by round, and prints the row. */
  compare(row: Row): Promise<Map<string, readonly Turn[]>>;
}

/** Every caller of the service's own figures. */
export const CALLERS = 32;

const PAUSE_MS = 100;
const WARM_UP_SECONDS = 1;
const BRIEF = { rounds: 3, seconds: 1 };

/** Makes what a suite works with; `close` ends its processes and removes its directories. */
export function createBench(settings: {
  report: Report;
  options: Record<string, string | undefined>;
  directory: string;
  seconds: number;
  rounds: number;
  isQuick: boolean;
}): Bench & { close(): Promise<void> } {
  const { report, directory } = settings;
  const parties: { name: string; party: Party }[] = [];
  let load: LoadGenerator | null = null;
  let directories = 0;

  async function makeDirectory(name: string): Promise<string> {
    directories += 1;
    const own = path.join(directory, `${directories}-${name.replaceAll(/\W+/g, '-')}`);
    await mkdir(own, { recursive: true });
    return own;
  }

  async function attempt<T extends Party>(
    name: string,
    open: () => Promise<T>,
  ): Promise<T | string> {
    try {
      const party = await open();
      parties.push({ name, party });
      return party;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      report.problem(`${name} could not be opened: ${reason}`);
      return reason.split('\n')[0] ?? reason;
    }
  }

  function send(opened: Opened, request: Request, more: { seconds: number; once: boolean }) {
    const { party } = opened;
    if (party === null) throw new Error(`${opened.name} is not open.`);
    if (party.port === null) throw new Error(`${opened.name} has no port.`);
    load ??= startLoadGenerator(directory);
    const { connections = CALLERS, ...rest } = request;
    return load.run({ ...rest, ...more, connections, port: party.port });
  }

  async function ask(opened: Opened, request: Request, seconds: number): Promise<Turn> {
    if (opened.party === null) throw new Error(`${opened.name} is not open.`);
    const { result, loopDelay } = await opened.party.watch(() =>
      send(opened, request, { seconds, once: false }),
    );
    return { ...result, loopDelay };
  }

  async function measure(row: Row): Promise<Map<string, Turn[]>> {
    const rounds = Math.min(settings.rounds, row.isBrief ? BRIEF.rounds : Infinity);
    const seconds = Math.min(settings.seconds, row.isBrief ? BRIEF.seconds : Infinity);
    const turns = new Map<string, Turn[]>(row.entrants.map(({ name }) => [name, []]));
    const ready = row.entrants.filter(({ turn }) => turn !== null);
    for (const { turn } of ready) await turn?.(Math.min(seconds, WARM_UP_SECONDS));
    for (let round = 0; round < rounds; round += 1) {
      // Another one begins each round: nobody is always the one after the slowest.
      for (let place = 0; place < ready.length; place += 1) {
        const entrant = ready[(round + place) % ready.length];
        const turn = await entrant?.turn?.(seconds);
        if (entrant !== undefined && turn !== undefined) turns.get(entrant.name)?.push(turn);
        await sleep(PAUSE_MS);
      }
    }
    return turns;
  }

  return {
    ...settings,
    makeDirectory,
    ask,
    async open(name, module, options = {}) {
      const own = await makeDirectory(name);
      const opened = await attempt(name, () => openContestant(module, options, own));
      return typeof opened === 'string'
        ? { name, party: null, leftOut: opened }
        : { name, party: opened, leftOut: '' };
    },
    async start(name, file, args, options) {
      const started = await attempt(name, () => startCommand(file, args, options));
      return typeof started === 'string'
        ? { name, party: null, leftOut: started, startedMs: 0 }
        : { name, party: started, leftOut: '', startedMs: started.startedMs };
    },
    async fill(opened, request) {
      if (opened.party === null) return;
      const turn = await opened.party.use(() => send(opened, request, { seconds: 0, once: true }));
      if (turn.failed > 0) {
        throw new Error(`${opened.name} refused ${turn.failed} requests: ${turn.failure ?? ''}`);
      }
    },
    asked: (role, opened, request) => ({
      name: opened.name,
      role,
      leftOut: opened.leftOut,
      turn: opened.party === null ? null : (seconds) => ask(opened, request, seconds),
    }),
    called(role, opened, operation, callers) {
      const { name, party, leftOut } = opened;
      if (party === null) return { name, role, leftOut, turn: null };
      if (!party.operations.includes(operation)) {
        return { name, role, leftOut: `it has no ${operation}`, turn: null };
      }
      return { name, role, turn: (seconds) => party.run({ operation, callers, seconds }) };
    },
    async compare(row) {
      const turns = await measure(row);
      const failedOf = (...names: string[]): number =>
        names.flatMap((name) => turns.get(name) ?? []).reduce((sum, { failed }) => sum + failed, 0);
      report.row(
        row.title,
        row.entrants.map(({ name, role, leftOut = '' }) => ({
          name,
          role,
          leftOut,
          turns: turns.get(name) ?? [],
        })),
      );
      for (const { of, to, figure } of row.ratios ?? []) {
        const [above, below] = [turns.get(of) ?? [], turns.get(to) ?? []];
        const ratios = above.flatMap((turn, round) => {
          const other = below[round];
          return other === undefined || other.operations === 0
            ? []
            : [toRate(turn) / toRate(other)];
        });
        if (ratios.length === 0) continue;
        report.ratio(`${of} / ${to}`, toSpread(ratios), figure ?? null, failedOf(of, to));
      }
      for (const { of, figure, value } of row.figures ?? []) {
        const values = (turns.get(of) ?? []).map(value);
        if (values.length > 0) report.figure(figure, toSpread(values), failedOf(of));
      }
      return turns;
    },
    async close() {
      load?.close();
      for (const { name, party } of parties) {
        try {
          await party.close();
        } catch (error) {
          report.problem(`${name} did not close: ${String(error)}`);
        }
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}
