import Koa, { type Context, type Middleware, type Next } from 'koa';
import type { RequestListener } from 'node:http';
import type { RouteDefinition } from '../contracts/route.ts';
import type { Core } from '../core.ts';
import { MemoryError } from '../errors.ts';
import { BODY_LIMITS } from './body.ts';
import { describeError } from '../describe-error.ts';
import { adminAuth } from './middleware/admin-auth.ts';
import { checkHost } from './middleware/host.ts';
import { toolsAuth } from './middleware/tools-auth.ts';
import { type MountedRoutes, mountRoutes } from './route.ts';

/** How long a client waits before it tries an instance that shuts down again. */
const RETRY_AFTER_SECONDS = 5;

/** What HTTP needs of the service, beside its routes. */
export type AppCore = Pick<Core, 'settings' | 'log' | 'now' | 'state' | 'ready' | 'pluginRoutes'>;

/** The service over HTTP. */
export interface HttpApp {
  /** A Koa app with nothing but the service. */
  readonly app: Koa;
  /** For an app that exists: answers the service's own routes and touches nothing else. */
  middleware(): Middleware;
  /** A request listener for `node:http`. */
  callback(): RequestListener;
  /** Throws when these routes of plugins clash with others, or stand where they may not. */
  checkRoutes(extra: readonly RouteDefinition[]): void;
}

/** Limits of the app that no setting has. */
export interface AppOptions {
  /** How long a body may take to arrive; default 30,000. */
  bodyTimeoutMs?: number;
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
  const checks = {
    checkHost: checkHost(settings.allowedHosts),
    auth: {
      none: () => undefined,
      tools: toolsAuth(settings.apiKeys),
      admin: adminAuth(settings.adminSecret, core.now),
    },
  };
  const mount = (extra: readonly RouteDefinition[]): MountedRoutes =>
    mountRoutes([...routes, ...extra], {
      ...checks,
      basePath: settings.basePath,
      trustProxy: settings.trustProxy,
      maxBodyBytes: settings.limits.maxBodyBytes,
      bodyTimeoutMs: options.bodyTimeoutMs ?? BODY_LIMITS.timeoutMs,
      log,
      isOpen: () => core.state() === 'ready',
      open: () => open(core),
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
      log.error({ error: describeError(error) }, 'the routes of the plugins could not be mounted');
    }
    return mounted;
  }
  function middleware(ctx: Context, next: Next): Promise<unknown> {
    return current().middleware(ctx, next) as Promise<unknown>;
  }

  const app = new Koa();
  app.use(middleware).use(mounted.notFound);
  // What reaches Koa itself went wrong after the answer began: mostly a client that left.
  app.on('error', (error: unknown) => {
    log.debug({ error: describeError(error) }, 'an answer was cut short');
  });
  return {
    app,
    middleware: () => middleware,
    callback: () => app.callback() as RequestListener,
    checkRoutes: (extra) => void mount(extra),
  };
}

async function open(core: AppCore): Promise<void> {
  const state = core.state();
  if (state === 'closing' || state === 'closed') {
    throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  await core.ready();
}
