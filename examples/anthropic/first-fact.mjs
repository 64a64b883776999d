// #region whole
import Anthropic from '@anthropic-ai/sdk';
import { createMemoryService } from 'memory-service';
import { toAnthropicRunnableTools } from 'memory-service/adapters/anthropic';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

const memory = createMemoryService({ storage: sqlite({ filename: './memory.db' }) });
const content = process.argv[2] ?? 'I drink tea. Please remember that.';

const tools = await toAnthropicRunnableTools(memory.tools, { userId: 'alice' });
const request = { model: 'claude-sonnet-5', max_tokens: 4096, tools };
const messages = [{ role: /** @type {const} */ ('user'), content }];
const message = await new Anthropic().beta.messages.toolRunner({ ...request, messages });
for (const block of message.content) if (block.type === 'text') console.log(block.text);

await memory.close();
// #endregion
