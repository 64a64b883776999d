import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { Middleware } from 'koa';
import type { MemoryServiceConfig } from './config/service.ts';
import type { TypedToolRunner } from './contracts/tool.ts';
import { ConfigError } from './config/error.ts';
import { createCore, type StartOptions } from './service.ts';
import { withDefaultPlugins } from './host/default-plugins.ts';
import { type AdminCalls, createAdminCalls } from './http/admin-calls.ts';
import { type CallbackOptions, createApp, type MiddlewareOptions } from './http/app.ts';
import { serviceRoutes } from './http/routes.ts';

export type { MemoryServiceConfig } from './config/service.ts';
export type {
  BuiltInTools,
  ToolDescription,
  ToolRequest,
  ToolResponse,
  ToolRunner,
  TypedToolRunner,
} from './contracts/tool.ts';
export type { AdminCallOptions, AdminCalls, AdminRoutes } from './http/admin-calls.ts';
export type { CallbackOptions, MiddlewareOptions } from './http/app.ts';
export type { StartOptions } from './service.ts';
export type { ResolveUserId } from './http/signed-in.ts';
export { ConfigError } from './config/error.ts';
export { ERROR_CODES, MemoryError } from './errors.ts';
export type { ErrorBody, ErrorCode } from './errors.ts';

/** A memory service: its tools in process, its API as a Koa app, and its life. */
export interface MemoryService {
  /** A Koa app with nothing but the service. */
  readonly app: Koa;
  /** The tools in this process: what adapters take. */
  readonly tools: TypedToolRunner;
  /** The admin API in this process, without HTTP; see {@link AdminCalls}. */
  readonly admin: AdminCalls;
  /**
   * For a Koa app that exists: answers the routes below `basePath` and calls `next()` for all
   * else. It opens storage at its first request and starts no background work. With `resolveUserId`
   * the tools API works for who is signed in to that app.
   *
   * @example
   * app.use(service.middleware({ resolveUserId: (ctx) => ctx.state.userId }));
   */
  middleware(options?: MiddlewareOptions): Middleware;
  /**
   * A listener for `node:http` and whatever takes one. `resolveUserId` gets Node's own request, with
   * what the server around it put there.
   */
  callback(options?: CallbackOptions): RequestListener;
  /** Opens storage, migrates it, sets up plugins. Every call that needs it waits for it anyway. */
  ready(): Promise<void>;
  /** `ready`, then the plugins' start hooks and the background jobs. */
  start(options?: StartOptions): Promise<void>;
  /**
   * Writes the access rows and events that are queued, and resolves once they are stored. Call it where the host
   * freezes the process between requests. Throws `STORAGE_UNAVAILABLE` if they could not be written; they stay queued.
   *
   * @example
   * after(() => service.flush()); // in a route handler of Next.js
   */
  flush(): Promise<void>;
  /** Writes what is queued and closes storage. Calls from then on answer `SHUTTING_DOWN`. */
  close(): Promise<void>;
}

/**
 * Makes a memory service, with MCP and dreaming unless the configuration brings them with options of
 * its own. It reads no environment, prints nothing, installs no signal handler, and opens nothing
 * before it is used: no dream without `dream.enabled` and `start()`. Throws a `ConfigError` for a value that is not allowed.
 *
 * @example
 * import { createMemoryService } from 'memory-service';
 * import { sqlite } from 'memory-service/plugins/storage-sqlite';
 *
 * const service = createMemoryService({ storage: sqlite({ filename: 'memory.db' }) });
 * const { result } = await service.tools.execute('memory_write', {
 *   context: { userId: 'alice' },
 *   arguments: { path: 'user/profile.md', content: '- Prefers tea.\n' },
 * });
 * await service.close();
 */
export function createMemoryService(config: MemoryServiceConfig): MemoryService {
  const core = createCore(config, {
    checkRoutes: (routes) => http.checkRoutes(routes),
    findPlugins: withDefaultPlugins,
  });
  const routes = serviceRoutes(core);
  const http = createApp(core, routes);
  return {
    app: http.app,
    // Its types are made of the schemas of the routes.
    admin: createAdminCalls(core, routes) as AdminCalls,
    // The definitions are checked against the services that the types come from.
    tools: core.tools as TypedToolRunner,
    middleware: (options) => http.middleware(checkMount(options)),
    callback: (options) => http.callback(checkMount(options)),
    ready: () => core.ready(),
    start: (options) => core.start(options),
    flush: () => core.flush(),
    close: () => core.close(),
  };
}

/** From JavaScript anything may come, and what is no function would let nobody in, or everybody. */
function checkMount<T extends MiddlewareOptions | CallbackOptions>(options: T | undefined): T {
  const given: { resolveUserId?: unknown } = options ?? {};
  if (given.resolveUserId !== undefined && typeof given.resolveUserId !== 'function') {
    throw new ConfigError('resolveUserId', 'resolveUserId must be a function.');
  }
  return (options ?? {}) as T;
}
