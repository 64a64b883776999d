import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryClient, type MemoryClientOptions } from '../../adapters/client.ts';
import type { MemoryServiceConfig } from '../../core/config/service.ts';
import type { TypedToolRunner } from '../../core/contracts/tool.ts';
import { createMemoryService } from '../../core/index.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';

export const API_KEY = 'tools-key-0123456789abcdef0123456789abcdef';
const ADMIN_SECRET = 'admin-secret-0123456789abcdef0123456789';

/** A service in this process that is served over HTTP too. */
export interface ServedService {
  readonly tools: TypedToolRunner;
  readonly url: string;
  client(options?: Partial<MemoryClientOptions>): MemoryClient;
  /** Posts to the admin API. */
  post(path: string, body: object): Promise<Response>;
  /** An answer of the admin API. */
  read(path: string): Promise<Record<string, unknown>>;
  /** The items of one of the admin API’s lists. */
  admin(path: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Opens a service on a SQLite file of its own. */
export async function openService(
  config: Partial<MemoryServiceConfig> = {},
): Promise<ServedService> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-adapters-'));
  const service = createMemoryService({
    storage: sqlite({ filename: join(directory, 'memory.db') }),
    apiKey: API_KEY,
    adminSecret: ADMIN_SECRET,
    ...config,
  });
  await service.ready();
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  async function read(path: string): Promise<Record<string, unknown>> {
    const headers = { 'x-admin-secret': ADMIN_SECRET };
    const response = await fetch(`${url}/v1/admin/${path}`, { headers });
    return (await response.json()) as Record<string, unknown>;
  }
  return {
    tools: service.tools,
    url,
    post: (path, body) =>
      fetch(`${url}/v1/admin/${path}`, {
        method: 'POST',
        headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    client: (options) => new MemoryClient({ baseUrl: url, apiKey: API_KEY, ...options }),
    read,
    admin: async (path) => (await read(path))['items'] as Record<string, unknown>[],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
