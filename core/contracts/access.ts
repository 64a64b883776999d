/** Who uses the service, and what they may do. Types only. */

/** What a call may do in a space. */
export type SpaceAccess = 'read' | 'write';

/**
 * A named key: calls that were made with it carry it, and may do what it says. A call without one has
 * the key of the configuration, or comes from this process: it may do everything.
 */
export interface ApiKey {
  id: string;
  name: string;
  /** Ids of users, prefixes as in `acme:*`, or `*`; `null` for all. */
  users: readonly string[] | null;
  /** The most that a context may ask for: an id or a prefix, a colon, and an access. */
  spaces: readonly string[];
  /** Names of tools, `read` or `write`; `null` for all. */
  tools: readonly string[] | null;
  /** Calls a minute, by all instances together; `null` for no limit. */
  rateLimit: number | null;
  /** The actor of all its calls; `null` where the caller names one. */
  actor: string | null;
  /** Whether it may do what can't be undone. */
  manage: boolean;
}
