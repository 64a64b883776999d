// A LangChain agent with memory.
//
//   node examples/langchain/main.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { answerUnreadableCalls, toLangChainTools } from 'memory-service/adapters/langchain';
// #endregion

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const tools = await toLangChainTools(memory, { userId, actor: 'assistant' });
  const model = new ChatOpenAI({ model: name, apiKey, configuration: { baseURL } });
  const agent = createAgent({ model, tools, middleware: [answerUnreadableCalls()] });
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
  return messages.at(-1)?.text ?? '';
  // #endregion
});
