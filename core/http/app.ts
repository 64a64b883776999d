import Koa, { type Context, type Middleware, type Next } from 'koa';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { KnownKeys } from '../access/known-keys.ts';
import { createProxySignIn } from '../access/operators.ts';
import type { RouteDefinition } from '../contracts/route.ts';
import type { Core } from '../service.ts';
import { CALL_DEADLINE_MS } from '../time/deadline.ts';
import { MemoryError } from '../errors.ts';
import { BODY_LIMITS } from './body.ts';
import { describeError } from '../describe-error.ts';
import { adminAuth } from './middleware/admin-auth.ts';
import { checkHost } from './middleware/host.ts';
import { toolsAuth } from './middleware/tools-auth.ts';
import { assertCompilable, type MountedRoutes, mountRoutes } from './route.ts';
import type { ServedListener } from './server.ts';
import { type ResolveUserId, SIGN_IN_TIMEOUT_MS } from './signed-in.ts';

/** What HTTP needs of the service, beside its routes. */
export type AppCore = Pick<
  Core,
  'settings' | 'log' | 'now' | 'state' | 'ready' | 'lateStart' | 'pluginRoutes'
> &
  Partial<Pick<Core, 'contentsAudit' | 'eventStreams'>> & {
    access: { known: Pick<KnownKeys, 'find' | 'list'> };
  };

/** The service over HTTP. */
export interface HttpApp {
  /** A Koa app that serves only this service. */
  readonly app: Koa;
  /** For an existing app: answers the service's own routes and leaves all others alone. */
  middleware(options?: MiddlewareOptions): Middleware;
  /** A request listener for `node:http`. */
  callback(options?: CallbackOptions): ServedListener;
  /**
   * Throws if these plugin routes clash with others, lie outside the area of their kind of
   * authentication, or have an invalid schema.
   */
  checkRoutes(extra: readonly RouteDefinition[]): void;
}

/** Options of one mount. */
export interface MiddlewareOptions {
  /**
   * Finds the user signed in to the app. The tools API then works for that user alone, needs no API
   * key, and refuses a request that names another user. With `null` the request needs the API key.
   */
  resolveUserId?: ResolveUserId;
}

/** Like {@link MiddlewareOptions}, for servers other than Koa: it receives Node's request. */
export interface CallbackOptions {
  resolveUserId?: (
    request: IncomingMessage,
  ) => string | null | undefined | Promise<string | null | undefined>;
}

/** Time limits that are not settings. */
export interface AppOptions {
  /** How long a body may take to arrive; default 30,000. */
  bodyTimeoutMs?: number;
  /** How long `resolveUserId` may take; default 10,000. */
  signInTimeoutMs?: number;
  /** Deadline of routes without one of their own; default 15,000. */
  callDeadlineMs?: number;
}

/**
 * Builds the Koa app and the mountable middleware from the route table. Routes of plugins join it
 * once the service has started. Throws when two of `routes` clash.
 */
