import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import net from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { toSettings } from '../../../core/config/service.ts';
import type { Settings } from '../../../core/config/settings.ts';
import type { Logger } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError, notRun } from '../../../core/errors.ts';
import type { Core, CoreConfig } from '../../../core/service.ts';
import { type AppCore, type AppOptions, createApp, type HttpApp } from '../../../core/http/app.ts';
import { serviceRoutes } from '../../../core/http/routes.ts';
import { type ListenOptions, type ListeningServer, listen } from '../../../core/http/server.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { openCore } from '../../support/service.ts';

export const API_KEY = 'tools-key-0123456789abcdef0123456789abcdef';
export const ADMIN_SECRET = 'admin-secret-0123456789abcdef0123456789';

/** One line of the log, as it was given. */
export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: Record<string, unknown>;
  message: string;
}

/** A log that keeps its lines. */
export function recordingLog(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']) =>
    (fields: Record<string, unknown>, message: string): void => {
      lines.push({ level, fields, message });
    };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export interface TestCore extends AppCore {
  readonly log: Logger & { readonly lines: LogLine[] };
  readonly pluginRoutes: RouteDefinition[];
  clock: { now: number };
  life: { state: ReturnType<AppCore['state']>; readyError: Error | null };
}

/** What HTTP needs of the service when the routes are the test's own. */
export function testCore(settings: Partial<Settings> = {}): TestCore {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const life: TestCore['life'] = { state: 'ready', readyError: null };
  return {
    settings: {
      ...toSettings({ storage: {}, apiKey: [API_KEY], adminSecret: ADMIN_SECRET }),
      ...settings,
    },
    access: { known: { find: () => null, list: () => [] } },
    log: recordingLog(),
    clock,
    life,
    pluginRoutes: [],
    now: () => clock.now,
    state: () => life.state,
    async ready() {
      if (life.readyError !== null) throw life.readyError;
      if (life.state === 'closing' || life.state === 'closed') {
        throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 });
      }
      life.state = 'ready';
    },
    lateStart: notRun,
  };
}

export interface TestServer extends Requester {
  readonly app: HttpApp;
  readonly core: TestCore;
  readonly server: ListeningServer;
}

/** Serves routes of the test on a free loopback port. */
export async function serve(
  routes: readonly RouteDefinition[],
  settings: Partial<Settings> = {},
  options: AppOptions & Partial<ListenOptions> = {},
): Promise<TestServer> {
  const core = testCore(settings);
  const app = createApp(core, routes, options);
  const server = await listen(app, { host: '127.0.0.1', port: 0, ...options });
  return { app, core, server, ...requester(server.address.port) };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; `undefined` when it is not JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the service said
  json: any;
}

export interface RequestInput {
  headers?: OutgoingHttpHeaders;
  /** Sent as it is when it is text or bytes, else as JSON. */
  body?: unknown;
}

export interface Requester {
  readonly port: number;
  /** Sends the path as it is: nothing is normalised on the way. */
  request(method: string, path: string, input?: RequestInput): Promise<Answer>;
  close(): void;
}

export function requester(port: number): Requester {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  return {
    port,
    close: () => agent.destroy(),
    request: (method, path, { headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const payload =
          body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
            ? (body as string | Buffer | undefined)
            : JSON.stringify(body);
        const request = http.request(
          {
            host: '127.0.0.1',
            port,
            method,
            path,
            agent,
            headers: {
              ...(payload === undefined
                ? {}
                : {
                    'content-type': 'application/json',
                    'content-length': Buffer.byteLength(payload),
                  }),
              ...headers,
            },
          },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            const finish = () => {
              const text = Buffer.concat(chunks).toString('utf8');
              let json: unknown;
              try {
                json = JSON.parse(text);
              } catch {
                json = undefined;
              }
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
            };
            response.on('end', finish);
            // A stream has no end: its first bytes are the answer.
            if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
              response.once('data', () => {
                finish();
                response.destroy();
              });
            }
          },
        );
        request.on('error', reject);
        request.end(payload);
      }),
  };
}

export const asAdmin = { 'x-admin-secret': ADMIN_SECRET };
export const asAgent = { authorization: `Bearer ${API_KEY}` };

/** Writes bytes to the server as they are and gives all that comes back until it closes. */
export function rawExchange(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** A route with the least that it needs. */
export function route(
  definition: Pick<RouteDefinition, 'path' | 'handle'> & Partial<RouteDefinition>,
): RouteDefinition {
  return {
    method: 'GET',
    auth: 'none',
    tag: 'Test',
    summary: 'A route of the test',
    resultSchema: {},
    errorCodes: [],
    ...definition,
  };
}

export interface LiveServer extends Requester {
  readonly core: Core;
  readonly routes: readonly RouteDefinition[];
  readonly server: ListeningServer;
  readonly log: Logger & { readonly lines: LogLine[] };
  /** Routes that gave an answer, which then fitted their result schema. */
  readonly answered: ReadonlySet<string>;
}

/** The whole service on a real SQLite file, over loopback. Closed when the test ends. */
export async function serveCore(
  config: Partial<CoreConfig> = {},
  // A busy machine changes no result.
  options: Pick<AppOptions, 'callDeadlineMs'> = { callDeadlineMs: 120_000 },
): Promise<LiveServer> {
  const log = recordingLog();
  const core = await openCore(
    { apiKey: API_KEY, adminSecret: ADMIN_SECRET, log, ...config },
    options,
  );
  const answered = new Set<string>();
  const routes = serviceRoutes(core).map((definition) => checkingAnswers(definition, answered));
  const server = await listenForTest(createApp(core, routes, options));
  const client = requester(server.address.port);
  onTestFinished(async () => {
    client.close();
    await server.close({ graceMs: 0 });
  });
  return { core, routes, server, log, answered, ...client };
}

/** Of the first service that the tests of the console had. */
let consolePort = 0;

/**
 * Listens on a free port. The services of the console's tests listen one after another on the same
 * one, because the browser keeps the code of the console by its address.
 */
async function listenForTest(app: HttpApp): Promise<ListeningServer> {
  const host = '127.0.0.1';
  if (!/[\\/]test[\\/]console[\\/]/.test(expect.getState().testPath ?? '')) {
    return await listen(app, { host, port: 0 });
  }
  try {
    const server = await listen(app, { host, port: consolePort });
    consolePort = server.address.port;
    return server;
  } catch (error) {
    // The service before, or beside it, has it still.
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return await listen(app, { host, port: 0 });
  }
}

/** The same route, failing with `INTERNAL` when an answer does not fit the schema that describes it. */
function checkingAnswers(definition: RouteDefinition, answered: Set<string>): RouteDefinition {
  const { resultSchema, handle, method, path } = definition;
  let check: ((value: unknown) => unknown) | null = null;
  return {
    ...definition,
    async handle(request) {
      const answer = await handle(request);
      if (resultSchema !== null && answer !== null) {
        try {
          check ??= compileSchema(resultSchema);
          check(JSON.parse(JSON.stringify(answer)));
        } catch (error) {
          throw new Error(`${method} ${path}: ${(error as Error).message}`, { cause: error });
        }
      }
      answered.add(`${method} ${path}`);
      return answer;
    },
  };
}
