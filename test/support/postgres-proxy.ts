import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Cut } from './fault-proxy.ts';

/** A TCP proxy before a PostgreSQL that reads along, and cuts connections at a statement. */
export interface PostgresProxy {
  readonly port: number;
  /** The texts of all statements that came, of all connections, in order. */
  readonly statements: readonly string[];
  /** Cuts the connection of the next statement that is chosen; resolves when it was. */
  cut(when: Cut, choose: (statement: string) => boolean): Promise<void>;
  /** Connections get no answer any more once a chosen statement came on them, and stay open. */
  silence(choose: ((statement: string) => boolean) | null): void;
  /** Cuts what is connected, and refuses new connections until it is called with `false`. */
  refuse(isRefusing: boolean): void;
}

interface Fault {
  when: Cut;
  choose: (statement: string) => boolean;
  done: () => void;
}

/** Starts a proxy on the loopback until the test ends. It reads what is sent without TLS. */
export async function startPostgresProxy(target: number): Promise<PostgresProxy> {
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  let faults: Fault[] = [];
  let isRefusing = false;
  let silence: ((statement: string) => boolean) | null = null;

  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    const upstream = connect(target, '127.0.0.1');
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    let unanswered: Fault | null = null;
    let isSilent = false;
    /** Whether the connection goes on. */
    const read = readMessages((statement) => {
      statements.push(statement);
      if (silence?.(statement) === true) isSilent = true;
      const fault = faults.find(({ choose }) => choose(statement)) ?? null;
      faults = faults.filter((other) => other !== fault);
      if (fault?.when === 'before') {
        cut();
        fault.done();
        return false;
      }
      unanswered = fault ?? unanswered;
      return true;
    });
    client.on('data', (chunk: Buffer) => {
      if (read(chunk)) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isSilent) return;
      if (unanswered === null) return void client.write(chunk);
      cut();
      unanswered.done();
      unanswered = null;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  return {
    port: (server.address() as { port: number }).port,
    statements,
    cut: (when, choose) => new Promise<void>((done) => faults.push({ when, choose, done })),
    silence(choose) {
      silence = choose;
    },
    refuse(refuses) {
      isRefusing = refuses;
      if (refuses) for (const socket of sockets) socket.destroy();
    },
  };
}

/** Puts a client's bytes together to messages, and reads the texts of those that have one. */
function readMessages(onStatement: (text: string) => boolean): (chunk: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  // The first message has no type.
  let start = 0;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= start + 4) {
      const length = start + rest.readUInt32BE(start);
      if (rest.length < length) return true;
      const [type, payload] = [start === 0 ? '' : String.fromCharCode(rest[0] ?? 0), rest];
      const text = payload.toString('utf8', 5, length).split('\0');
      rest = rest.subarray(length);
      start = 1;
      // Q has the statement alone; P has its name first.
      const statement = type === 'Q' ? text[0] : type === 'P' ? text[1] : undefined;
      if (statement !== undefined && !onStatement(statement)) return false;
    }
    return true;
  };
}
