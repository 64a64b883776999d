// #region whole
import OpenAI from 'openai';
import { createMemoryService } from 'memory-service';
import { toOpenAiRunnableTools } from 'memory-service/adapters/openai';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const memory = createMemoryService({ storage: sqlite({ filename: './memory.db' }) });
const content = process.argv[2] ?? 'I drink tea. Please remember that.';

const tools = await toOpenAiRunnableTools(memory.tools, { userId: 'alice' });
const { completions } = new OpenAI().chat;
const run = completions.runTools({
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content }],
  tools,
});
console.log(await run.finalContent());

await memory.close();
// #endregion
