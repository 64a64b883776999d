import type { AdminRoutes } from './admin-routes.ts';
import type { Operator } from '../contracts/access.ts';
import type { RouteDefinition, RouteRequest } from '../contracts/route.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { checkRole } from '../access/operators.ts';
import { newTraceId } from '../ids/ids.ts';
import { compileSchema } from '../schemas/validate.ts';
import { strictObject } from '../schemas/shapes.ts';
import type { Core } from '../service.ts';
import { nearest } from '../values/nearest.ts';

export type { AdminRoutes };

/** Who asks, and how: for each call of {@link AdminCalls}. */
export interface AdminCallOptions {
  /** Whom the audit names, and what they may do; default `admin`, who may do everything. */
  operator?: { name: string; role?: Operator['role']; contents?: boolean };
  /** By lower-case name: `if-match`, `if-none-match`. */
  headers?: Readonly<Record<string, string>>;
  /** 32 hex digits; default a new one. */
  traceId?: string;
  signal?: AbortSignal;
}

type RequestOf<Route extends keyof AdminRoutes> = AdminRoutes[Route]['request'] & AdminCallOptions;

/**
 * The admin API without HTTP: the same routes, checks, roles and audit rows. The app around decides who may
 * call it. An answer is the JSON of the route as objects, `null` where HTTP has no body; of an export it is a
 * stream. Throws what the route answers, as a `MemoryError`.
 *
 * @example
 * const { items } = await service.admin('GET /v1/admin/users', { query: { limit: 10 } });
 * await service.admin('POST /v1/admin/freeze', {
 *   operator: { name: 'carol', role: 'operator' },
 *   body: { userId: 'alice', reason: 'an incident', minutes: 60 },
 * });
 */
export type AdminCalls = <Route extends keyof AdminRoutes>(
  route: Route,
  ...request: object extends AdminRoutes[Route]['request']
    ? [request?: RequestOf<Route>]
    : [request: RequestOf<Route>]
) => Promise<AdminRoutes[Route]['result']>;

interface Given extends AdminCallOptions {
  params?: Readonly<Record<string, string>>;
  query?: unknown;
  body?: unknown;
  stream?: AsyncIterable<Uint8Array>;
}

/** Makes the calls of a core. `routes` are those of the service; routes of plugins join them. */
export function createAdminCalls(
  core: Core,
  routes: readonly RouteDefinition[],
): (route: string, request?: Given) => Promise<unknown> {
  const checks = new WeakMap<object, ReturnType<typeof compileSchema>>();
  const nothing = strictObject({});

  function check(schema: object | undefined, value: unknown): unknown {
    const known = schema ?? nothing;
    const compiled = checks.get(known) ?? compileSchema(known);
    checks.set(known, compiled);
    return compiled(value ?? {});
  }

  function find(name: string): RouteDefinition {
    const all = [...routes, ...core.pluginRoutes].filter(({ auth }) => auth === 'admin');
    const found = all.find(({ method, path }) => `${method} ${path}` === name);
    if (found !== undefined) return found;
    const near = nearest(
      name,
      all.map(({ method, path }) => `${method} ${path}`),
    );
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    throw new MemoryError('NOT_FOUND', `The admin API has no ${name}.${hint}`);
  }

  return async (name, given = {}) => {
    await core.ready();
    const route = find(name);
    const { role = 'admin', contents = true, name: who } = given.operator ?? { name: 'admin' };
    const operator: Operator = { name: who, role, contents };
    checkRole(operator, route.role ?? 'admin');
    const traceId = given.traceId ?? newTraceId();
    const caller = { operator: who, address: null, traceId };
    const params = given.params ?? {};
    for (const [, param = ''] of route.path.matchAll(/[:*](\w+)/g)) {
      if (typeof params[param] !== 'string')
        throw invalidField(`/params/${param}`, 'is missing', param);
    }
    if (route.bodySchema === undefined && given.body !== undefined) {
      throw invalidField('/body', `is not taken: ${name} takes no body`);
    }
    const request: RouteRequest = {
      params,
      query: check(route.querySchema, given.query),
      body: route.bodySchema === undefined ? undefined : check(route.bodySchema, given.body),
      target: route.path,
      stream: given.stream ?? nothingSent(),
      header: (header) => given.headers?.[header] ?? null,
      userId: null,
      apiKey: null,
      operator,
      caller,
      address: '',
      traceId,
      arrivedAt: performance.now(),
      signal: given.signal ?? new AbortController().signal,
      setStatus: () => undefined,
      setHeader: () => undefined,
    };
    const value = await route.handle(request);
    if (route.shows !== undefined && value !== null && value !== undefined) {
      await core.contentsAudit?.note(caller, route.shows(value, request));
    }
    return value ?? null;
  };
}

async function* nothingSent(): AsyncGenerator<Uint8Array, void> {
  // A route that reads a stream names it in its request.
}
