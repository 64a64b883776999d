// Anthropic's API with memory: toolRunner calls the tools.
//
//   node examples/anthropic/main.mjs [database file]

import { anthropicModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import Anthropic from '@anthropic-ai/sdk';
import { toAnthropicRunnableTools } from 'memory-service/adapters/anthropic';
// #endregion

await tell(anthropicModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const anthropic = new Anthropic({ apiKey, baseURL });
  const tools = await toAnthropicRunnableTools(memory, { userId, actor: 'assistant' });
  const { content } = await anthropic.beta.messages.toolRunner({
    model: name,
    max_tokens: 4096,
    messages: [{ role: 'user', content: prompt }],
    tools,
  });
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  // #endregion
});
