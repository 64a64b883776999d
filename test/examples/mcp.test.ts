import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { loadConfig, openConfig } from '../../core/config/index.ts';
import { API_KEY } from '../core/http/serve.ts';
import { connect, serveMcp } from '../plugins/mcp/clients.ts';
import { root, temporaryDirectory } from './run-example.ts';

interface ServerConfig {
  command: string;
  args: string[];
}

const read = (name: string) => readFileSync(join(root, 'examples/mcp', name), 'utf8');

it.each(['claude-desktop.json', 'vscode.json'])('%s starts the command as it is', async (name) => {
  const config = JSON.parse(read(name)) as Record<string, Record<string, ServerConfig>>;
  const { command, args } = (config['mcpServers'] ?? config['servers'])?.['memory'] as ServerConfig;
  expect([command, ...args.slice(0, 3)]).toEqual(['npx', '-y', 'memory-service', 'mcp']);
  const cwd = await temporaryDirectory();
  // The command of the build in place of npx, and a file of the test's own.
  const own = args.slice(2).map((arg) => arg.replace('/home/me', cwd));
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(root, 'dist/core/cli/bin.cjs'), ...own],
      cwd,
      stderr: 'ignore',
    }),
  );
  const { tools } = await client.listTools();
  expect(tools.map((tool) => tool.name)).toContain('memory_find');
  await client.close();
});

it('vscode.json reaches a service over HTTP with its headers', async () => {
  const { servers } = JSON.parse(read('vscode.json')) as {
    servers: Record<string, { url: string; headers: Record<string, string> }>;
  };
  const { url, headers = {} } = servers['team-memory'] ?? { url: '' };
  const { service, url: serving } = await serveMcp();
  expect(new URL(url).pathname).toBe(new URL(serving).pathname);
  const context = { userId: 'me' };
  const args = { path: 'user/a.md', content: 'x' };
  await service.tools.execute('memory_write', { context, arguments: args });
  const own = Object.entries(headers).map(([header, value]) => [
    header.toLowerCase(),
    value.replace('${input:memory-key}', API_KEY),
  ]);
  const client = await connect(serving, '', Object.fromEntries(own) as Record<string, string>);
  expect((await client.listResources()).resources).toMatchObject([{ name: 'user/a.md' }]);
});

it('memory.config.json narrows what clients get', async () => {
  const argv = ['--config', 'examples/mcp/memory.config.json'];
  const { service } = await openConfig(await loadConfig({ argv, env: {}, cwd: root }));
  const mcp = service.plugins?.filter(({ name }) => name === 'mcp');
  expect(mcp).toMatchObject([{ options: { readOnly: true } }]);
});
