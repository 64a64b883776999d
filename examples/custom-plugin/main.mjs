// node examples/custom-plugin/main.mjs

import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { dailyNotes } from './daily-notes.mjs';

const adminSecret = randomBytes(32).toString('hex');

const filename = join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');

// #region use
const service = createMemoryService({
  storage: sqlite({ filename }),
  plugins: [dailyNotes({ folder: 'diary' })],
  adminSecret,
});
await service.start();

const context = { userId: 'alice' };
for (const text of ['Called the supplier.', 'Ordered the paper.']) {
  const { result } = await service.tools.execute('memory_note', { context, arguments: { text } });
  console.log(result);
}
// #endregion

const server = createServer(service.callback());
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const response = await fetch(`http://127.0.0.1:${port}/v1/admin/daily-notes/alice`, {
  headers: { 'x-admin-secret': adminSecret },
});
console.log(response.status, await response.json());

server.close();
server.closeAllConnections();
await service.close();
