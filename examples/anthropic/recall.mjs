// Anthropic's API with memory in front of the model: what is known needs no tool call.
//
//   node examples/anthropic/recall.mjs [database file]

import { anthropicModel } from '../scripted-model/choose-model.mjs';
import { RECALLED } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import Anthropic from '@anthropic-ai/sdk';
import { toAnthropicRunnableTools, toMemoryPrompt } from 'memory-service/adapters/anthropic';
// #endregion

await tell(
  anthropicModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const anthropic = new Anthropic({ apiKey, baseURL });
    const tools = await toAnthropicRunnableTools(memory, { userId });
    const recalled = await toMemoryPrompt(memory, prompt, { userId, maxChars: 4_000 });
    const { content } = await anthropic.beta.messages.toolRunner({
      model: name,
      max_tokens: 4096,
      system: `You plan visits.\n\n${recalled}`,
      messages: [{ role: 'user', content: prompt }],
      tools,
    });
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    // #endregion
  },
  RECALLED,
);
