import { randomBytes } from 'node:crypto';
import type { LoadedConfig } from '../config/index.ts';
import { listen } from '../http/server.ts';
import { createMemoryService } from '../index.ts';
import { createCommandLog } from './log.ts';
import { workOnMemory } from './open-memory.ts';
import { callAdminApi, type RunningServer } from './running-server.ts';

const HOST = '127.0.0.1';

/**
 * Lets `work` call the admin API: that of the server that has the database open, or else that of a
 * service which this process runs meanwhile. So a command does what the route does.
 */
export async function withAdminApi<T>(
  loaded: LoadedConfig,
  work: (api: RunningServer) => Promise<T>,
): Promise<T> {
  return await workOnMemory<T>(loaded, {
    there: work,
    async here(config) {
      const adminSecret = randomBytes(32).toString('base64url');
      const log = createCommandLog(loaded.values.logLevel);
      const service = createMemoryService({ ...config, adminSecret, allowedHosts: [HOST], log });
      try {
        await service.ready();
        const server = await listen(service, { host: HOST, port: 0 });
        try {
          const address = `http://${HOST}:${server.address.port}${loaded.values.basePath}`;
          return await work(callAdminApi(address, adminSecret));
        } finally {
          await server.close({ graceMs: 0 });
        }
      } finally {
        await service.close();
      }
    },
  });
}
