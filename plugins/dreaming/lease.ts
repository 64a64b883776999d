import type { Host, Lease } from '../../core/contracts/plugin.ts';

/** How long a run is waited for that gives no sign of life. */
const LEASE_MS = 60_000;
/** How long a lease is renewed though nothing moves: longer than any statement may take. */
const STALL_MS = 120_000;

/** A lease that is renewed while its work moves, and says when it was lost. */
export interface KeptLease {
  readonly lease: Lease;
  readonly name: string;
  readonly fence: number;
  /** Aborted once the lease is lost, or given up because nothing moves under it. */
  readonly signal: AbortSignal;
  /** A step of the work is done: a statement or a model was answered. */
  moved(): void;
  release(): Promise<void>;
}

/**
 * Claims a lease and keeps it until it is released, or until its work stands still; `null` while
 * another one has it.
 *
 * @param options.patienceMs how long one step of the work may take by itself, as a model's answer.
 */
export async function keepLease(
  host: Pick<Host, 'lease' | 'log'>,
  name: string,
  {
    patienceMs = 0,
    ttlMs = LEASE_MS,
    stallMs = STALL_MS,
  }: { patienceMs?: number; ttlMs?: number; stallMs?: number } = {},
): Promise<KeptLease | null> {
  const lease = await host.lease(name, { ttlMs });
  if (lease === null) return null;
  const lost = new AbortController();
  let movedAt = performance.now();
  const timer = setInterval(() => {
    // What hangs would else keep all other instances from the work for ever.
    if (performance.now() - movedAt > patienceMs + stallMs) {
      clearInterval(timer);
      host.log.warn({ name }, 'nothing moves under a lease: it is given up');
      lost.abort();
      return;
    }
    lease.renew().then(
      (isKept) => {
        if (!isKept) lost.abort();
      },
      // The database may answer the next time; if it does not, the lease is over by itself.
      (error: unknown) => host.log.warn({ error: String(error), name }, 'a lease was not renewed'),
    );
  }, ttlMs / 3);
  timer.unref();
  return {
    lease,
    name,
    fence: lease.guard.fence,
    signal: lost.signal,
    moved() {
      movedAt = performance.now();
    },
    async release() {
      clearInterval(timer);
      await lease.release().catch((error: unknown) => {
        host.log.warn(
          { error: String(error), name },
          'a lease was not released: it ends by itself',
        );
      });
    },
  };
}
