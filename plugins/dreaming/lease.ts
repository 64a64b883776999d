import type { Host, Lease } from '../../core/contracts/plugin.ts';

/** After so long without a renewal, another process may claim the lease. */
const LEASE_MS = 60_000;
/** How long a lease is renewed without progress: longer than any statement may take. */
const STALL_MS = 120_000;

/** A lease that is renewed as long as its work makes progress, and says when it was lost. */
export interface RenewedLease {
  readonly guard: Lease['guard'];
  readonly name: string;
  readonly fence: number;
  /** Aborted once another process has the lease, or once it was given up for want of progress. */
  readonly signal: AbortSignal;
  /** To be called after each step of the work: a statement, or an answer of a model. */
  noteProgress(): void;
  release(): Promise<void>;
}

/**
 * Claims a lease, and renews it until it is released or its work makes no progress. Returns `null` if
 * another process has the lease.
 *
 * @param options.patienceMs how long one step of the work may take, a model's answer for example.
 */
export async function claimLease(
  host: Pick<Host, 'lease' | 'log'>,
  name: string,
  {
    patienceMs = 0,
    ttlMs = LEASE_MS,
    stallMs = STALL_MS,
  }: { patienceMs?: number; ttlMs?: number; stallMs?: number } = {},
): Promise<RenewedLease | null> {
  const lease = await host.lease(name, { ttlMs });
  if (lease === null) return null;
  const lost = new AbortController();
  let progressAt = performance.now();
  const timer = setInterval(() => {
    // Work that hangs would otherwise keep the lease from all other instances for ever.
    if (performance.now() - progressAt > patienceMs + stallMs) {
      clearInterval(timer);
      host.log.warn({ name }, 'the work under a lease makes no progress: the lease is given up');
      lost.abort();
      return;
    }
    lease.renew().then(
      (isRenewed) => {
        if (!isRenewed) lost.abort();
      },
      // The database may answer the next time; if it does not, the lease is over by itself.
      (error: unknown) => host.log.warn({ error: String(error), name }, 'a lease was not renewed'),
    );
  }, ttlMs / 3);
  timer.unref();
  return {
    guard: lease.guard,
    name,
    fence: lease.guard.fence,
    signal: lost.signal,
    noteProgress() {
      progressAt = performance.now();
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
