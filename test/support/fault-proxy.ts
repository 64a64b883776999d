import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';

/** Where a connection is cut: the server never gets the statement, or its answer goes nowhere. */
export type Cut = 'before' | 'after';

/** A TCP proxy before a MySQL-family server that reads along, and cuts connections at a statement. */
export interface FaultProxy {
  readonly port: number;
  /** The texts of all statements that came, of all connections, in order. */
  readonly statements: readonly string[];
  /** Connections that were made ever. */
  readonly connections: number;
  /** Cuts the connection of the next statement that is chosen; resolves when it was. */
  cut(when: Cut, choose: (statement: string) => boolean): Promise<void>;
  /** Passes the next statement that is chosen, or its answer, on only when something else is done. */
  hold(
    when: Cut,
    choose: (statement: string) => boolean,
    until: () => Promise<void>,
  ): Promise<void>;
  /** Cuts what is connected, and refuses new connections until it is called with `false`. */
  refuse(isRefusing: boolean): void;
  close(): Promise<void>;
}

const QUERY = 0x03;
const PREPARE = 0x16;
const EXECUTE = 0x17;

interface Fault {
  when: Cut;
  choose: (statement: string) => boolean;
  until?: () => Promise<void>;
  done: () => void;
}

/** Starts a proxy on the loopback. It reads statements that are sent without TLS or compression. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  let faults: Fault[] = [];
  let connections = 0;
  let isRefusing = false;

  /** What is to happen at a statement; it happens once. */
  const meet = (statement: string): Fault | null => {
    statements.push(statement);
    const fault = faults.find(({ choose }) => choose(statement)) ?? null;
    faults = faults.filter((other) => other !== fault);
    return fault;
  };

  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    connections += 1;
    const upstream = connect(target, '127.0.0.1');
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // What is sent in one piece is passed on as it comes.
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    const prepared = new Map<number, string>();
    let preparing: string | null = null;
    let unanswered: Fault | null = null;
    let held: Fault | null = null;
    const packets = readPackets((header, payload) => {
      const statement = readStatement(header, payload, prepared);
      if (statement === null) return true;
      if (payload[0] === PREPARE) {
        preparing = statement;
        return true;
      }
      const fault = meet(statement);
      if (fault?.when === 'before' && fault.until === undefined) {
        cut();
        fault.done();
        return false;
      }
      if (fault?.when === 'before') held = fault;
      else unanswered = fault;
      return true;
    });
    client.on('data', (chunk: Buffer) => {
      if (!packets(chunk)) return;
      if (held === null) return void upstream.write(chunk);
      passLater(held, client, upstream, chunk);
      held = null;
    });
    upstream.on('data', (chunk: Buffer) => {
      if (unanswered !== null) {
        if (unanswered.until !== undefined) {
          passLater(unanswered, upstream, client, chunk);
        } else {
          cut();
          unanswered.done();
        }
        unanswered = null;
        return;
      }
      if (preparing !== null && chunk[4] === 0) prepared.set(chunk.readUInt32LE(5), preparing);
      preparing = null;
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as { port: number }).port,
    statements,
    get connections() {
      return connections;
    },
    cut: (when, choose) => new Promise<void>((done) => faults.push({ when, choose, done })),
    hold: (when, choose, until) =>
      new Promise<void>((done) => faults.push({ when, choose, until, done })),
    refuse(refuses) {
      isRefusing = refuses;
      if (refuses) for (const socket of sockets) socket.destroy();
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Passes bytes on once what was to be done before that is done. */
function passLater({ until, done }: Fault, from: Socket, to: Socket, chunk: Buffer): void {
  from.pause();
  void until?.().finally(() => {
    to.write(chunk);
    from.resume();
    done();
  });
}

/** Puts a client's bytes together to packets: 3 bytes of length, the number in the command, and the rest. */
function readPackets(
  onPacket: (number: number, payload: Buffer) => boolean,
): (chunk: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const length = rest.readUIntLE(0, 3);
      if (rest.length < 4 + length) return true;
      const [number, payload] = [rest[3] ?? 0, rest.subarray(4, 4 + length)];
      rest = rest.subarray(4 + length);
      if (!onPacket(number, payload)) return false;
    }
    return true;
  };
}

/** The text of a command that runs or prepares one. */
function readStatement(
  number: number,
  payload: Buffer,
  prepared: ReadonlyMap<number, string>,
): string | null {
  // Others than the first packet belong to the handshake.
  if (number !== 0) return null;
  if (payload[0] === QUERY || payload[0] === PREPARE) return payload.toString('utf8', 1);
  return payload[0] === EXECUTE ? (prepared.get(payload.readUInt32LE(1)) ?? '') : null;
}
