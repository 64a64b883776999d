import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Mariadb, startMariadb } from './mariadb.ts';

/**
 * Listens, for as long as the tests run, for the first that asks for a MariaDB: so a run without
 * such a test starts none, and all others share one. Each connection is answered with its port.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<Mariadb> | null = null;
  const broker = createServer((socket) => {
    // It is for tests: what a power loss would take is of no interest here, and an fsync costs.
    const flags = ['--innodb-flush-log-at-trx-commit=2', '--innodb-flush-method=nosync'];
    started ??= startMariadb({ flags });
    socket.on('error', () => undefined);
    started.then(
      ({ port }) => socket.end(String(port)),
      (error: unknown) => socket.end(`The MariaDB of the tests: ${String(error)}`),
    );
  });
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  project.provide('mariadbBroker', (broker.address() as { port: number }).port);
  return async () => {
    broker.close();
    await (await started?.catch(() => null))?.remove();
  };
}
