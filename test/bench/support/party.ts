import { type ChildProcess, fork, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostAnswers, HostRequest, Turn } from './contestant.ts';
import type { Load } from './load.ts';

type LoopDelay = HostAnswers['watched'];

/** What an event loop did at one go: time of its thread on a processor, by the clock, and of that GC. */
export interface Stall {
  cpuMs: number;
  wallMs: number;
  gcMs: number;
}

const HERE = import.meta.dirname;
const TYPESCRIPT = path.join(HERE, 'typescript.mjs');
const LOOP_DELAY = path.join(HERE, 'loop-delay.cjs');
const STDERR_KEPT = 4_000;
const CLOSE_MS = 20_000;

/** All processes of this run: none of them outlives it. */
const processes = new Set<ChildProcess>();

/** Ends every process at once, frozen ones too. */
export function killAll(): void {
  for (const child of processes) child.kill('SIGKILL');
}

/**
 * A process that is measured. It stands still but while it is asked, so that what it does in the
 * background is done in its own turns and disturbs nobody else's.
 */
export interface Party {
  readonly port: number | null;
  readonly operations: readonly string[];
  readonly facts: Record<string, string | number>;
  /** Lets it run while `work` is under way. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** Runs one of its operations in its own process. */
  run(request: {
    operation: string;
    callers: number;
    seconds: number;
    /** Operations in all, in any time. */
    count?: number;
  }): Promise<Turn>;
  /** Runs `work` and watches this process's event loop meanwhile. */
  watch<T>(work: () => Promise<T>): Promise<{ result: T; loopDelay: LoopDelay }>;
  /** Runs `work` and gives the longest stall meanwhile; of one that {@link startCommand} started. */
  watchStalls(work: () => Promise<unknown>): Promise<Stall>;
  /** Bytes of memory that the process holds; of one that {@link startCommand} started. */
  resident(): Promise<number>;
  close(): Promise<void>;
}

/** Opens a module of `contestants/` or `limits/` in a process of its own. */
export async function openContestant(
  module: string,
  options: object,
  directory: string,
): Promise<Party> {
  const child = track(
    fork(path.join(HERE, 'host.ts'), {
      execArgv: ['--import', TYPESCRIPT],
      env: toEnvironment(directory),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    }),
  );
  const file = path.resolve(HERE, '..', module);
  try {
    const opened = (await child.ask({
      kind: 'open',
      module: file,
      options: { ...options, directory },
    })) as HostAnswers['open'];
    return toParty(child, opened, async () => {
      await child.ask({ kind: 'close' });
    });
  } catch (error) {
    child.process.kill('SIGKILL');
    throw error;
  }
}

