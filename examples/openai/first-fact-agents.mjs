// #region whole
import { Agent, run } from '@openai/agents';
import { createMemoryService } from 'memory-service';
import { toOpenAiAgentTools } from 'memory-service/adapters/openai-agents';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const memory = createMemoryService({ storage: sqlite({ filename: './memory.db' }) });
const prompt = process.argv[2] ?? 'I drink tea. Please remember that.';

const tools = await toOpenAiAgentTools(memory.tools, { userId: 'alice' });
const agent = new Agent({ name: 'Assistant', model: 'gpt-5-mini', tools });
const { finalOutput } = await run(agent, prompt);
console.log(finalOutput);

await memory.close();
// #endregion
