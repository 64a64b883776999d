import type { RouteRequest } from '../contracts/route.ts';
import type { AdminCaller } from '../files/admin-files.ts';

/** Who a change through the admin API is put down to in the audit. */
export function toCaller({ address, traceId }: RouteRequest): AdminCaller {
  return { address, traceId };
}
