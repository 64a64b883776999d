import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';

/** Where a connection is cut: the server never gets the statement, or its answer goes nowhere. */
export type Cut = 'before' | 'after';

/**
 * Where a connection that is being made is cut: the server's greeting is not passed on, the client's
 * answer to it, or the server's answer to that.
 */
export type HandshakeCut = 'greeting' | 'login' | 'welcome';

/** A TCP proxy before a MySQL-family server that reads along, and cuts connections at a statement. */
export interface FaultProxy {
  readonly port: number;
  /** The texts of all statements that came, of all connections, in order. */
  readonly statements: readonly string[];
  /** Connections that were made ever. */
  readonly connections: number;
  /** Bytes of the largest message that a client sent. */
  readonly largestMessage: number;
  /** Cuts the connection of the next statement that is chosen; resolves when it was. */
  cut(when: Cut, choose: (statement: string) => boolean): Promise<void>;
  /** The same, where the statement is prepared and not run yet. */
  cutPrepare(when: Cut, choose: (statement: string) => boolean): Promise<void>;
  /** Cuts the next connection while it is being made; resolves when it was. */
  cutHandshake(at: HandshakeCut): Promise<void>;
  /** Answers the next statement that is chosen with an error; the server never gets it. */
  fail(errno: number, choose: (statement: string) => boolean): Promise<void>;
  /** Passes the next statement that is chosen, or its answer, on only when something else is done. */
  hold(
    when: Cut,
    choose: (statement: string) => boolean,
    until: () => Promise<void>,
  ): Promise<void>;
  /**
   * From now on a connection gets no answer any more once a chosen statement came on it, and stays
   * open; with `'all'` none gets one, new ones included. With `null` only the connections that it has
   * befallen stay silent.
   */
  silence(choose: 'all' | ((statement: string) => boolean) | null): void;
  /** Connections that fell silent. */
  readonly silenced: number;
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
  isPrepare?: true;
  until?: () => Promise<void>;
  errno?: number;
  done: () => void;
}

interface HandshakeFault {
  at: HandshakeCut;
  done: () => void;
}

/** Starts a proxy on the loopback. It reads statements that are sent without TLS or compression. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  let faults: Fault[] = [];
  const handshakeFaults: HandshakeFault[] = [];
  let connections = 0;
  let largestMessage = 0;
  let isRefusing = false;
  let silence: 'all' | ((statement: string) => boolean) | null = null;
  let silenced = 0;

  /** What is to happen at a statement; it happens once. */
  const meet = (statement: string, isPrepare: boolean): Fault | null => {
    if (!isPrepare) statements.push(statement);
    const fault =
      faults.find((one) => (one.isPrepare === true) === isPrepare && one.choose(statement)) ?? null;
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
    let handshake = handshakeFaults.shift() ?? null;
    let greetings = 0;
    let isSilent = false;
    const fallSilent = () => {
      if (!isSilent) silenced += 1;
      isSilent = true;
    };
    /** Whether the connection was cut at this step of its handshake. */
    const isCutAt = (at: HandshakeCut): boolean => {
      if (handshake?.at !== at) return false;
      cut();
      handshake.done();
      handshake = null;
      return true;
    };
    const packets = readPackets((header, payload) => {
      largestMessage = Math.max(largestMessage, payload.length);
      const statement = readStatement(header, payload, prepared);
      if (statement === null) return true;
      const isPrepare = payload[0] === PREPARE;
      if (isPrepare) preparing = statement;
      if (typeof silence === 'function' && silence(statement)) fallSilent();
      const fault = meet(statement, isPrepare);
      if (fault?.errno !== undefined) {
        client.write(errorPacket(fault.errno));
        fault.done();
        return false;
      }
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
      if (isCutAt('login') || !packets(chunk)) return;
      if (held === null) return void upstream.write(chunk);
      passLater(held, client, upstream, chunk);
      held = null;
    });
    upstream.on('data', (chunk: Buffer) => {
      greetings += 1;
      if (silence === 'all') fallSilent();
      if (isSilent) return;
      if (isCutAt(greetings === 1 ? 'greeting' : 'welcome')) return;
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
    get largestMessage() {
      return largestMessage;
    },
    cut: (when, choose) => new Promise<void>((done) => faults.push({ when, choose, done })),
    cutPrepare: (when, choose) =>
      new Promise<void>((done) => faults.push({ when, choose, isPrepare: true, done })),
    cutHandshake: (at) => new Promise<void>((done) => handshakeFaults.push({ at, done })),
    fail: (errno, choose) =>
      new Promise<void>((done) => faults.push({ when: 'before', choose, errno, done })),
    hold: (when, choose, until) =>
      new Promise<void>((done) => faults.push({ when, choose, until, done })),
    silence(choose) {
      silence = choose;
    },
    get silenced() {
      return silenced;
    },
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

/** The answer of a server that refuses a statement: the first after the packet that carried it. */
function errorPacket(errno: number): Buffer {
  const payload = Buffer.from(`\xff\0\0#HY000refused by the proxy`, 'latin1');
  payload.writeUInt16LE(errno, 1);
  const header = Buffer.from([0, 0, 0, 1]);
  header.writeUIntLE(payload.length, 0, 3);
  return Buffer.concat([header, payload]);
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
