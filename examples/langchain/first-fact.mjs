// #region whole
import { createAgent } from 'langchain';
import { createMemoryService } from 'memory-service';
import { toLangChainTools } from 'memory-service/adapters/langchain';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const memory = createMemoryService({ storage: sqlite({ filename: './memory.db' }) });
const content = process.argv[2] ?? 'I drink tea. Please remember that.';

const tools = await toLangChainTools(memory.tools, { userId: 'alice' });
const agent = createAgent({ model: 'openai:gpt-5-mini', tools });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] });
console.log(messages.at(-1)?.text);

await memory.close();
// #endregion