/** Starts a command that prints its address on standard output, and waits for that. */
export async function startCommand(
  file: string,
  args: readonly string[],
  options: { directory: string; environment: Record<string, string> },
): Promise<Party & { startedMs: number }> {
  const startedAt = performance.now();
  const child = track(
    spawn(process.execPath, ['--require', LOOP_DELAY, file, ...args], {
      cwd: options.directory,
      env: { ...toEnvironment(options.directory), BENCH_WATCH: '1', ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    }),
  );
  const port = await new Promise<number>((resolve, reject) => {
    let output = '';
    child.process.stdout?.on('data', (data: Buffer) => {
      output += data.toString();
      const address = /https?:\/\/[^\s:/]+:(\d+)/.exec(output)?.[1];
      if (address !== undefined) resolve(Number(address));
    });
    child.ended.then((reason) => reject(new Error(reason)), reject);
  });
  const startedMs = performance.now() - startedAt;
  const party = toParty(child, { port, operations: [], facts: {} }, async () => {
    child.process.kill('SIGTERM');
    await child.ended;
  });
  return { ...party, startedMs };
}

/** The load generator: one process for the whole run. */
export interface LoadGenerator {
  run(load: Load): Promise<Turn>;
  close(): void;
}

/** Starts the load generator. */
export function startLoadGenerator(directory: string): LoadGenerator {
  const child = track(
    fork(path.join(HERE, 'load.ts'), {
      execArgv: ['--import', TYPESCRIPT],
      env: toEnvironment(directory),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    }),
  );
  return {
    run: (load) => child.ask(load) as Promise<Turn>,
    close: () => void child.process.kill('SIGKILL'),
  };
}

interface Child {
  process: ChildProcess;
  ask(
    request: HostRequest | Load | { kind: 'resident' | 'watch-stalls' | 'stalled' },
  ): Promise<unknown>;
  /** Why it ended, once it has. */
  ended: Promise<string>;
}

function track(process: ChildProcess): Child {
  processes.add(process);
  const pending = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  let stderr = '';
  let nextId = 0;
  process.stderr?.on('data', (data: Buffer) => {
    stderr = (stderr + data.toString()).slice(-STDERR_KEPT);
  });
  process.on('message', (message: { id: number; answer?: unknown; error?: string }) => {
    const waiter = pending.get(message.id);
    pending.delete(message.id);
    if (message.error === undefined) waiter?.resolve(message.answer);
    else waiter?.reject(new Error(message.error));
  });
  const ended = new Promise<string>((resolve) => {
    process.on('error', (error) => resolve(`The process cannot be run: ${error.message}`));
    process.on('exit', (code, signal) => {
      processes.delete(process);
      resolve(`The process ended with ${signal ?? `exit code ${code}`}. ${stderr}`.trim());
    });
  });
  void ended.then((reason) => {
    for (const { reject } of pending.values()) reject(new Error(reason));
    pending.clear();
  });
  return {
    process,
    ended,
    ask: (request) =>
      new Promise((resolve, reject) => {
        const id = nextId++;
        pending.set(id, { resolve, reject });
        process.send({ id, request }, (error) => {
          if (error !== null) reject(error);
        });
      }),
  };
}

function toParty(child: Child, opened: HostAnswers['open'], end: () => Promise<void>): Party {
  let users = 0;
  // Where there are no such signals (Windows), the others simply go on in the background.
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    if (process.platform !== 'win32') child.process.kill(name);
  };
  async function use<T>(work: () => Promise<T>): Promise<T> {
    users += 1;
    if (users === 1) signal('SIGCONT');
    try {
      return await work();
    } finally {
      users -= 1;
      if (users === 0) signal('SIGSTOP');
    }
  }
  signal('SIGSTOP');
  return {
    ...opened,
    use,
    run: ({ count = null, ...request }) =>
      use(() => child.ask({ kind: 'run', count, ...request })) as Promise<Turn>,
    watch: (work) =>
      use(async () => {
        await child.ask({ kind: 'watch' });
        const result = await work();
        return { result, loopDelay: (await child.ask({ kind: 'watched' })) as LoopDelay };
      }),
    watchStalls: (work) =>
      use(async () => {
        await child.ask({ kind: 'watch-stalls' });
        await work();
        return (await child.ask({ kind: 'stalled' })) as Stall;
      }),
    resident: () => use(() => child.ask({ kind: 'resident' })) as Promise<number>,
    async close() {
      signal('SIGCONT');
      const isOver = await Promise.race([
        end().then(() => true),
        sleep(CLOSE_MS, false, { ref: false }),
      ]);
      child.process.kill('SIGKILL');
      if (!isOver) throw new Error(`A process did not close within ${CLOSE_MS / 1_000} s.`);
    },
  };
}

function toEnvironment(directory: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...environment } = process.env;
  return {
    ...environment,
    // What the service's own command sets; the same for everyone.
    UV_THREADPOOL_SIZE: '16',
    // Peers that keep files in the home directory, or that call home.
    HOME: directory,
    MEM0_TELEMETRY: 'false',
    LANGSMITH_TRACING: 'false',
    MASTRA_TELEMETRY_DISABLED: '1',
  };
}
