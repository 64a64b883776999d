// Keeps a fact for later and ends without closing the service: nothing may keep the process alive.
import { createMemoryService } from '../../../../dist/core/index.js';
import { sqlite } from '../../../../dist/plugins/storage-sqlite/index.js';

const service = createMemoryService({
  storage: sqlite({ filename: process.argv[2] ?? '' }),
  model: { name: 'hanging', model: 'hanging', generate: () => new Promise(() => undefined) },
});
const { result } = await service.tools.execute('memory_remember', {
  context: { userId: 'alice' },
  arguments: { text: 'Likes rain.', wait: false },
});
process.stdout.write(String(result.filed));
