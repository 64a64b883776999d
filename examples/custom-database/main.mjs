// Memory in a database of your own: what one service wrote, the next one finds.
//
//   node examples/custom-database/main.mjs [database file]

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryService } from 'memory-service';
import { libsql } from './libsql.mjs';

const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');

/**
 * Runs a service on the database until the work is done.
 *
 * @param {(callTool: (name: string, args: object) => Promise<any>) => Promise<void>} work
 */
async function withMemory(work) {
  const service = createMemoryService({ storage: libsql({ filename }) });
  await service.ready();
  try {
    await work(async (name, args) => {
      const context = { userId: 'alice' };
      const { result } = await service.tools.execute(name, { context, arguments: args });
      return result;
    });
  } finally {
    await service.close();
  }
}

await withMemory(async (callTool) => {
  const { path, version } = await callTool('memory_write', {
    path: 'user/profile.md',
    content: '# Profile\n\n- Prefers green tea.\n',
  });
  console.log(`${path} is at version ${version}`);
});

// Another service on the same file, as after a restart.
await withMemory(async (callTool) => {
  const { content, version } = await callTool('memory_read', { path: 'user/profile.md' });
  console.log(`--- user/profile.md, version ${version}\n${content}`);
  const { results } = await callTool('memory_find', { query: 'tea' });
  for (const { path, startLine, snippet } of results) {
    console.log(`found in ${path}, line ${startLine}: ${snippet}`);
  }
});
