/** What a check sees of a request, before its body is read. */
export interface RequestHead {
  /** Lower-case name. */
  header(name: string): string | null;
  /** How many headers of this lower-case name came. */
  count(name: string): number;
  /** The client's address. */
  readonly address: string;
  /** The request target as it came: `/v1/tools`, or with scheme and host in absolute form. */
  readonly target: string;
}

/** Lets a request pass, or throws the `MemoryError` that answers it. */
export type Check = (head: RequestHead) => void;
