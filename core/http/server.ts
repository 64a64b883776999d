import { closeSync, openSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { devNull } from 'node:os';
import type { Logger } from '../contracts/logger.ts';
import { MemoryError, toErrorBody } from '../errors.ts';
import { newTraceId } from '../ids/ids.ts';
import { noteOwnServer } from './own-server.ts';
import { REQUEST_ID } from './route.ts';

/** How long `close` waits for running requests. */
const CLOSE_GRACE_MS = 25_000;

/** Where to listen, and how long to wait for a silent client. Times are milliseconds. */
export interface ListenOptions {
  host: string;
  /** 0 chooses a free port. */
  port: number;
  /** How long the request headers may take to arrive; default 15,000. */
  headersTimeoutMs?: number;
  /** How long an idle connection stays open; default 65,000. */
  keepAliveTimeoutMs?: number;
  /** How long a connection may be silent during a request; default 300,000. */
  idleTimeoutMs?: number;
  /** Told when the process has no file descriptors left. */
  log?: Pick<Logger, 'error'>;
}

/** Answers requests; `endStreams` ends event streams, which would otherwise stay open. */
export type ServedListener = RequestListener & { endStreams?(): void };

/** A server that accepts connections. */
export interface ListeningServer {
  readonly address: AddressInfo;
  /**
   * Stops accepting connections, lets running requests finish, and cuts off the rest after
   * `graceMs` (default and maximum: 25,000). `isClean` is `false` if something was cut off.
   */
  close(options?: { graceMs?: number }): Promise<{ isClean: boolean }>;
}

/** Limit of all request headers together; `answerClientError` answers larger ones. */
const MAX_HEADER_BYTES = 16_384;
const IDLE_SWEEP_MS = 50;
/** How often descriptors are looked for, and how often the log says that there are none. */
const DESCRIPTOR_LOOK_MS = 1_000;
const DESCRIPTOR_LOG_MS = 60_000;

/**
 * Serves an app over HTTP/1.1. Rejects with the system's error, such as `EADDRINUSE`, if it cannot
 * listen. There is no time limit for whole requests, because imports have none; headers and JSON
 * bodies have their own.
 */
export async function listen(
  app: { callback(): ServedListener },
  options: ListenOptions,
): Promise<ListeningServer> {
  const headersTimeout = options.headersTimeoutMs ?? 15_000;
  const serve = app.callback();
  const refused = new WeakSet<Socket>();
  let closing: Promise<{ isClean: boolean }> | null = null;
  const server = createServer(
    {
      headersTimeout,
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: 0,
      keepAliveTimeout: options.keepAliveTimeoutMs ?? 65_000,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      noDelay: true,
    },
    (request, response) => {
      if (refused.has(request.socket)) return;
      if (!isFramed(request)) {
        // Another party on the way may see another end of this body: nothing behind it is served.
        refused.add(request.socket);
        answerClientError(new Error('ambiguous framing'), request.socket);
        return;
      }
      // Requests that arrive during shutdown are served, and their connections closed.
      if (closing !== null) response.setHeader('Connection', 'close');
      noteOwnServer(request);
      serve(request, response);
    },
  );
  server.setTimeout(options.idleTimeoutMs ?? 300_000);
  server.on('clientError', answerClientError);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // Running out of file descriptors is a server error that must not end the process.
  server.on('error', () => undefined);
  const watch = options.log === undefined ? null : watchDescriptors(options.log);

  return {
    address: server.address() as AddressInfo,
    close({ graceMs = CLOSE_GRACE_MS } = {}) {
      closing ??= new Promise((resolve) => {
        let isClean = true;
        // Node closes only connections that are idle now. Later ones would stay open until the
        // keep-alive timeout.
        const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
        const cut = setTimeout(
          () => {
            isClean = false;
            server.closeAllConnections();
          },
          Math.min(graceMs, CLOSE_GRACE_MS),
        );
        server.close(() => {
          clearInterval(sweep);
          clearTimeout(cut);
          if (watch !== null) clearInterval(watch);
          resolve({ isClean });
        });
        server.closeIdleConnections();
        serve.endStreams?.();
      });
      return closing;
    },
  };
}

/**
 * Whether everybody agrees where the body ends. Node's parser refuses most of what is ambiguous. It
 * accepts chunks in HTTP/1.0, whose readers don't know them, and codings before them, which nobody
 * decodes here (RFC 9112, section 6.1).
 */
function isFramed({ httpVersionMajor, httpVersionMinor, headers }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return true;
  const knowsChunks = httpVersionMajor === 1 && httpVersionMinor >= 1;
  return (
    knowsChunks &&
    encoding.trim().toLowerCase() === 'chunked' &&
    headers['content-length'] === undefined
  );
}

/**
 * Logs that no descriptor is left. Node tells nobody: it closes each new connection without an error. A
 * look opens one and closes it again.
 */
function watchDescriptors(log: Pick<Logger, 'error'>): NodeJS.Timeout {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    try {
      closeSync(openSync(devNull, 'r'));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EMFILE' && code !== 'ENFILE') return;
      if (performance.now() - loggedAt < DESCRIPTOR_LOG_MS) return;
      loggedAt = performance.now();
      log.error(
        { code },
        'no file descriptors are left: connections are refused and files can not be opened. Raise the limit (ulimit -n, or LimitNOFILE of systemd)',
      );
    }
  };
  return setInterval(look, DESCRIPTOR_LOOK_MS).unref();
}

/** Answers a request that Node's parser refused with the usual error body. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = toRefusal(error.code);
  const traceId = newTraceId();
  const body = JSON.stringify(toErrorBody(refusal, traceId));
  socket.end(
    [
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'X-Content-Type-Options: nosniff',
      `${REQUEST_ID}: ${traceId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function toRefusal(code: string | undefined): MemoryError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new MemoryError('REQUEST_TIMEOUT');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new MemoryError('INVALID_REQUEST', 'The headers are too large.', { status: 431 });
  }
  return new MemoryError('INVALID_REQUEST', 'This is not HTTP that the service understands.');
}
