// A memory service with this driver.
//
//   node examples/custom-storage/main.mjs [file]

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryService } from 'memory-service';
import { journalStorage } from './journal-storage.mjs';

const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.jsonl');

// #region use
const service = createMemoryService({ storage: journalStorage({ filename }) });
// #endregion

/**
 * @param {string} name
 * @param {object} args
 * @returns {Promise<any>}
 */
async function callTool(name, args) {
  const { result } = await service.tools.execute(name, {
    context: { userId: 'alice' },
    arguments: args,
  });
  return result;
}

const text = '- Prefers tea.\n';
const written = await callTool('memory_write', { path: 'user/profile.md', content: text });
console.log(`${written.path} is at version ${written.version}`);
const { results } = await callTool('memory_find', { query: 'tea' });
console.log(`found: ${results[0].snippet}`);
await service.close();
