import type { AdminEvent } from '../../core/contracts/admin.ts';

/** The figures at the top of the dashboard. Durations in milliseconds. */
export interface Summary {
  since: string;
  until: string;
  calls: number;
  failed: number;
  refused: number;
  errorRate: number;
  latency: { p50: number | null; p95: number | null; p99: number | null };
  activeScopes: number;
  reads: number;
  writes: number;
  finds: number;
  readWriteRatio: number | null;
  sla: {
    state: 'ok' | 'watch' | 'breached';
    reason: string;
    limits: { p95Ms: number; errorRate: number };
  };
}

/** Tool calls over time. */
export interface Activity {
  bucket: string;
  points: {
    at: string;
    calls: number;
    failed: number;
    refused: number;
    reads: number;
    writes: number;
    finds: number;
  }[];
}

/** How long tools took over time. */
export interface Latency {
  bucket: string;
  tools: {
    tool: string | null;
    points: { at: string; calls: number; p50: number; p95: number; p99: number }[];
  }[];
}

/** Which users work through which actors and tools on which files. */
export interface Topology {
  nodes: { id: string; kind: 'scope' | 'actor' | 'tool' | 'file'; label: string; weight: number }[];
  edges: { from: string; to: string; weight: number }[];
  omitted: number;
}

/** The files accessed most. */
export interface TopFiles {
  items: {
    path: string;
    accesses: number;
    reads: number;
    writes: number;
    finds: number;
    lastAt: string;
  }[];
}

/** A call that failed or was slow. */
export type Failure = AdminEvent & { reasons: ('failed' | 'refused' | 'slow')[] };

/** What may be wrong with a user's memory. */
export interface Hygiene {
  filesChecked: number;
  findings: {
    kind: string;
    severity: 'low' | 'medium' | 'high';
    message: string;
    places: { path: string; lines: number[] }[];
    mend: string;
  }[];
  omitted: number;
}
