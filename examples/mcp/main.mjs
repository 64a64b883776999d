// node examples/mcp/main.mjs [database file]
//
// Uses the SDK's MCP client: over standard input and output, as desktop apps and editors do, and over
// HTTP, as an agent on another machine does.

import { createServer } from 'node:http';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMemoryService } from 'memory-service';
import { mcp } from 'memory-service/plugins/mcp';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');

console.log('Over standard input and output');
const command = fileURLToPath(
  new URL('dist/core/cli/bin.cjs', import.meta.resolve('memory-service/package.json')),
);
// #region stdio
const editor = new Client({ name: 'editor', version: '1.0.0' });
await editor.connect(
  new StdioClientTransport({
    // With the package installed: command 'npx', args ['memory-service', 'mcp', …].
    command: process.execPath,
    args: [command, 'mcp', '--user=alice', '--actor=editor', `--database-url=sqlite:${filename}`],
    stderr: 'ignore',
  }),
);
const { tools } = await editor.listTools();
console.log('  tools:', tools.map(({ name }) => name).join(', '));

const written = await editor.callTool({
  name: 'memory_write',
  arguments: { path: 'user/profile.md', content: '# Profile\n\n- Prefers tea.\n' },
});
console.log('  written:', show(written));

const missing = await editor.callTool({
  name: 'memory_read',
  arguments: { path: 'user/profil.md' },
});
console.log(`  missing:${show(missing)}`);
await editor.close();
// #endregion

console.log('Over HTTP');
const apiKey = 'an-example-key-that-stays-on-your-server';
// #region serve
const service = createMemoryService({ storage: sqlite({ filename }), apiKey, plugins: [mcp()] });
await service.start();
const server = createServer(service.callback());
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
// #endregion
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;

// #region http
const agent = new Client({ name: 'agent', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(new URL(`${url}/v1/mcp`), {
  requestInit: { headers: { authorization: `Bearer ${apiKey}`, 'x-user-id': 'alice' } },
});
await agent.connect(/** @type {any} */ (transport));

const { resources } = await agent.listResources();
console.log('  resources:', resources.map(({ uri }) => uri).join(', '));

const { contents } = await agent.readResource({ uri: 'memory://user/profile.md' });
console.log('  content:', JSON.stringify(/** @type {any} */ (contents[0]).text));
await agent.close();
// #endregion

server.close();
server.closeAllConnections();
await service.close();

/**
 * The text for the model, with each line indented.
 *
 * @param {any} result
 */
function show({ isError, content }) {
  if (isError) return `\n    ${content[0].text.replaceAll('\n', '\n    ')}`;
  const { revisionId: _, ...rest } = JSON.parse(content[0].text);
  return JSON.stringify(rest);
}
