import type { ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';

/** How many redactions have changed the past versions of scopes. */
export interface RedactionCounter {
  /**
   * Read once for each scope, before its memory is read: a write that expects this number puts nothing
   * back that a redaction took out meanwhile. `undefined` where the storage does not count them.
   */
  of(scope: ScopeKey): Promise<number | undefined>;
  /** Reads anew from now on, after a write that was refused. */
  forget(): void;
}

/** Creates the counter of a plan. */
export function createRedactionCounter({
  inspection,
}: Pick<Storage, 'inspection'>): RedactionCounter {
  const known = new Map<ScopeKey, number | undefined>();
  return {
    async of(scope) {
      if (inspection === undefined) return undefined;
      // A scope that was never written has none.
      if (!known.has(scope)) known.set(scope, (await inspection.scope(scope))?.redactions ?? 0);
      return known.get(scope);
    },
    forget: () => known.clear(),
  };
}
