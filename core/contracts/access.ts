/** Who uses the service, and what they may do. Types only. */

/** The roles of operators, each with what the ones before it may do. */
export type Role = 'viewer' | 'operator' | 'admin';

/** What a route of the admin API needs: a role, or to see contents. Each may do what the ones before it may. */
export type RouteRole = 'viewer' | 'contents' | 'operator' | 'admin';

/** Who uses the admin API. */
export interface Operator {
  /** `admin` for the secret of the configuration. */
  name: string;
  role: Role;
  /** Whether a viewer sees contents. Other roles do. */
  contents: boolean;
}

/**
 * Who the audit names for a change: parts of the request that asked for it. `null` for work that no
 * request waits for, such as what continues after a restart.
 */
export interface AuditCaller {
  /** The name of the operator: `admin` for the secret of the configuration. */
  operator?: string | null | undefined;
  address: string | null;
  traceId: string | null;
}

/** What a call may do in a space. */
export type SpaceAccess = 'read' | 'write';

/** What a named key may do. */
export type KeyRules = Omit<ApiKey, 'id' | 'name'>;

/** A key of the tools API, or the token of an operator, which opens the admin API. */
export type KeyRecord = StoredKey &
  ({ kind: 'tools'; rules: KeyRules } | { kind: 'admin'; rules: Omit<Operator, 'name'> });

/** What is kept of either; times in milliseconds. */
interface StoredKey {
  id: string;
  /** One key of a kind has it. */
  name: string;
  /** Finds the key. Also in the key itself, and no secret. */
  prefix: string;
  /** SHA-256 of the whole key. */
  hash: string;
  /** The key before the last rotation, as long as it is valid. */
  previousPrefix: string | null;
  previousHash: string | null;
  previousUntil: number | null;
  createdAt: number;
  /** The operator who made it; `null` where nobody is known. */
  createdBy: string | null;
  expiresAt: number | null;
  /** To a minute; `null` if it was never used. */
  lastUsedAt: number | null;
  /** The calls that were left at a time of the database's clock, of a key with a rate limit. */
  tokens: number;
  tokensAt: number;
}

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
