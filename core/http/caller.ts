import type { RouteRequest } from '../contracts/route.ts';
import type { AdminCaller } from '../files/admin-files.ts';

/** Who the audit names for a change through the admin API. */
export function toCaller({ address, traceId }: RouteRequest): AdminCaller {
  return { address, traceId };
}
