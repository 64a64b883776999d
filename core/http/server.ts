import { createServer, type RequestListener, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { MemoryError, toErrorBody } from '../errors.ts';
import { newTraceId } from '../ids.ts';
import { REQUEST_ID } from './route.ts';

/** How long `close` waits for requests under way. */
const CLOSE_GRACE_MS = 25_000;

/** Where to listen, and how long to wait for a silent client. Times are milliseconds. */
export interface ListenOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** How long the header of a request may take to arrive; default 15,000. */
  headersTimeoutMs?: number;
  /** How long a connection may stay open between two requests; default 65,000. */
  keepAliveTimeoutMs?: number;
  /** How long a connection may be silent in the middle of a request; default 300,000. */
  idleTimeoutMs?: number;
}

/** Answers requests; `endStreams` ends the streams, which do not end by themselves. */
export type ServedListener = RequestListener & { endStreams?(): void };

/** A server that accepts connections. */
export interface ListeningServer {
  readonly address: AddressInfo;
  /**
   * Stops accepting, lets requests under way finish, then closes what is left after `graceMs`
   * (default and most: 25,000). `isClean` is `false` when something had to be cut off.
   */
  close(options?: { graceMs?: number }): Promise<{ isClean: boolean }>;
}

/** All headers of a request together; `answerClientError` answers larger ones. */
const MAX_HEADER_BYTES = 16_384;
const IDLE_SWEEP_MS = 50;

/**
 * Serves an app over HTTP/1.1. Rejects with the system's error, `EADDRINUSE` say, when it cannot
 * listen. There is no limit on the time of a whole request, since an import has none: headers and
 * JSON bodies each have their own.
 */
export async function listen(
  app: { callback(): ServedListener },
  options: ListenOptions,
): Promise<ListeningServer> {
  const headersTimeout = options.headersTimeoutMs ?? 15_000;
  const serve = app.callback();
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
      // A request that arrives during the shutdown is served, and closes its connection.
      if (closing !== null) response.setHeader('Connection', 'close');
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
  // Running out of descriptors is an error of the server: it must not end the process.
  server.on('error', () => undefined);

  return {
    address: server.address() as AddressInfo,
    close({ graceMs = CLOSE_GRACE_MS } = {}) {
      closing ??= new Promise((resolve) => {
        let isClean = true;
        // Node closes the connections that are idle now; one that becomes so later would stay open
        // for as long as keep-alive lasts.
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
          resolve({ isClean });
        });
        server.closeIdleConnections();
        serve.endStreams?.();
      });
      return closing;
    },
  };
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
