import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router, type RouterMiddleware } from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import type { ApiKey, Operator } from '../contracts/access.ts';
import type { AuditCaller, Logger } from '../contracts/plugin.ts';
import type { RouteDefinition, RouteRequest } from '../contracts/route.ts';
import { checkRole } from '../access/operators.ts';
import { msLeft, withDeadline } from '../time/deadline.ts';
import {
  invalidField,
  MemoryError,
  outcomeUnknown,
  toErrorBody,
  toMemoryError,
} from '../errors.ts';
import { isOfOwnServer } from './own-server.ts';
import { newTraceId } from '../ids/ids.ts';
import { isProviderError } from '../providers/provider-failure.ts';
import { assertSchema, compileSchema } from '../schemas/validate.ts';
import { parseTraceparent } from '../telemetry/trace-context.ts';
import { clientAddress } from './address.ts';
import { readJsonBody, readStream } from './body.ts';
import { describeError } from '../describe-error.ts';
import type { Check, KeyCheck, RequestHead } from './middleware/check.ts';
import { CONSOLE_HEADERS, DATA_HEADERS, type HeaderList } from './middleware/security-headers.ts';
import { compileQuery } from './query.ts';
import { bindSignedIn, findSignedIn, type ResolveUserId } from './signed-in.ts';

/** Options shared by all routes. */
export interface MountOptions {
  /** Prefix of every route: empty, or `/memory`. */
  basePath: string;
  trustProxy: boolean;
  maxBodyBytes: number;
  /** How long a body may take to arrive. */
  bodyTimeoutMs: number;
  /** Deadline of routes without one of their own. */
  deadlineMs: number;
  log: Logger;
  /** Runs before anything else, on every route but those with `anyHost`. */
  checkHost: Check;
  /** Runs instead on routes with `anyHost`. */
  checkTarget: Check;
  /** Runs on the router of its kind, before each of its routes. */
  auth: Record<RouteDefinition['auth'], KeyCheck>;
  /**
   * Finds the user signed in to the surrounding app; `null` when the tools API accepts only its
   * key.
   */
  resolveUserId: ResolveUserId | null;
  /** Keeps which contents an operator was shown. */
  noteShown(caller: AuditCaller, paths: readonly string[]): Promise<void> | undefined;
  /** How long `resolveUserId` may take. */
  signInTimeoutMs: number;
  /** `false` before the start and during shutdown; requests then call `open`. */
  isOpen(): boolean;
  /** Waits for the start, or throws the error that prevents it. */
  open(): Promise<void>;
  /** The error of a request whose time ends during the start. */
  lateStart(): MemoryError;
  /** Routes a request again after the start, since plugins may have added routes. */
  redispatch: Middleware;
}

/** The routes as Koa middleware. */
export interface MountedRoutes {
  /** Answers the service's own routes; passes all others to `next()`. */
  middleware: Middleware;
  /**
   * For an app that serves only this service: checks the host, and answers errors thrown by
   * `next()`.
   */
  rest: Middleware;
}

type AuthKind = RouteDefinition['auth'];

// The service answers every path below these prefixes, and only after authentication, so that
// nobody can probe for routes without a secret. The routes of plugins are known only after the start: a
// request below the prefixes of the default plugins waits for it.
const AREAS: readonly { kind: AuthKind; prefix: string | null }[] = [
  { kind: 'tools', prefix: '/v1/tools' },
  { kind: 'tools', prefix: '/v1/mcp' },
  { kind: 'tools', prefix: '/v1/memory_stores' },
  { kind: 'admin', prefix: '/v1/admin' },
  { kind: 'none', prefix: null },
];

/**
 * Mounts routes on one router per kind of authentication. The check belongs to the router, so no
 * route can be added without it. Paths are case-sensitive. Throws if two routes have the same method
 * and path, or if a route lies outside the area of its kind.
 */
export function mountRoutes(
  routes: readonly RouteDefinition[],
  options: MountOptions,
): MountedRoutes {
  assertDistinct(routes);
  const areas = AREAS.map((area) => {
    const { kind, prefix } = area;
    const own = routes.filter((route) => areaOf(route) === area);
    return createArea(kind, prefix === null ? null : options.basePath + prefix, own, options);
  });
  return {
    middleware: (ctx, next) => {
      const { path } = ctx;
      for (const area of areas) if (area.owns(path)) return area.dispatch(ctx, next);
      return next();
    },
    rest: (ctx, next) =>
      answerFailures(ctx, 'none', options, (exchange) => {
        options.checkHost(exchange);
        return next();
      }),
  };
}

