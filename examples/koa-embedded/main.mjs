// node examples/koa-embedded/main.mjs [database file]     (reads PORT and SERVICE_ADMIN_SECRET)

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from './app.mjs';

const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');
const adminSecret = process.env.SERVICE_ADMIN_SECRET;

// #region start
const { app, memory } = createApp({ filename, ...(adminSecret ? { adminSecret } : {}) });
await memory.ready();
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`The app listens on http://127.0.0.1:${address.port}`);
});

process.once('SIGTERM', () => {
  // Stop accepting requests, then close the service, which writes its queues and closes the database.
  server.close(() => void memory.close());
  server.closeIdleConnections();
});
// #endregion
