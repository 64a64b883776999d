import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { isHoldLost, isStalled, MAX_HOLDS, STALLED_MS } from './hold.ts';

/** Work of one kind that holds the memory of a user, and goes on after a crash. */
export interface HeldWork {
  /** The holds of this kind, of all instances. */
  list(): Promise<HoldRecord[]>;
  /** Whether this process works under the hold. */
  isActive(hold: HoldRecord): boolean;
  /** Does work under a hold; {@link HeldWork.stop} waits for it. */
  run<T>(hold: HoldRecord, work: () => Promise<T>): Promise<T>;
  /** Throws `SHUTTING_DOWN` after {@link HeldWork.stop}: for work to call between two batches. */
  checkRunning(): void;
  /** Goes on with all work that was cut off, and every 30 seconds with what has stalled. */
  start(): void;
  /** Waits until the work under way has ended its batch. */
  stop(): Promise<void>;
}

/** Looks after the work of one kind; `goOn` continues what another process began. */
export function createHeldWork(
  kind: HoldRecord['kind'],
  deps: {
    storage: Pick<Storage, 'holds'>;
    log: Logger;
    now: () => number;
    goOn(hold: HoldRecord): Promise<unknown>;
  },
): HeldWork {
  const { storage, log, now } = deps;
  const active = new Map<string, Promise<unknown>>();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  const list = async () =>
    ((await storage.holds?.list(MAX_HOLDS)) ?? []).filter((hold) => hold.kind === kind);

  async function resume(isDue: (hold: HoldRecord) => boolean): Promise<void> {
    for (const hold of await list()) {
      if (isStopped || active.has(hold.id) || !isDue(hold)) continue;
      log.info({ kind }, 'going on with work that was cut off');
      try {
        await deps.goOn(hold);
      } catch (error) {
        if (isHoldLost(error)) continue;
        log.warn({ err: error, kind }, 'work that was cut off could not go on: it is tried again');
      }
    }
  }

  function resumeInBackground(isDue: (hold: HoldRecord) => boolean): void {
    round = round
      .then(() => resume(isDue))
      .catch((error: unknown) => log.warn({ err: error }, 'the holds could not be read'));
  }

  return {
    list,
    isActive: ({ id }) => active.has(id),
    async run({ id }, work) {
      const running = work();
      active.set(id, running);
      try {
        return await running;
      } finally {
        active.delete(id);
      }
    },
    checkRunning() {
      if (isStopped) throw new MemoryError('SHUTTING_DOWN');
    },
    start() {
      isStopped = false;
      resumeInBackground(() => true);
      timer ??= setInterval(
        () => resumeInBackground((hold) => isStalled(hold, now())),
        STALLED_MS,
      ).unref();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      timer = undefined;
      await round;
      await Promise.allSettled(active.values());
    },
  };
}
