// OpenAI's Chat Completions API with memory: runTools calls the tools.
//
//   node examples/openai/chat-completions.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import OpenAI from 'openai';
import { toOpenAiRunnableTools } from 'memory-service/adapters/openai';
// #endregion

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const openai = new OpenAI({ apiKey, baseURL });
  const tools = await toOpenAiRunnableTools(memory, { userId, actor: 'assistant' });
  /** @type {OpenAI.ChatCompletionMessageParam[]} */
  const messages = [{ role: 'user', content: prompt }];
  const run = openai.chat.completions.runTools({ model: name, messages, tools });
  return (await run.finalContent()) ?? '';
  // #endregion
});
