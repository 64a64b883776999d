// The client calls the tools of a remote service. Adapters accept it in place of `service.tools`.
//
//   npm start                               in one terminal
//   node examples/http-client/main.mjs      in another, from the root of the repository

import { readFile } from 'node:fs/promises';
// #region connect
import { MemoryClient, MemoryClientError } from 'memory-service/client';
// #endregion

const { SERVICE_URL: baseUrl = 'http://127.0.0.1:8787', SERVICE_API_KEY } = process.env;
const apiKey = SERVICE_API_KEY ?? JSON.parse(await readFile('data/secrets.json', 'utf8')).apiKey;

// #region connect
const memory = new MemoryClient({ baseUrl, apiKey });
// #endregion

// #region call
const context = { userId: 'alice', actor: 'support-bot' };
const written = await memory.execute('memory_write', {
  context,
  arguments: { path: 'user/profile.md', content: '- Prefers tea.\n', reason: 'The user said so.' },
});
console.log(`${written.result.path} is at version ${written.result.version}`);
// #endregion

// #region errors
try {
  await memory.execute('memory_read', { context, arguments: { path: 'user/nothing.md' } });
} catch (error) {
  if (!(error instanceof MemoryClientError)) throw error;
  console.log(`${error.code} (${error.status}): ${error.message}`);
}
// #endregion
