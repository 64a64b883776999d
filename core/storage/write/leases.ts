import type { LeaseRecord } from '../../contracts/records.ts';
import type { Decision, LeaseStore, MutateRequest } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import type { StoreDatabase } from '../store-database.ts';

/** Makes leases by the database's clock. Each call is a mutation of one row. */
export function createLeaseStore(database: Pick<StoreDatabase, 'mutate'>): LeaseStore {
  return {
    claim: (name, holder, ttlMs) =>
      database.mutate(toRequest(name), ({ lease, now }) => {
        const present = lease(name);
        const isHeld = present !== null && present.expiresAt > now();
        if (isHeld && present.holder !== holder) return unchanged(null);
        // A new row's fence starts at the clock, so it is greater than that of any earlier row.
        const fence = present === null ? now() : present.fence + 1;
        return changed(fence, { name, holder, fence, expiresAt: now() + ttlMs });
      }),
    renew: (name, fence, ttlMs) =>
      database.mutate(toRequest(name), ({ lease, now }) => {
        const present = lease(name);
        if (present?.fence !== fence || present.expiresAt <= now()) return unchanged(false);
        return changed(true, { ...present, expiresAt: now() + ttlMs });
      }),
    release: (name, fence) =>
      database.mutate(toRequest(name), ({ lease }) => {
        const present = lease(name);
        // Keeps the row, so that the next fence is greater.
        if (present?.fence !== fence) return unchanged(undefined);
        return changed(undefined, { ...present, expiresAt: 0 });
      }),
  };
}

function toRequest(name: string): MutateRequest {
  return { scopes: [], files: [], leases: [name] };
}

function unchanged<R>(result: R): Decision<R> {
  return { result, writes: 0, changes: {} };
}

function changed<R>(result: R, lease: LeaseRecord): Decision<R> {
  return { result, writes: 0, changes: { leases: [{ name: lease.name, lease }] } };
}

/** The error of work whose lease another holder has got, or that has ended. */
export function leaseLost(): MemoryError {
  return new MemoryError('RUN_STATE', 'The lease of this run was lost.', {
    details: { reason: 'lease_lost' },
  });
}
