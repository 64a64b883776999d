// OpenAI's Chat Completions API with memory, in strict mode, in our own loop.
//
//   node examples/openai/chat-loop.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import OpenAI from 'openai';
import { toOpenAiChatTools } from 'memory-service/adapters/openai';
// #endregion

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const openai = new OpenAI({ apiKey, baseURL });
  const { tools, runCalls } = await toOpenAiChatTools(memory, { userId, strict: true });
  /** @type {OpenAI.ChatCompletionMessageParam[]} */
  const messages = [{ role: 'user', content: prompt }];
  for (;;) {
    const { choices } = await openai.chat.completions.create({ model: name, messages, tools });
    const message = choices[0]?.message;
    if (message === undefined) return '';
    messages.push(message);
    const answers = await runCalls(message.tool_calls);
    if (answers.length === 0) return message.content ?? '';
    messages.push(...answers);
  }
  // #endregion
});