/**
 * Throws an `Error` that names the route whose schema has an unknown keyword, type or format. This
 * checks plugin routes at the start instead of at the first request.
 */
export function assertCompilable(routes: readonly RouteDefinition[]): void {
  for (const route of routes) {
    try {
      const { bodySchema, querySchema, signedIn } = route;
      for (const schema of [querySchema, bodySchema, signedIn?.bodySchema]) {
        if (schema !== undefined) assertSchema(schema);
      }
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`A schema of ${route.method} ${route.path}: ${message}.`, { cause: error });
    }
  }
}

/** The area that a route lies in, or the first one of its kind. */
function areaOf({ path, auth }: RouteDefinition): (typeof AREAS)[number] | undefined {
  return AREAS.find((area) => isIn(area, path)) ?? AREAS.find(({ kind }) => kind === auth);
}

function isIn({ prefix }: { prefix: string | null }, path: string): boolean {
  return prefix !== null && `${path}/`.startsWith(`${prefix}/`);
}

interface Area {
  owns(path: string): boolean;
  dispatch: Middleware;
}

function createArea(
  kind: AuthKind,
  prefix: string | null,
  routes: readonly RouteDefinition[],
  options: MountOptions,
): Area {
  const router = new Router({ sensitive: true, strict: true });
  // Routes with their own error format must be known before the key is checked, and those that answer
  // any host before the host is.
  const findEarly = findByPath(
    routes.filter(({ errorBody, anyHost }) => errorBody !== undefined || anyHost === true),
    (route) => toPaths(route, routes).map((path) => options.basePath + path),
  );
  // Where all routes have one error format, an unknown path below them is answered in it, too.
  const [first, ...others] = routes.map(({ errorBody }) => errorBody);
  const isOneFormat = prefix !== null && others.every((other) => other?.write === first?.write);
  router.use(((ctx: Context, next: Next) =>
    answerFailures(ctx, kind, options, (exchange) => {
      exchange.route = findEarly(ctx.path);
      if (isOneFormat) exchange.errorBody = first;
      if (exchange.route?.anyHost === true) options.checkTarget(exchange);
      else options.checkHost(exchange);
      const proceed = (): Promise<unknown> => {
        // Docs and health checks also work before the start and during shutdown.
        if (kind === 'none' || options.isOpen()) return next();
        const leftMs = msLeft(options.deadlineMs, exchange.arrivedAt);
        return withDeadline(options.open(), leftMs, options.lateStart).then(() =>
          options.redispatch(ctx, next),
        );
      };
      if (kind !== 'tools' || options.resolveUserId === null) {
        const checked = options.auth[kind](exchange);
        return checked === undefined ? proceed() : checked.then(proceed);
      }
      const leftMs = msLeft(options.deadlineMs, exchange.arrivedAt);
      const timeoutMs = Math.min(options.signInTimeoutMs, leftMs);
      return findSignedIn(options.resolveUserId, { ctx, timeoutMs }).then(async (userId) => {
        exchange.userId = userId;
        if (userId === null) await options.auth[kind](exchange);
        return proceed();
      });
    })) as RouterMiddleware);

  for (const route of bySpecificity(routes)) {
    const serve = compileRoute(route, options) as RouterMiddleware;
    for (const path of toPaths(route, routes)) {
      router.register(options.basePath + path, [route.method], serve);
    }
  }
  const layers = router.stack.filter((layer) => layer.methods.length > 0);
  const outside = layers.filter(
    ({ path }) => prefix === null || !`${String(path)}/`.startsWith(`${prefix}/`),
  );

  // The last layer handles unknown paths, and unknown methods of known paths.
  const unmatched = ((ctx: Context) => {
    const methods = new Set(
      layers.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods),
    );
    if (methods.size === 0) throw new MemoryError('NOT_FOUND');
    ctx.set('Allow', [...methods, 'OPTIONS'].sort().join(', '));
    if (ctx.method !== 'OPTIONS') throw new MemoryError('METHOD_NOT_ALLOWED');
    setHeaders(ctx, DATA_HEADERS);
    ctx.res.setHeader(REQUEST_ID, (ctx as OwnContext)[EXCHANGE].traceId);
    ctx.status = 204;
  }) as RouterMiddleware;
  router.all(/^/, unmatched);

  return {
    owns: (path) =>
      (prefix !== null &&
        path.startsWith(prefix) &&
        (path.length === prefix.length || path[prefix.length] === '/')) ||
      outside.some((layer) => layer.match(path)),
    dispatch: router.routes() as Middleware,
  };
}

