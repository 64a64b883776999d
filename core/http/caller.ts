import type { RouteRequest } from '../contracts/route.ts';
import type { AuditCaller } from '../contracts/plugin.ts';

/** Who the audit names for a change through the admin API. */
export function toCaller({ address, traceId }: RouteRequest): AuditCaller {
  return { address, traceId };
}
