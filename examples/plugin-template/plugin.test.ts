import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { plugin } from './plugin.js';

async function withMemory(work: (call: Call) => Promise<void>): Promise<void> {
  const storage = sqlite({ filename: ':memory:' });
  const service = createMemoryService({ storage, plugins: [plugin({ longFrom: 3 })] });
  await service.ready();
  try {
    await work(async (name, args) => {
      const request = { context: { userId: 'alice' }, arguments: args };
      return (await service.tools.execute(name, request)).result;
    });
  } finally {
    await service.close();
  }
}

type Call = (name: string, args: unknown) => Promise<unknown>;

void it('counts the words of a memory file', () =>
  withMemory(async (call) => {
    await call('memory_write', { path: 'user/tea.md', content: 'Prefers green tea.\n' });
    const counted = await call('memory_count_words', { path: 'user/tea.md' });
    assert.deepEqual(counted, { words: 3, isLong: true });
  }));

void it('refuses a file that is not there, and arguments that do not fit the schema', () =>
  withMemory(async (call) => {
    const missing = call('memory_count_words', { path: 'user/none.md' });
    await assert.rejects(missing, { code: 'FILE_NOT_FOUND' });
    await assert.rejects(call('memory_count_words', {}), { code: 'INVALID_REQUEST' });
  }));
