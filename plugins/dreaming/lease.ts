import type { Host, Lease } from '../../core/contracts/plugin.ts';

/** How long a run is waited for that gives no sign of life. */
const LEASE_MS = 60_000;

/** A lease that renews itself, and says when it was lost. */
export interface KeptLease {
  readonly lease: Lease;
  readonly name: string;
  readonly fence: number;
  /** Aborted once the lease is lost. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Claims a lease and keeps it until it is released; `null` while another one has it. */
export async function keepLease(
  host: Pick<Host, 'lease' | 'log'>,
  name: string,
  ttlMs: number = LEASE_MS,
): Promise<KeptLease | null> {
  const lease = await host.lease(name, { ttlMs });
  if (lease === null) return null;
  const lost = new AbortController();
  const timer = setInterval(() => {
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
    fence: lease.guard.kind === 'lease' ? lease.guard.fence : 0,
    signal: lost.signal,
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
