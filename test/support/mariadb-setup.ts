import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Mariadb, createDatabase, startMariadb } from './mariadb-server.ts';

/** It is for tests: what a power loss would take is of no interest here, and an fsync costs. */
const FLAGS = ['--innodb-flush-log-at-trx-commit=2', '--innodb-flush-method=nosync'];

interface Broker {
  port: number;
  users: number;
  stop: () => Promise<void>;
}

// Each project of a run loads this file by itself; they share one server.
const shared = globalThis as { memoryTestBroker?: Promise<Broker> };

/**
 * Listens, for as long as the tests run, for the first that asks for a MariaDB: so a run without
 * such a test starts none, and all others share one, and the databases in it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const starting = (shared.memoryTestBroker ??= startBroker());
  const broker = await starting;
  broker.users += 1;
  project.provide('mariadbBroker', broker.port);
  return async () => {
    broker.users -= 1;
    if (broker.users > 0) return;
    delete shared.memoryTestBroker;
    await broker.stop();
  };
}

async function startBroker(): Promise<Broker> {
  let started: Promise<Mariadb> | null = null;
  const free: string[] = [];

  async function answer(question: string): Promise<string> {
    started ??= startMariadb({ flags: FLAGS });
    const { port } = await started;
    if (question === 'take') return free.pop() ?? (await createDatabase(port));
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
