// Starts the app on a free port and sends requests as browsers do: of its users, and of others.
//
//   node examples/koa-embedded/tour.mjs

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from './app.mjs';

const filename = join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');
const { app, memory } = createApp({ filename });
await memory.ready();
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

await send('alices-session', 'POST', '/facts', { text: 'Prefers tea.' });
await send('alices-session', 'GET', '/facts');
await send('bobs-session', 'GET', '/facts');
await send('nobodys-session', 'GET', '/facts');
const find = '/memory/v1/tools/memory_find/execute';
await send('alices-session', 'POST', find, { arguments: { query: 'tea' } });
const asAlice = { context: { userId: 'alice' }, arguments: { query: 'tea' } };
await send('bobs-session', 'POST', find, asAlice);
await send('nobodys-session', 'GET', '/memory/v1/admin/files');

server.close();
server.closeAllConnections();
await memory.close();

/**
 * @param {string} session
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
async function send(session, method, path, body) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', cookie: `session=${session}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = /** @type {any} */ (await response.json());
  const { result, error, content, version, oops } = answer;
  const shown = result?.results?.[0]?.snippet ?? error?.code ?? oops ?? content ?? version;
  console.log(`${session}: ${method} ${path}\n  ${response.status} ${JSON.stringify(shown)}`);
}
