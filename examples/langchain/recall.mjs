// A LangChain agent with memory in front of the model: what is known needs no tool call.
//
//   node examples/langchain/recall.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { RECALLED } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { recallMemory, toLangChainTools } from 'memory-service/adapters/langchain';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const tools = await toLangChainTools(memory, { userId });
    const model = new ChatOpenAI({ model: name, apiKey, configuration: { baseURL } });
    const middleware = [recallMemory(memory, { userId, maxChars: 4_000 })];
    const agent = createAgent({ model, tools, middleware, systemPrompt: 'You plan visits.' });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
    return messages.at(-1)?.text ?? '';
    // #endregion
  },
  RECALLED,
);
