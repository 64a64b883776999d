import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { root } from './run-example.ts';

it('keeps every note of callers that begin the page of a day at once', async () => {
  const script = `
    import { createMemoryService } from 'memory-service';
    import { sqlite } from 'memory-service/plugins/storage-sqlite';
    import { dailyNotes } from './examples/custom-plugin/daily-notes.mjs';
    const storage = sqlite({ filename: ':memory:' });
    const service = createMemoryService({ storage, plugins: [dailyNotes()] });
    await service.ready();
    const context = { userId: 'alice' };
    const execute = (name, args) => service.tools.execute(name, { context, arguments: args });
    const notes = Array.from({ length: 20 }, (_, n) => 'note ' + n);
    const answers = await Promise.all(notes.map((text) => execute('memory_note', { text })));
    const { result } = await execute('memory_read', { path: answers[0].result.path });
    console.log(notes.filter((text) => !result.content.includes('- ' + text + '\\n')).length);
    await service.close();
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect([stdout, stderr]).toEqual(['0\n', '']);
});
