import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import type { MemoryServiceConfig } from '../../../core/config/service.ts';
import { createMemoryService, type MemoryService } from '../../../core/index.ts';
import { mcp, type McpOptions } from '../../../plugins/mcp/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { API_KEY, type Requester, requester } from '../../core/http/serve.ts';
import { temporaryDirectory } from '../../support/service.ts';

/** A service with MCP that listens on loopback. */
export interface McpServing extends Requester {
  readonly service: MemoryService;
  readonly url: string;
  /** An SDK client of a user. */
  connect(userId: string, headers?: Record<string, string>): Promise<Client>;
}

/** Serves MCP as an app would: the plugin in a service of its own on a real SQLite file. */
export async function serveMcp(
  config: Partial<MemoryServiceConfig> = {},
  options: McpOptions = {},
): Promise<McpServing> {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const service = createMemoryService({
    storage: sqlite({ filename }),
    apiKey: API_KEY,
    ...config,
    plugins: [mcp(options), ...(config.plugins ?? [])],
  });
  await service.start();
  const server = createServer(service.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = requester((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
  });
  const url = `http://127.0.0.1:${client.port}${config.basePath ?? ''}/v1/mcp`;
  return { ...client, service, url, connect: (userId, headers) => connect(url, userId, headers) };
}

/** Connects an SDK client over streamable HTTP. */
export async function connect(
  url: string,
  userId: string,
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: {
      headers: { authorization: `Bearer ${API_KEY}`, 'x-user-id': userId, ...headers },
    },
  });
  // The SDK's own types disagree about an optional member.
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  return client;
}

/** What a tool call gave, as text: the first piece of its content. */
export function textOf(result: unknown): string {
  const { content } = result as { content: { type: string; text: string }[] };
  return content[0]?.text ?? '';
}
