// Shared by the examples: opens a memory, runs two conversations, and prints the memory.

/** @import { Model } from './choose-model.mjs' */
/** @import { Script } from './server.mjs' */
/** @import { ToolRunner } from 'memory-service' */

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createMemoryService } from 'memory-service';
import { openai } from 'memory-service/plugins/model-openai';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
import { openAiModel } from './choose-model.mjs';
import { CONVERSATIONS } from './conversations.mjs';
import { answerMemory } from './memory-model.mjs';

/**
 * @param {(turns: Script[]) => Promise<Model>} chooseModel
 * @param {(input: { memory: ToolRunner, userId: string, model: Model, prompt: string }) => Promise<string>} ask
 * @param {typeof CONVERSATIONS} [conversations]
 * @param {object} [options]
 * @param {readonly string[]} [options.userIds] whose memory is printed in the end
 * @param {boolean} [options.keeps] whether the memory has a model that files what was said
 */
export async function tell(
  chooseModel,
  ask,
  conversations = CONVERSATIONS,
  { userIds = ['alice'], keeps = false } = {},
) {
  const filename = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory.db');
  const ofMemory = keeps
    ? await openAiModel([(_, body) => answerMemory(body) ?? { text: '' }])
    : null;
  const service = createMemoryService({
    storage: sqlite({ filename }),
    tools: { delete: true, move: true },
    model:
      ofMemory &&
      openai({ name: ofMemory.name, apiKey: ofMemory.apiKey, baseUrl: ofMemory.baseURL }),
  });
  for (const { prompt, turns } of conversations) {
    const model = await chooseModel(turns);
    const words = await ask({ memory: service.tools, userId: 'alice', model, prompt });
    console.log(`> ${prompt}\n${words}\n`);
    await model.close();
    if (keeps) await untilFiled(service.tools);
  }
  for (const [index, userId] of userIds.entries()) {
    if (index > 0) console.log('');
    const context = { userId };
    const { result } = await service.tools.execute('memory_list', { context, arguments: {} });
    for (const [nth, { path }] of result.files.entries()) {
      if (nth > 0) console.log('');
      const read = await service.tools.execute('memory_read', { context, arguments: { path } });
      const place = userIds.length === 1 ? path : `${userId}: ${path}`;
      console.log(`${place}, version ${read.result.version}:\n\n${read.result.content.trimEnd()}`);
    }
  }
  await service.close();
  await ofMemory?.close();
}

/**
 * Waits until nothing is left in the inbox.
 *
 * @param {ToolRunner} memory
 */
async function untilFiled(memory) {
  for (let tries = 0; tries < 100; tries += 1) {
    const request = { context: { userId: 'alice' }, arguments: { path: 'user/inbox.md' } };
    const inbox = await memory.execute('memory_read', request).catch(() => null);
    const { content = '' } = /** @type {{ content?: string }} */ (inbox?.result ?? {});
    if (!/^- /m.test(content)) return;
    await setTimeout(100);
  }
}
