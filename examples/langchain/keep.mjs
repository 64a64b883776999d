// A LangChain agent whose memory needs no tool call: what the user says is kept after each turn.
//
//   node examples/langchain/keep.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { KEPT } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { keepMemory, recallMemory } from 'memory-service/adapters/langchain';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const model = new ChatOpenAI({ model: name, apiKey, configuration: { baseURL } });
    const recall = recallMemory(memory, { userId, tools: [] });
    const middleware = [recall, keepMemory(memory, { userId })];
    const agent = createAgent({ model, middleware, systemPrompt: 'You plan visits.' });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
    return messages.at(-1)?.text ?? '';
    // #endregion
  },
  KEPT,
  { keeps: true },
);
