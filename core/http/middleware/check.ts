import type { ApiKey, Operator } from '../../contracts/access.ts';

/** The part of a request that checks see, before its body is read. */
export interface RequestHead {
  /** Lower-case name. */
  header(name: string): string | null;
  /** How many headers have this lower-case name. */
  count(name: string): number;
  /** The client's address. */
  readonly address: string;
  /** The request target as received: `/v1/tools`, or with scheme and host in absolute form. */
  readonly target: string;
  readonly method: string;
  /** Set by the check of the tools API, for a named key. */
  apiKey: ApiKey | null;
  /** Set by the check of the admin API. */
  operator: Operator | null;
}

/** Accepts a request, or throws the `MemoryError` that answers it. */
export type Check = (head: RequestHead) => void;

/** A check that waits for the database where it has to. */
export type KeyCheck = (head: RequestHead) => void | Promise<void>;
