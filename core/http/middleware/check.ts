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
}

/** Accepts a request, or throws the `MemoryError` that answers it. */
export type Check = (head: RequestHead) => void;