/** Finds a route by the path of a request, whatever the method. */
function findByPath(
  routes: readonly RouteDefinition[],
  toPathsOf: (route: RouteDefinition) => readonly string[],
): (path: string) => RouteDefinition | null {
  const exact = new Map<string, RouteDefinition>();
  const named: { pattern: RegExp; route: RouteDefinition }[] = [];
  for (const route of routes) {
    for (const path of toPathsOf(route)) {
      if (!path.includes(':')) exact.set(path, route);
      else named.push({ pattern: toPattern(path), route });
    }
  }
  return (path) =>
    exact.get(path) ?? named.find(({ pattern }) => pattern.test(path))?.route ?? null;
}

function toPattern(path: string): RegExp {
  const parts = path.split(/:\w+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

/**
 * The paths at which a route answers. Outside the admin API also with a slash at its end, which some
 * clients add to an address. A file, as `/llms.txt`, has none.
 */
function toPaths(
  { path, auth }: RouteDefinition,
  routes: readonly RouteDefinition[],
): readonly string[] {
  const slashed = `${path}/`;
  const isExact = auth === 'admin' || path.endsWith('/') || /\*|\.\w+$/.test(path);
  // There, what comes behind the slash is a path of its own.
  const hasRest = routes.some((other) => other.path.startsWith(`${slashed}*`));
  return isExact || hasRest ? [path] : [path, slashed];
}

/** Literal paths come first, then those with `:name`, and `*rest` last. */
function bySpecificity(routes: readonly RouteDefinition[]): RouteDefinition[] {
  const rank = (path: string): number => (path.includes('*') ? 2 : path.includes(':') ? 1 : 0);
  return [...routes].sort((a, b) => rank(a.path) - rank(b.path));
}

function assertDistinct(routes: readonly RouteDefinition[]): void {
  const seen = new Set<string>();
  for (const { method, path, auth } of routes) {
    const key = `${method} ${path.replaceAll(/([:*])\w+/g, '$1')}`;
    if (seen.has(key)) throw new Error(`Two routes are called ${method} ${path}.`);
    seen.add(key);
    const area = AREAS.find((one) => isIn(one, path));
    if (area !== undefined && area.kind !== auth) {
      throw new Error(`${method} ${path} needs auth: '${area.kind}'.`);
    }
  }
}

/** Header of every answer: the trace id of the request, for logs and traces. */
export const REQUEST_ID = 'X-Request-Id';
const JSON_TYPE = 'application/json; charset=utf-8';
const CHALLENGES: Record<AuthKind, string> = {
  tools: 'Bearer',
  admin: 'X-Admin-Secret',
  none: 'Bearer',
};
const EXCHANGE = Symbol('memory-service exchange');

type OwnContext = Context & { [EXCHANGE]: Exchange; captures: string[] };

/** Compiles the handler of one route: parse, run, answer. */
function compileRoute(route: RouteDefinition, options: MountOptions): Middleware {
  const names = [...route.path.matchAll(/([:*])(\w+)/g)].map(([, kind, name]) => ({
    name: name as string,
    isPath: kind === '*',
  }));
  // Compiled at the first request, because compiling all routes takes a fifth of the start time.
  let checks: Checks | null = null;
  const contentType = route.contentType ?? JSON_TYPE;
  const isJson = contentType.startsWith('application/json');
  const headers: HeaderList = [
    ...(contentType.startsWith('text/html') ? CONSOLE_HEADERS : DATA_HEADERS),
    ['Content-Type', contentType],
  ];

  return async (context) => {
    const ctx = context as OwnContext;
    const exchange = ctx[EXCHANGE];
    exchange.route = route;
    ignoreClosedConnection(ctx);
    if (route.auth === 'admin') checkRole(exchange.operator, route.role ?? 'admin');
    const { userId } = exchange;
    if (userId !== null) {
      const header = (name: string): string | null => exchange.header(name);
      const isBound = bindSignedIn(route, { userId, header, hasBody: hasBody(ctx.req) });
      if (!isBound) {
        await options.auth[route.auth](exchange);
        exchange.userId = null;
      }
    }
    exchange.params = decodeParams(names, ctx.captures, exchange);
    checks ??= compileChecks(route);
    exchange.query = checks.parseQuery(ctx.querystring);
    const check = exchange.userId === null ? checks.body : checks.signedInBody;
    if (check !== null) {
      const readFrom = performance.now();
      const body = await readJsonBody(ctx.req, {
        maxBytes: options.maxBodyBytes,
        timeoutMs: options.bodyTimeoutMs,
        parsed: parsedByHost(ctx),
      });
      // A slow upload leaves the call its whole time.
      exchange.arrivedAt += performance.now() - readFrom;
      exchange.body = check(body === undefined ? {} : body);
    }
    if (route.streamedBody !== undefined) assertMediaType(exchange, route.streamedBody);
    const value = await handleInTime(route, exchange, options.deadlineMs);
    if (route.shows !== undefined && value !== null && value !== undefined) {
      await options.noteShown(exchange.caller, route.shows(value, exchange));
    }

    ctx.status = exchange.status ?? route.status ?? 200;
    setHeaders(ctx, headers);
    ctx.res.setHeader(REQUEST_ID, exchange.traceId);
    if (exchange.headers !== null) setHeaders(ctx, exchange.headers);
    if (value === undefined && ctx.status === 202) answerNothing(ctx);
    else if (value === null) ctx.body = null;
    else ctx.body = isJson ? toJson(value) : value;
  };
}

/** What Node calls a connection that the client closed before it sent all, or before it had the answer. */
const CLOSED: ReadonlySet<unknown> = new Set([
  'ERR_STREAM_PREMATURE_CLOSE',
  'ECONNRESET',
  'EPIPE',
  'HPE_INVALID_EOF_STATE',
]);

/** Koa, and the app around a mount, would print an error with its stack for each client that goes away. */
function ignoreClosedConnection(ctx: Context): void {
  const { onerror } = ctx;
  ctx.onerror = (error: NodeJS.ErrnoException | null) => {
    if (!CLOSED.has(error?.code)) onerror.call(ctx, error as Error);
  };
}

function assertMediaType(exchange: Exchange, expected: readonly string[]): void {
  const [type = ''] = (exchange.header('content-type') ?? '').split(';');
  if (expected.includes(type.trim().toLowerCase())) return;
  throw new MemoryError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${expected.join(' or ')}.`, {
    situation: 'streamed',
  });
}

function handleInTime(
  route: RouteDefinition,
  exchange: Exchange,
  defaultMs: number,
): Promise<unknown> | unknown {
  const value: unknown = route.handle(exchange);
  const { deadlineMs = defaultMs } = route;
  if (deadlineMs === null || !(value instanceof Promise)) return value;
  return withDeadline(value, msLeft(deadlineMs, exchange.arrivedAt), () =>
    route.method === 'GET' ? new MemoryError('STORAGE_UNAVAILABLE') : outcomeUnknown(),
  );
}

/**
 * Streams a list item by item, because serialising a hundred files at once would block the event
 * loop.
 */
function toJson(value: unknown): string | Readable {
  if (!Array.isArray(value) || value.length < 2) return JSON.stringify(value);
  return Readable.from(writeList(value as unknown[]));
}

async function* writeList(items: readonly unknown[]): AsyncGenerator<string, void> {
  for (const [index, item] of items.entries()) {
    yield (index === 0 ? '[' : ',') + JSON.stringify(item);
    await nextTurn();
  }
  yield ']';
}

/** The validators of a route's requests. */
interface Checks {
  parseQuery: ReturnType<typeof compileQuery>;
  body: ((value: unknown) => unknown) | null;
  signedInBody: ((value: unknown) => unknown) | null;
}

function compileChecks({ querySchema, bodySchema, signedIn }: RouteDefinition): Checks {
  const body = bodySchema === undefined ? null : compileSchema(bodySchema);
  const signedInBody =
    signedIn?.bodySchema === undefined ? body : compileSchema(signedIn.bodySchema);
  return { parseQuery: compileQuery(querySchema), body, signedInBody };
}

/**
 * The body as parsed by the surrounding app: Koa's parsers store it in `ctx.request`, Express's in
 * the request. For types they don't parse, both leave an empty object and don't read the body.
 */
function parsedByHost({ req, request }: Context): unknown {
  if (!req.readableEnded) return undefined;
  return (request as { body?: unknown }).body ?? (req as { body?: unknown }).body;
}

/**
 * Keeps the status, because Koa turns an empty answer into a 204 and an empty JSON answer into
 * `null`.
 */
function answerNothing(ctx: Context): void {
  const { status } = ctx;
  ctx.remove('Content-Type');
  ctx.body = null;
  ctx.status = status;
}

/** Decodes each captured path parameter once. */
function decodeParams(
  names: readonly { name: string; isPath: boolean }[],
  captures: readonly string[],
  { target, kind }: Exchange,
): Record<string, string> {
  // Node decodes bytes above ASCII as Latin-1, and a URL parser turns a backslash into a slash.
  // Either would name another path.
  const isPlain = /^[\x21-\x5b\x5d-\x7e]*$/.test(target);
  const params: Record<string, string> = {};
  names.forEach(({ name, isPath }, index) => {
    const raw = captures[index] ?? '';
    try {
      if (!isPlain) throw new URIError();
      params[name] = decodeURIComponent(raw);
    } catch {
      if (kind === 'none') throw new MemoryError('NOT_FOUND');
      const message = 'is not well-formed: percent-encode it as UTF-8, once';
      if (isPath) throw new MemoryError('INVALID_PATH', `The path ${message}.`);
      throw invalidField(`/${name}`, message);
    }
  });
  return params;
}

/** Handles a request and answers its errors. */
async function answerFailures(
  ctx: Context,
  kind: AuthKind,
  options: MountOptions,
  work: (exchange: Exchange) => unknown,
): Promise<void> {
  const exchange = new Exchange(ctx, kind, options.trustProxy);
  (ctx as OwnContext)[EXCHANGE] = exchange;
  try {
    await work(exchange);
  } catch (thrown) {
    const error = toMemoryError(thrown);
    logFailure(error, exchange, options.log);
    answerError(ctx, error, exchange);
  }
  const { req } = ctx;
  if (req.complete || !hasBody(req)) return;
  if (!req.destroyed) return await drainBody(ctx, options);
  const { traceId, route } = exchange;
  options.log.debug(
    { traceId, route: nameOf(route) },
    'the client disconnected before the end of its body',
  );
}

function answerError(ctx: Context, error: MemoryError, exchange: Exchange): void {
  ctx.status = error.status;
  setHeaders(ctx, DATA_HEADERS);
  ctx.res.setHeader(REQUEST_ID, error.traceId ?? exchange.traceId);
  const retryAfter =
    error.retryAfterSeconds ?? (error.status === 503 && error.retryable ? 1 : null);
  if (retryAfter !== null) ctx.set('Retry-After', String(retryAfter));
  if (error.code === 'UNAUTHORIZED') {
    const { challenge } = exchange.route ?? {};
    ctx.set('WWW-Authenticate', challenge ?? CHALLENGES[exchange.kind]);
  }
  if (error.code === 'SHUTTING_DOWN' || error.code === 'REQUEST_TIMEOUT') {
    ctx.set('Connection', 'close');
  }
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  const { route, traceId } = exchange;
  const { write, idHeader } = route?.errorBody ?? exchange.errorBody ?? {};
  if (idHeader !== undefined) ctx.res.setHeader(idHeader, error.traceId ?? traceId);
  ctx.body = JSON.stringify(write?.(error, traceId) ?? toErrorBody(error, traceId, exchange.kind));
}

function logFailure(error: MemoryError, exchange: Exchange, log: Logger): void {
  if (error.status < 500 || error.cause === undefined) return;
  // The storage has logged it already.
  if (error.code === 'STORAGE_DAMAGED') return;
  // The tool runner has logged it already.
  if (error.code === 'INTERNAL' && error.toolCallId !== undefined) return;
  const { route } = exchange;
  const fields = {
    code: error.code,
    traceId: error.traceId ?? exchange.traceId,
    route: nameOf(route),
    // The cause of a provider's error holds text from the provider.
    error: describeError(isProviderError(error) ? error : error.cause),
  };
  if (error.code === 'INTERNAL') log.error(fields, 'a request failed unexpectedly');
  else log.warn(fields, 'a request failed');
}

/** The route's pattern, because the request's path may hold personal data. */
function nameOf(route: RouteDefinition | null): string | null {
  return route === null ? null : `${route.method} ${route.path}`;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}

const UNREAD_BODY_MS = 5_000;

/**
 * Reads and drops the rest of the body for a while, because closing at once would reset the
 * connection before the client has read the answer. If the connection closes after the answer, as
 * with `urllib`, this resolves at the end of the body. A client that keeps sending is disconnected.
 */
async function drainBody({ req, res }: Context, { maxBodyBytes }: MountOptions): Promise<void> {
  let left = 16 * maxBodyBytes;
  const drained = new Promise<void>((resolve) => {
    const cut = (): void => {
      if (res.shouldKeepAlive) req.socket.destroy();
      // Sends the answer first, then closes the connection.
      resolve();
    };
    const timer = setTimeout(cut, UNREAD_BODY_MS).unref();
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    req.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) cut();
    });
    req.once('end', finish).once('close', finish).resume();
  });
  if (!res.shouldKeepAlive) await drained;
}

function setHeaders({ res }: Context, headers: HeaderList): void {
  for (const [name, value] of headers) res.setHeader(name, value);
}

/** One request and its answer, for checks and handlers. Computes costly values on first use. */
class Exchange implements RouteRequest, RequestHead {
  route: RouteDefinition | null = null;
  /** The format of errors where no route is known. */
  errorBody: RouteDefinition['errorBody'];
  userId: string | null = null;
  apiKey: ApiKey | null = null;
  operator: Operator | null = null;
  params: Readonly<Record<string, string>> = {};
  query: unknown = undefined;
  body: unknown = undefined;
  status: number | null = null;
  headers: [string, string][] | null = null;
  arrivedAt: number;
  readonly kind: AuthKind;
  readonly #ctx: Context;
  readonly #trustProxy: boolean;
  #traceId: string | null = null;
  #signal: AbortSignal | null = null;

  constructor(ctx: Context, kind: AuthKind, trustProxy: boolean) {
    // After the start, the request is routed again.
    this.arrivedAt = (ctx as Partial<OwnContext>)[EXCHANGE]?.arrivedAt ?? performance.now();
    this.kind = kind;
    this.#ctx = ctx;
    this.#trustProxy = trustProxy;
  }

  header(name: string): string | null {
    const value = this.#ctx.req.headers[name];
    return value === undefined ? null : String(value);
  }

  count(name: string): number {
    const { rawHeaders } = this.#ctx.req;
    // Names stand at even places, their values at odd ones.
    return rawHeaders.filter((raw, at) => at % 2 === 0 && raw.toLowerCase() === name).length;
  }

  get stream(): AsyncIterable<Uint8Array> {
    return readStream(this.#ctx.req);
  }

  get target(): string {
    return this.#ctx.originalUrl;
  }

  get ownsOrigin(): boolean {
    return isOfOwnServer(this.#ctx.req);
  }

  get method(): string {
    return this.#ctx.method;
  }

  get caller(): AuditCaller {
    const { address, traceId } = this;
    return { operator: this.operator?.name ?? null, address, traceId };
  }

  get address(): string {
    return clientAddress(this.#ctx.req, this.#trustProxy);
  }

  get traceId(): string {
    this.#traceId ??= parseTraceparent(this.header('traceparent'))?.traceId ?? newTraceId();
    return this.#traceId;
  }

  get signal(): AbortSignal {
    if (this.#signal === null) {
      const controller = new AbortController();
      const { res } = this.#ctx;
      res.once('close', () => {
        if (!res.writableFinished) controller.abort();
      });
      this.#signal = controller.signal;
    }
    return this.#signal;
  }

  setStatus(status: number): void {
    this.status = status;
  }

  /** Sent only if the handler succeeds: errors go out without these headers. */
  setHeader(name: string, value: string): void {
    (this.headers ??= []).push([name, value]);
  }
}