export function createApp(
  core: AppCore,
  routes: readonly RouteDefinition[],
  options: AppOptions = {},
): HttpApp {
  const { settings, log } = core;
  const hostCheck = checkHost(settings.allowedHosts);
  const admin = adminAuth(settings.adminSecret, {
    now: core.now,
    keys: core.access.known,
    proxy: createProxySignIn(settings),
  });

  function createMount(resolveUserId: ResolveUserId | null): Mount {
    const auth = {
      none: () => undefined,
      tools: toolsAuth(settings.apiKey ?? [], {
        hasSignIn: resolveUserId !== null,
        keys: core.access.known,
      }),
      admin,
    };
    const mount = (extra: readonly RouteDefinition[]): MountedRoutes =>
      mountRoutes([...routes, ...extra], {
        checkHost: hostCheck,
        checkTarget: checkHost(null),
        auth,
        resolveUserId,
        noteShown: (caller, paths) => core.contentsAudit?.note(caller, paths),
        signInTimeoutMs: options.signInTimeoutMs ?? SIGN_IN_TIMEOUT_MS,
        basePath: settings.basePath,
        trustProxy: settings.trustProxy,
        maxBodyBytes: settings.limits.maxBodyBytes,
        bodyTimeoutMs: options.bodyTimeoutMs ?? BODY_LIMITS.timeoutMs,
        deadlineMs: options.callDeadlineMs ?? CALL_DEADLINE_MS,
        log,
        isOpen: () => core.state() === 'ready',
        open: () => core.ready(),
        lateStart: () => core.lateStart(),
        redispatch: middleware,
      });

    let mounted = mount([]);
    let pluginRoutes = 0;
    function current(): MountedRoutes {
      if (core.pluginRoutes.length === pluginRoutes || core.state() !== 'ready') return mounted;
      pluginRoutes = core.pluginRoutes.length;
      try {
        mounted = mount(core.pluginRoutes);
      } catch (error) {
        log.error(
          { error: describeError(error) },
          'the routes of the plugins could not be mounted',
        );
      }
      return mounted;
    }
    function middleware(ctx: Context, next: Next): Promise<unknown> {
      return current().middleware(ctx, next) as Promise<unknown>;
    }
    return { middleware, rest: mounted.rest, check: (extra) => void mount(extra) };
  }

  function createKoa({ middleware, rest }: Mount): Koa {
    const koa = new Koa();
    koa
      .use(middleware)
      .use(rest)
      .use((ctx) => leadToConsole(ctx, settings.basePath));
    // Errors reach Koa itself only after the answer began: usually the client has disconnected.
    koa.on('error', (error: unknown) => {
      log.debug({ error: describeError(error) }, 'an answer was cut short');
    });
    return koa;
  }

  const plain = createMount(null);
  const app = createKoa(plain);
  return {
    app,
    middleware: ({ resolveUserId } = {}) =>
      resolveUserId === undefined ? plain.middleware : createMount(resolveUserId).middleware,
    callback({ resolveUserId } = {}) {
      const koa =
        resolveUserId === undefined ? app : createKoa(createMount((ctx) => resolveUserId(ctx.req)));
      const endStreams = () => core.eventStreams?.close();
      const answer = koa.callback() as RequestListener;
      const listener: RequestListener = (request, response) => {
        request.url = withPrefix(request, settings.basePath);
        answer(request, response);
      };
      return Object.assign(listener, { endStreams });
    },
    checkRoutes(extra) {
      assertCompilable(extra);
      plain.check(extra);
    },
  };
}

/** The address below `basePath`, also where a mount of that path took it away, as Express does. */
function withPrefix(request: IncomingMessage, basePath: string): string {
  const { url = '/', originalUrl = url } = request as IncomingMessage & { originalUrl?: string };
  const isBelow = (address: string) => `${address}/`.startsWith(`${basePath}/`);
  return isBelow(originalUrl) && !isBelow(url) ? originalUrl : url;
}

/**
 * Redirects a browser that opens the service's address to the console. The address is relative: a
 * proxy or a framework may have removed a prefix that the browser sees.
 */
function leadToConsole(ctx: Context, basePath: string): void {
  const isPage = ctx.method === 'GET' && ctx.path === '/' && ctx.accepts('json', 'html') === 'html';
  if (!isPage) throw new MemoryError('NOT_FOUND');
  // Below a mount, Express takes the prefix of the mount out of `path`. `originalUrl` still has it.
  const { originalUrl = '/' } = ctx.req as { originalUrl?: string };
  const [seen = '/'] = originalUrl.split(/[?#]/, 1);
  const mount = seen.endsWith('/') ? '.' : `.${seen.slice(seen.lastIndexOf('/'))}`;
  ctx.redirect(`${mount}${basePath}/admin`);
}

/** The routes of one app. */
interface Mount extends MountedRoutes {
  /**
   * Throws if these plugin routes clash with others or lie outside the area of their kind of
   * authentication.
   */
  check(extra: readonly RouteDefinition[]): void;
}
