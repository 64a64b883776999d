import type { Logger } from '../contracts/logger.ts';
import type { HoldRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { isHoldLost, isStalled, MAX_HOLDS, STALLED_MS } from './hold.ts';

/** How often a hold is renewed, and how often holds are looked at that others may have left. */
const RENEW_MS = STALLED_MS / 6;
const LOOK_MS = STALLED_MS / 3;

/** Work of one kind that holds the memory of a user, and goes on after a crash. */
export interface HeldWork {
  /** The holds of this kind, of all instances. */
  list(): Promise<HoldRecord[]>;
  /** Whether this process or another one works under the hold. */
  isBusy(hold: HoldRecord): boolean;
  /** Does work under a hold, and keeps the hold from looking stalled. {@link HeldWork.stop} waits. */
  run<T>(hold: HoldRecord, work: () => Promise<T>): Promise<T>;
  /** Throws `SHUTTING_DOWN` after {@link HeldWork.stop}: for work to call between two batches. */
  checkRunning(): void;
  /**
   * Goes on with work that was cut off, now and every ten seconds. Of a database that other instances
   * may serve, it takes over what has not gone on for 30 seconds.
   */
  start(): void;
  /** Waits until the work under way has ended its batch. */
  stop(): Promise<void>;
}

/** Looks after the work of one kind; `goOn` continues what another process began. */
export function createHeldWork(
  kind: HoldRecord['kind'],
  deps: {
    storage: Pick<Storage, 'holds' | 'mutate' | 'filename'>;
    log: Logger;
    now: () => number;
    goOn(hold: HoldRecord): Promise<unknown>;
  },
): HeldWork {
  const { storage, log, now } = deps;
  const active = new Map<string, Promise<unknown>>();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | null = null;

  const list = async () =>
    ((await storage.holds?.list(MAX_HOLDS)) ?? []).filter((hold) => hold.kind === kind);

  const isBusy = (hold: HoldRecord) =>
    active.has(hold.id) || (storage.filename === undefined && !isStalled(hold, now()));

  async function resume(): Promise<void> {
    for (const hold of await list()) {
      if (isStopped || isBusy(hold)) continue;
      log.info({ kind }, 'going on with work that was cut off');
      try {
        await deps.goOn(hold);
      } catch (error) {
        if (isHoldLost(error)) continue;
        log.warn({ err: error, kind }, 'work that was cut off could not go on: it is tried again');
      }
    }
  }

  function resumeInBackground(): void {
    round ??= resume()
      .catch((error: unknown) => log.warn({ err: error }, 'the holds could not be read'))
      .finally(() => (round = null));
  }

  async function renew({ scope, id }: HoldRecord): Promise<void> {
    await storage.mutate({ scopes: [scope], files: [] }, (current) => {
      const hold = current.hold(scope);
      const holds = hold?.id === id ? [{ scope, hold: { ...hold, progressAt: now() } }] : [];
      return { result: null, writes: 0, changes: { holds } };
    });
  }

  return {
    list,
    isBusy,
    async run(hold, work) {
      const running = work();
      active.set(hold.id, running);
      // A failure to renew shows in the next step of the work itself.
      const keeping = setInterval(() => void renew(hold).catch(() => undefined), RENEW_MS).unref();
      try {
        return await running;
      } finally {
        clearInterval(keeping);
        active.delete(hold.id);
      }
    },
    checkRunning() {
      if (isStopped) throw new MemoryError('SHUTTING_DOWN');
    },
    start() {
      isStopped = false;
      resumeInBackground();
      timer ??= setInterval(resumeInBackground, LOOK_MS).unref();
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
