import { toMemoryError } from '../../core/errors.ts';
import { createTick, type TickParts, type TickReport } from './tick.ts';

/** How often the settings are read, so that a shortened interval counts soon. */
const LOOK_MS = 15_000;
/** The share by which intervals differ, so that instances started together do not tick together. */
const JITTER = 0.1;
const FIRST_MS = 60_000;

/** Begins runs of the users that are due, at every tick. */
export interface Scheduler {
  start(): void;
  /** Ticks now, and resolves when all its runs have ended. One tick at a time. */
  tick(): Promise<TickReport>;
  isStarted(): boolean;
  stop(): Promise<void>;
}

/** Makes a scheduler; nothing runs before `start`. */
export function createScheduler(parts: Omit<TickParts, 'isStopping'>): Scheduler {
  const { host, settings } = parts;
  let timer: NodeJS.Timeout | null = null;
  let isStarted = false;
  let isStopping = false;
  let ticking: Promise<TickReport> | null = null;
  let dueAt = 0;
  let nextInterval = 0;
  const runTick = createTick({ ...parts, isStopping: () => isStopping });

  async function look(): Promise<void> {
    if (host.now() < dueAt) return;
    const { dream_interval_minutes: minutes } = await settings.read();
    dueAt = host.now() + minutes * 60_000 * (1 - JITTER + 2 * JITTER * Math.random());
    nextInterval = minutes;
    await tick();
  }

  /** Moves the next tick forward if the interval was shortened since the last one. */
  async function adjust(): Promise<void> {
    const { dream_interval_minutes: minutes } = await settings.read();
    if (minutes >= nextInterval) return;
    dueAt = Math.min(dueAt, host.now() + minutes * 60_000);
    nextInterval = minutes;
  }

  function schedule(delay: number): void {
    if (isStopping) return;
    timer = setTimeout(() => {
      adjust()
        .then(look)
        .catch((error: unknown) => {
          host.log.warn({ code: toMemoryError(error).code }, 'a dream tick failed');
        })
        .finally(() => schedule(LOOK_MS));
    }, delay);
    timer.unref();
  }

  function tick(): Promise<TickReport> {
    ticking ??= runTick().finally(() => {
      ticking = null;
    });
    return ticking;
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      dueAt = host.now();
      schedule(FIRST_MS * (0.5 + Math.random() / 2));
    },
    tick,
    isStarted: () => isStarted,
    async stop() {
      isStopping = true;
      if (timer !== null) clearTimeout(timer);
      await ticking?.catch(() => undefined);
    },
  };
}
