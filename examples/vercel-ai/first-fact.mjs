// #region whole
import { openai } from '@ai-sdk/openai';
import { generateText, stepCountIs } from 'ai';
import { createMemoryService } from 'memory-service';
import { toVercelAiTools } from 'memory-service/adapters/vercel-ai';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const memory = createMemoryService({ storage: sqlite({ filename: './memory.db' }) });
const prompt = process.argv[2] ?? 'I drink tea. Please remember that.';

const tools = await toVercelAiTools(memory.tools, { userId: 'alice' });
const model = openai('gpt-5-mini');
const { text } = await generateText({ model, tools, stopWhen: stepCountIs(10), prompt });
console.log(text);

await memory.close();
// #endregion
