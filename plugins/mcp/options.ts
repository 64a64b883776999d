import type { ApiKey } from '../../core/contracts/access.ts';

/** What a client is given. */
export interface McpOptions {
  /** Plain names of the tools; default all that can be used with what is configured. */
  tools?: readonly string[];
  /**
   * Put before the name of each tool, for agents that get the tools of two memories; default none.
   * Traces and the access log keep the plain names.
   */
  toolPrefix?: string;
  /** Only the tools that change nothing. */
  readOnly?: boolean;
  /** The named key of the request: its tools alone are offered. */
  apiKey?: ApiKey;
  /** Who reads and writes, as revisions and the access log name it; default `agent`. */
  actor?: string;
}
