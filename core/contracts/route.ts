import type { ErrorCode, MemoryError } from '../errors.ts';
import type { ApiKey, AuditCaller, Operator, RouteRole } from './access.ts';
import type { JsonSchema } from './tool.ts';

/**
 * A route: its path, texts, schemas, errors and handler. Routing, validation, authentication,
 * OpenAPI and the docs derive from it.
 */
export interface RouteDefinition<Query = unknown, Body = unknown, Result = unknown> {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the base path; `:name` is a segment, `*name` the rest: `/v1/admin/files/*path`. */
  path: string;
  /**
   * Answers whatever the `Host` and `Origin` are. Only for a path without names, and for an answer that
   * any web page may read: health checks name the machine's address, or no host at all.
   */
  anyHost?: true;
  /** What a request needs: nothing, the API key, or the admin secret. */
  auth: 'none' | 'tools' | 'admin';
  /** What an operator needs for a route of the admin API. Default: `admin`. */
  role?: RouteRole;
  /** Heading of the group in OpenAPI and the docs. */
  tag: string;
  /** What the group is for. One route of a group is enough. */
  tagDescription?: string;
  summary: string;
  description?: string;
  /** An unknown parameter is answered with a 400 that names it. Default: no parameters. */
  querySchema?: JsonSchema;
  /** Default: no body is read. */
  bodySchema?: JsonSchema;
  /**
   * The media types of a body that the handler reads itself, from `request.stream`; any other type is
   * refused. It has no time limit, and the handler limits its size.
   */
  streamedBody?: readonly string[];
  /**
   * On a route of the tools API: the route works for the user signed in to the surrounding app
   * (`request.userId`), and its body fits this schema, or `bodySchema`. A route without `signedIn`
   * always needs the API key.
   */
  signedIn?: { bodySchema?: JsonSchema };
  /** Of the 2xx answer; `null` where it is not JSON. */
  resultSchema: JsonSchema | null;
  /** Of the 2xx answer; default `application/json`. */
  contentType?: string;
  status?: number;
  /** Further statuses that are no error and have no body, as 304, with what each means. */
  otherStatuses?: Readonly<Record<number, string>>;
  /**
   * Milliseconds from the request's arrival in which the answer must begin, or it is
   * `STORAGE_UNAVAILABLE`. Default 15,000, also for routes of plugins; `null` for work with its own
   * deadline, or without one. The time that the body takes to arrive does not count.
   */
  deadlineMs?: number | null;
  errorCodes: readonly ErrorCode[];
  /** `WWW-Authenticate` of a 401, of a route with `errorBody`. Default: that of its kind of authentication. */
  challenge?: string;
  /**
   * The JSON of an error at this path, also of one before the handler runs, such as a missing key.
   * Default: the service's own error body.
   */
  errorBody?: ErrorBody;
  /**
   * The physical paths of the contents that an answer shows, for the audit; a folder ends in `/`, and `all`
   * stands for all memory. Absent: it shows none.
   */
  shows?(result: Result, request: RouteRequest<Query, Body>): readonly string[];
  handle(request: RouteRequest<Query, Body>): Promise<Result> | Result;
}

/** The format of errors of a route that has one of its own. */
export interface ErrorBody {
  schema: JsonSchema;
  write(error: MemoryError, traceId: string): unknown;
  /** A header that has the id of the request, beside `X-Request-Id`. */
  idHeader?: string;
}

/** A request whose path, query and body are parsed and valid. */
export interface RouteRequest<Query = unknown, Body = unknown> {
  /** Decoded once by the router, and not validated. */
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** The request target as received; behind a proxy or a framework, without the prefix that it removed. */
  readonly target: string;
  /** Whether it came to a server of the service, and not to an app that the service is mounted in. */
  readonly ownsOrigin?: boolean;
  /** The bytes of a body that the route reads itself; see `streamedBody`. */
  readonly stream: AsyncIterable<Uint8Array>;
  /** Lower-case name. */
  header(name: string): string | null;
  /** The user signed in to the surrounding app; `null` when the request itself names the user. */
  userId: string | null;
  /** The named key of a request to the tools API; `null` for the key of the configuration. */
  apiKey: ApiKey | null;
  /** Who uses the admin API; `null` elsewhere. */
  operator: Operator | null;
  /** Who the audit names for a change that the request asks for. */
  readonly caller: AuditCaller;
  /** The client's address; `X-Forwarded-For` counts only behind a trusted proxy. */
  address: string;
  /** Names this request in logs and error bodies: 32 hex digits. */
  traceId: string;
  /** Of `performance.now()`: deadlines count from here. Goes into the tool calls of a route. */
  arrivedAt: number;
  signal: AbortSignal;
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
}
