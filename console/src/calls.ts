import type { LocationQuery } from 'vue-router';
import type { ActivityPoint, AdminListedEvent } from '../../core/contracts/admin.ts';

/** The calls behind a point of a chart: those that ended in a time, of a kind or of a tool. */
export interface CallSelection {
  /** Inclusive. */
  since: string;
  /** Exclusive. */
  until: string;
  kind?: CallKind;
  tool?: string;
}

/** The tools of the calls that ended well. All other tools are `other`. */
const TOOLS = {
  reads: ['memory_read', 'memory_context'],
  finds: ['memory_find'],
  writes: ['memory_write', 'memory_patch', 'memory_remember', 'memory_delete', 'memory_move'],
} as const;

/** What the charts of the activity count. Each call is of one kind, so that the kinds add up to all calls. */
export const CALL_KINDS = {
  reads: { label: 'Reads', title: 'Reads' },
  finds: { label: 'Finds', title: 'Finds' },
  writes: { label: 'Writes', title: 'Writes' },
  other: { label: 'Other', title: 'Lists, and calls of plugins’ tools' },
  refused: { label: 'Refused', title: 'Refused calls' },
  failed: { label: 'Failed', title: 'Failed calls' },
} as const;
/** A series of the chart of the activity. */
export type CallKind = keyof typeof CALL_KINDS;
/** All of them, in the order of the charts. */
export const CALL_KIND_NAMES = Object.keys(CALL_KINDS) as CallKind[];

/** How many of the calls are of a kind. */
export function countKind(point: Omit<ActivityPoint, 'at'>, kind: CallKind): number {
  if (kind !== 'other') return point[kind];
  const { calls, reads, finds, writes, refused, failed } = point;
  return Math.max(0, calls - reads - finds - writes - refused - failed);
}

/** The parameters of the address that name a selection. */
export function toCallQuery({ since, until, kind, tool }: CallSelection): Record<string, string> {
  return {
    callsSince: since,
    callsUntil: until,
    ...(kind && { callsOf: kind }),
    ...(tool !== undefined && { callsTool: tool }),
  };
}

/** The selection that an address names; `null` if it names none. */
export function readCallQuery(query: LocationQuery): CallSelection | null {
  const { callsSince, callsUntil, callsOf, callsTool } = query;
  if (typeof callsSince !== 'string' || typeof callsUntil !== 'string') return null;
  return {
    since: callsSince,
    until: callsUntil,
    ...(typeof callsOf === 'string' && callsOf in CALL_KINDS && { kind: callsOf as CallKind }),
    ...(typeof callsTool === 'string' && { tool: callsTool }),
  };
}

/** The address without its selection. */
export function withoutCalls(query: LocationQuery): LocationQuery {
  const { callsSince: _since, callsUntil: _until, callsOf: _of, callsTool: _tool, ...rest } = query;
  return rest;
}

/** Whether a call that ended well is one of a kind, as the service counts them. */
export function isOfTools({ tool }: AdminListedEvent, kind: keyof typeof TOOLS | 'other'): boolean {
  const isOf = (tools: readonly string[]) => tool !== null && tools.includes(tool);
  return kind === 'other' ? !Object.values(TOOLS).some(isOf) : isOf(TOOLS[kind]);
}
