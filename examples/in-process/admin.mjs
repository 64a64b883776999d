// The admin API in process: what happened, and who did it. Nothing here opens a port.

import { createMemoryService, MemoryError } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }) });
const write = (/** @type {string} */ content) =>
  service.tools.execute('memory_write', {
    context: { userId: 'alice', actor: 'support-bot' },
    arguments: { path: 'user/profile.md', content },
  });
await write('- Prefers tea.\n');
await write('- Prefers coffee.\n');

// #region admin
const { items } = await service.admin('GET /v1/admin/revisions', {
  query: { userId: 'alice', limit: 1 },
});
const [newest] = items;
console.log(`${newest?.actor} wrote version ${newest?.version} of ${newest?.path}`);

const operator = { name: 'carol', role: /** @type {const} */ ('operator') };
await service.admin('POST /v1/admin/revisions/:id/revert', {
  operator,
  params: { id: newest?.id ?? '' },
  body: {},
});

try {
  await service.admin('POST /v1/admin/users/:userId/erase', {
    operator,
    params: { userId: 'alice' },
    body: { confirm: 'alice' },
  });
} catch (error) {
  if (!(error instanceof MemoryError)) throw error;
  console.log(`${operator.name} may not erase: ${error.code}`);
}
// #endregion

const { result } = await service.tools.execute('memory_read', {
  context: { userId: 'alice' },
  arguments: { path: 'user/profile.md' },
});
console.log(result);
await service.close();
