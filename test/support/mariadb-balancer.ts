import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { isSynced } from './mariadb-cluster.ts';

/** What stands before the nodes of a cluster. */
export interface Balancer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Connects each client to the first of these nodes that takes part in its cluster, as a load
 * balancer with a health check does; the order is the preference. A connection stays where it is
 * until one of its ends closes it.
 */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    track(client);
    void choose(ports).then((port) => {
      if (port === null || client.destroyed) return void client.destroy();
      const node = connect(port, '127.0.0.1');
      track(node);
      node.on('close', () => client.destroy());
      client.on('close', () => node.destroy());
      client.pipe(node).pipe(client);
    });
  });

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function choose(ports: readonly number[]): Promise<number | null> {
  for (const port of ports) if (await isSynced(port)) return port;
  return null;
}
