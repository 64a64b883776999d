import type { LocationQuery } from 'vue-router';
import type { AdminListedEvent } from '../../core/contracts/admin.ts';

/** The calls behind a point of a chart: those that ended in a time, of a kind or of a tool. */
export interface CallSelection {
  /** Inclusive. */
  since: string;
  /** Exclusive. */
  until: string;
  kind?: CallKind;
  tool?: string;
}

/** What the chart of the activity counts, and the tools of each kind. */
const TOOLS = {
  reads: ['memory_read', 'memory_context'],
  finds: ['memory_find'],
  writes: ['memory_write', 'memory_patch', 'memory_remember', 'memory_delete', 'memory_move'],
  failed: null,
} as const;
/** A series of the chart of the activity. */
export type CallKind = keyof typeof TOOLS;

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
    ...(typeof callsOf === 'string' && callsOf in TOOLS && { kind: callsOf as CallKind }),
    ...(typeof callsTool === 'string' && { tool: callsTool }),
  };
}

/** The address without its selection. */
export function withoutCalls(query: LocationQuery): LocationQuery {
  const { callsSince: _since, callsUntil: _until, callsOf: _of, callsTool: _tool, ...rest } = query;
  return rest;
}

/** Whether a call is one of a kind, as the service counts them. */
export function isOfKind({ tool }: AdminListedEvent, kind: CallKind | undefined): boolean {
  const tools: readonly string[] | null = kind === undefined ? null : TOOLS[kind];
  return tools === null || (tool !== null && tools.includes(tool));
}
