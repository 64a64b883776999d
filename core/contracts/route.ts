import type { ErrorCode } from '../errors.ts';
import type { JsonSchema } from './tool.ts';

/**
 * A route: the one place of its path, words, schemas, errors and work. Routing, validation,
 * authentication, OpenAPI and the docs come from it.
 */
export interface RouteDefinition<Query = unknown, Body = unknown, Result = unknown> {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the base path; `:name` is a segment, `*name` the rest: `/v1/admin/files/*path`. */
  path: string;
  /** `none` for all, `tools` for the API key, `admin` for the admin secret. */
  auth: 'none' | 'tools' | 'admin';
  /** Heading of the group in OpenAPI and the docs. */
  tag: string;
  summary: string;
  description?: string;
  /** Strict: an unknown parameter is a 400 that names it. Default: none is taken. */
  querySchema?: JsonSchema;
  /** Strict. Default: no body is read. */
  bodySchema?: JsonSchema;
  /**
   * On a route of the tools API: where the app around the service says who is signed in, the route
   * works for `request.userId`, and the body has this schema, or the other. A route without it asks
   * for the API key there, too.
   */
  signedIn?: { bodySchema?: JsonSchema };
  /** Of the 2xx answer; `null` where it is not JSON. */
  resultSchema: JsonSchema | null;
  /** Of the 2xx answer; default `application/json`. */
  contentType?: string;
  status?: number;
  /**
   * Milliseconds until the answer begins; then it is `STORAGE_UNAVAILABLE`. Default 15,000; `null`
   * where the work has a limit of its own, or none.
   */
  deadlineMs?: number | null;
  errorCodes: readonly ErrorCode[];
  handle(request: RouteRequest<Query, Body>): Promise<Result> | Result;
}

/** A request whose path, query and body are parsed and valid. */
export interface RouteRequest<Query = unknown, Body = unknown> {
  /** Decoded once by the router, and nothing more: parsers reject what is off. */
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** Lower-case name. */
  header(name: string): string | null;
  /** Who is signed in to the app around the service; `null` where the request says for whom it is. */
  userId: string | null;
  /** The client's address, `X-Forwarded-For` regarded only behind a trusted proxy. */
  address: string;
  /** Names this request in logs and error bodies: 32 hex digits. */
  traceId: string;
  signal: AbortSignal;
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
}
