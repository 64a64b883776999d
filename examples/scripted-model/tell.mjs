// Shared by the examples: opens a memory, runs two conversations, and prints the memory.

/** @import { Model } from './choose-model.mjs' */
/** @import { Script } from './server.mjs' */
/** @import { ToolRunner } from 'memory-service' */

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { CONVERSATIONS } from './conversations.mjs';

/**
 * @param {(turns: Script[]) => Promise<Model>} chooseModel
 * @param {(input: { memory: ToolRunner, userId: string, model: Model, prompt: string }) => Promise<string>} ask
 * @param {typeof CONVERSATIONS} [conversations]
 * @param {readonly string[]} [userIds] whose memory is printed in the end
 */
export async function tell(chooseModel, ask, conversations = CONVERSATIONS, userIds = ['alice']) {
  const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');
  const service = createMemoryService({
    storage: sqlite({ filename }),
    tools: { delete: true, move: true },
  });
  for (const { prompt, turns } of conversations) {
    const model = await chooseModel(turns);
    const words = await ask({ memory: service.tools, userId: 'alice', model, prompt });
    console.log(`> ${prompt}\n${words}\n`);
    await model.close();
  }
  for (const [index, userId] of userIds.entries()) {
    if (index > 0) console.log('');
    const context = { userId };
    const { result } = await service.tools.execute('memory_list', { context, arguments: {} });
    for (const { path } of result.files) {
      const read = await service.tools.execute('memory_read', { context, arguments: { path } });
      const place = userIds.length === 1 ? path : `${userId}: ${path}`;
      console.log(`${place}, version ${read.result.version}:\n\n${read.result.content.trimEnd()}`);
    }
  }
  await service.close();
}
