// The load generator: a process that keeps connections open and asks again as soon as it is
// answered. Plain sockets and prepared bytes, so that it takes as little as can be of the machine
// that it shares with what it measures.

import { connect, type Socket } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import type { Turn } from './contestant.ts';

export interface Load {
  port: number;
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  /** One is picked for each request; `{n}` becomes a number that never comes twice. */
  bodies: readonly string[];
  connections: number;
  seconds: number;
  /** Ask for each body once, in order, and stop. */
  once: boolean;
  /** What an answer's body contains when it is right. */
  expect: string;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const MARKER = '{n}';
const STRIDE = 7_919;

let n = 0;

process.on('message', ({ id, request }: { id: number; request: Load }) => {
  runLoad(request).then(
    (answer) => process.send?.({ id, answer }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

async function runLoad(load: Load): Promise<Turn> {
  const histogram = createHistogram({ highest: 60e9, figures: 3 });
  const perSecond: number[] = [];
  const makeRequest = prepareRequests(load);
  let operations = 0;
  let failed = 0;
  let failure: string | null = null;
  let asked = 0;
  const start = performance.now();
  const end = start + load.seconds * 1_000;
  const mayAsk = (): boolean => (load.once ? asked < load.bodies.length : performance.now() < end);

  function count(startedAt: number, answer: Answer): void {
    const now = performance.now();
    histogram.record(Math.max(1, Math.round((now - startedAt) * 1e6)));
    const second = Math.floor((now - start) / 1_000);
    perSecond[second] = (perSecond[second] ?? 0) + 1;
    if (answer.status >= 200 && answer.status < 300 && answer.body.includes(load.expect)) {
      operations += 1;
      return;
    }
    failed += 1;
    failure ??= `${answer.status} ${answer.body.toString('utf8', 0, 500)}`;
  }

  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const connection = await openConnection(load.port);
      while (mayAsk()) {
        const request = makeRequest(asked);
        asked += 1;
        const startedAt = performance.now();
        count(startedAt, await connection.ask(request));
      }
      connection.close();
    }),
  );
  const seconds = (performance.now() - start) / 1_000;
  return {
    operations,
    failed,
    failure,
    seconds,
    latency: { p50: histogram.percentile(50) / 1e6, p99: histogram.percentile(99) / 1e6 },
    loopDelay: null,
    perSecond: Array.from({ length: Math.floor(seconds) }, (_, at) => perSecond[at] ?? 0),
  };
}

/** Every request as bytes; those whose body holds `{n}` are put together when they are asked. */
function prepareRequests(load: Load): (asked: number) => Buffer | string {
  const head = [
    `${load.method} ${load.path} HTTP/1.1`,
    `Host: 127.0.0.1:${load.port}`,
    ...Object.entries(load.headers).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');
  const toRequest = (body: string): string =>
    load.method === 'GET'
      ? `${head}\r\n\r\n`
      : `${head}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const requests = load.bodies.map((body) => {
    if (!body.includes(MARKER)) return Buffer.from(toRequest(body));
    const parts = body.split(MARKER);
    return () => toRequest(parts.join((n++).toString(36)));
  });
  return (asked) => {
    const index = load.once ? asked : Math.imul(asked, STRIDE) >>> 0;
    const request = requests[index % requests.length];
    if (request === undefined) throw new Error('There is nothing to ask for.');
    return typeof request === 'function' ? request() : request;
  };
}

interface Answer {
  status: number;
  body: Buffer;
}

interface Connection {
  ask(request: Buffer | string): Promise<Answer>;
  close(): void;
}

async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;
  let isClosing = false;
  const fail = (error: Error): void => {
    settle?.reject(error);
    settle = null;
  };
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  socket.on('error', fail);
  socket.on('close', () => {
    if (!isClosing) fail(new Error('The server closed a connection that was to stay open.'));
  });
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = takeAnswer(received, socket);
    if (answer === null) return;
    received = Buffer.alloc(0);
    settle?.resolve(answer);
  });
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) {
          reject(new Error('The connection is closed.'));
          return;
        }
        settle = { resolve, reject };
        socket.write(request);
      }),
    close() {
      isClosing = true;
      socket.destroy();
    },
  };
}

/** The answer in `received` once it is whole. Throws into the socket what is no such answer. */
function takeAnswer(received: Buffer, socket: Socket): Answer | null {
  const headEnd = received.indexOf(END_OF_HEAD);
  if (headEnd === -1) return null;
  const head = received.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) {
    socket.destroy(new Error('The answer has no Content-Length: its end cannot be told.'));
    return null;
  }
  const bodyStart = headEnd + END_OF_HEAD.length;
  if (received.length < bodyStart + Number(length)) return null;
  return {
    status: Number(head.slice(9, 12)),
    body: received.subarray(bodyStart, bodyStart + Number(length)),
  };
}
