import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The ports of those that start and lend what the tests share. */
    mariadbBroker: number;
    postgresBroker: number;
  }
}

type BrokerName = 'mariadbBroker' | 'postgresBroker';

/** A database server that the tests share. */
interface SharedServer {
  port: number;
  remove(): Promise<void>;
}

/** How a broker starts its server, and makes an empty database on it: returns the URL. */
interface BrokerOptions {
  start: () => Promise<SharedServer>;
  create: (port: number) => Promise<string>;
}

interface Broker {
  port: number;
  users: number;
  stop: () => Promise<void>;
}

// Each project of a run loads its setup by itself; they share one server.
const shared = globalThis as { memoryTestBrokers?: Map<BrokerName, Promise<Broker>> };

/**
 * Starts a server when the first test asks for one, and listens for that as long as the tests run. All
 * tests that ask share the server and its databases.
 */
export function brokerSetup(name: BrokerName, options: BrokerOptions) {
  return async (project: TestProject): Promise<() => Promise<void>> => {
    const brokers = (shared.memoryTestBrokers ??= new Map());
    const starting = brokers.get(name) ?? startBroker(options);
    brokers.set(name, starting);
    const broker = await starting;
    broker.users += 1;
    project.provide(name, broker.port);
    return async () => {
      broker.users -= 1;
      if (broker.users > 0) return;
      brokers.delete(name);
      await broker.stop();
    };
  };
}

/** Asks for `port`, `take` (a database's URL) or `give <url>`, and gives the answer. */
export async function askBroker(name: BrokerName, question: string): Promise<string> {
  const socket = connect(inject(name), '127.0.0.1');
  socket.write(question);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  const { answer, error } = JSON.parse(text) as { answer?: string; error?: string };
  if (answer === undefined) throw new Error(`The ${name} of the tests: ${error ?? text}`);
  return answer;
}

async function startBroker({ start, create }: BrokerOptions): Promise<Broker> {
  let started: Promise<SharedServer> | null = null;
  const free: string[] = [];

  async function answer(question: string): Promise<string> {
    started ??= start();
    const { port } = await started;
    if (question === 'take') return free.pop() ?? (await create(port));
    if (question.startsWith('give ')) free.push(question.slice('give '.length));
    return String(port);
  }

  async function serve(socket: Socket): Promise<void> {
    // Questions are short: one comes in one piece.
    const [question] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
    const reply = await answer(question).then(
      (given) => ({ answer: given }),
      (error: unknown) => ({ error: String(error) }),
    );
    socket.end(JSON.stringify(reply));
  }

  const server = createServer((socket) => {
    // A test that ends before it has its answer needs none.
    serve(socket).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    users: 0,
    async stop() {
      server.close();
      await (await started?.catch(() => null))?.remove();
    },
  };
}
