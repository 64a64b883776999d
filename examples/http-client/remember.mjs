// Files what a user said in a conversation, and finds it again. The service here runs in this process; with a
// MemoryClient, memory.remember(messages, { userId }) does the same over HTTP.
//
//   node examples/http-client/remember.mjs

import { answerMemory } from '../scripted-model/memory-model.mjs';
import { openAiModel } from '../scripted-model/choose-model.mjs';
// #region remember
import { createMemoryService } from 'memory-service';
import { rememberConversation } from 'memory-service/client';
import { openai } from 'memory-service/plugins/model-openai';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
// #endregion

const scripted = await openAiModel([(_, body) => answerMemory(body) ?? { text: '' }]);
const { name, apiKey, baseURL: baseUrl } = scripted;

// #region remember
const service = createMemoryService({
  storage: sqlite({ filename: ':memory:' }),
  model: openai({ name, apiKey, baseUrl }),
});
const messages = [
  { role: 'user', content: 'The user has given up coffee.', at: '2026-01-12T09:00:00Z' },
  { role: 'assistant', content: 'Tea, then?' },
  { role: 'user', content: 'The user drinks green tea.', at: '2026-01-12T09:01:00Z' },
];
for (const { message, result } of await rememberConversation(service.tools, messages, {
  userId: 'alice',
})) {
  console.log(`message ${message}: ${result.summary}`);
}
// #endregion

const { result } = await service.tools.execute('memory_read', {
  context: { userId: 'alice' },
  arguments: { path: 'user/profile.md' },
});
console.log(result.content.trimEnd());
await service.close();
await scripted.close();
