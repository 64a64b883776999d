import type { LoopDelay } from './loop-delay.cjs';

/**
 * Something that is measured, as a module of `contestants/` or `limits/` opens it in a process of
 * its own: over HTTP where it has a port, called in that process where it has operations.
 */
export interface Contestant {
  port?: number;
  /** `n` goes up from 0 over all turns, so that no two calls write the same. */
  operations?: Record<string, (n: number) => unknown>;
  /** Ends a turn: writes what its operations left to be written. The time that it takes counts. */
  finish?: () => Promise<void>;
  /** What the report names: versions and settings. */
  facts?: Record<string, string | number>;
  close(): Promise<void> | void;
}

/** What such a module exports as `open`. */
export type OpenContestant<Options> = (
  options: Options & ContestantOptions,
) => Promise<Contestant> | Contestant;

export interface ContestantOptions {
  /** A directory of its own, removed at the end. */
  directory: string;
}

/** What one turn counted. */
export interface Turn {
  operations: number;
  failed: number;
  /** The first failure, in words. */
  failure: string | null;
  seconds: number;
  /** Milliseconds of one operation; `null` where they were not taken. */
  latency: { p50: number; p99: number } | null;
  /** Of the process that does the work. */
  loopDelay: LoopDelay | null;
  /** Operations in each whole second. */
  perSecond: readonly number[];
}

/** What the bench asks of a contestant's process, and what that answers. */
export type HostRequest =
  | { kind: 'open'; module: string; options: ContestantOptions }
  | { kind: 'run'; operation: string; callers: number; seconds: number; count: number | null }
  | { kind: 'watch' }
  | { kind: 'watched' }
  | { kind: 'close' };

export interface HostAnswers {
  open: { port: number | null; operations: string[]; facts: Record<string, string | number> };
  run: Turn;
  watch: null;
  watched: LoopDelay;
  close: null;
}
