// The process of one contestant: opens it, runs its operations and says what it counted.

import { createHistogram } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import type {
  Contestant,
  ContestantOptions,
  HostAnswers,
  HostRequest,
  OpenContestant,
  Turn,
} from './contestant.ts';
import { watchLoopDelay } from './loop-delay.cjs';

/** A contestant that does no I/O would never let the loop turn, and its timers never fire. */
const YIELD_MS = 5;

let contestant: Contestant | null = null;
let watch: ReturnType<typeof watchLoopDelay> | null = null;
let n = 0;

const handlers: {
  [Kind in HostRequest['kind']]: (
    request: Extract<HostRequest, { kind: Kind }>,
  ) => Promise<HostAnswers[Kind]>;
} = {
  async open({ module, options }) {
    const { open } = (await import(pathToFileURL(module).href)) as {
      open: OpenContestant<ContestantOptions>;
    };
    contestant = await open(options);
    return {
      port: contestant.port ?? null,
      operations: Object.keys(contestant.operations ?? {}),
      facts: contestant.facts ?? {},
    };
  },
  async run(request) {
    const operation = contestant?.operations?.[request.operation];
    if (operation === undefined) throw new Error(`There is no operation ${request.operation}.`);
    return runTurn(operation, request);
  },
  async watch() {
    watch?.stop();
    watch = watchLoopDelay();
    return null;
  },
  async watched() {
    const delay = watch?.stop() ?? { p50: 0, p99: 0, max: 0 };
    watch = null;
    return delay;
  },
  async close() {
    await contestant?.close();
    return null;
  },
};

process.on('message', (message: { id: number; request: HostRequest }) => {
  const { id, request } = message;
  const handle = handlers[request.kind] as (request: HostRequest) => Promise<unknown>;
  handle(request).then(
    (answer) => process.send?.({ id, answer }),
    (error: unknown) => process.send?.({ id, error: describe(error) }),
  );
});
process.on('disconnect', () => process.exit());

async function runTurn(
  operation: (n: number) => unknown,
  { callers, seconds, count }: { callers: number; seconds: number; count: number | null },
): Promise<Turn> {
  const histogram = createHistogram({ highest: 60e9, figures: 3 });
  const perSecond: number[] = [];
  let operations = 0;
  let failed = 0;
  let failure: string | null = null;
  let left = count ?? Infinity;
  const delay = watchLoopDelay();
  const start = performance.now();
  // What is counted is done, however long it takes.
  const end = count === null ? start + seconds * 1_000 : Infinity;
  let yieldedAt = start;
  let now = start;

  // One promise for all callers: with one each, Node would let each of them go on in turn before
  // the loop gets to its timers.
  let yielding: Promise<void> | null = null;
  function yieldToLoop(): Promise<void> {
    yielding ??= new Promise((resolve) => {
      setImmediate(() => {
        yielding = null;
        yieldedAt = performance.now();
        resolve();
      });
    });
    return yielding;
  }

  async function call(): Promise<void> {
    while (now < end && left > 0) {
      left -= 1;
      const startedAt = performance.now();
      try {
        await operation(n++);
        operations += 1;
      } catch (error) {
        failed += 1;
        failure ??= describe(error);
      }
      now = performance.now();
      histogram.record(Math.max(1, Math.round((now - startedAt) * 1e6)));
      const second = Math.floor((now - start) / 1_000);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
      if (now - yieldedAt > YIELD_MS) await yieldToLoop();
    }
  }
  await Promise.all(Array.from({ length: callers }, call));
  await contestant?.finish?.();

  const took = (performance.now() - start) / 1_000;
  return {
    operations,
    failed,
    failure,
    seconds: took,
    latency: { p50: histogram.percentile(50) / 1e6, p99: histogram.percentile(99) / 1e6 },
    loopDelay: delay.stop(),
    perSecond: toWholeSeconds(perSecond, took),
  };
}

function toWholeSeconds(counts: readonly number[], seconds: number): number[] {
  return Array.from({ length: Math.floor(seconds) }, (_, second) => counts[second] ?? 0);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
