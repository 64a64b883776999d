// OpenAI's Chat Completions API with memory in front of the model: what is known needs no tool call.
//
//   node examples/openai/recall.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { RECALLED } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import OpenAI from 'openai';
import { toMemoryPrompt, toOpenAiRunnableTools } from 'memory-service/adapters/openai';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const openai = new OpenAI({ apiKey, baseURL });
    const tools = await toOpenAiRunnableTools(memory, { userId });
    const recalled = await toMemoryPrompt(memory, prompt, { userId, maxChars: 4_000 });
    /** @type {OpenAI.ChatCompletionMessageParam[]} */
    const messages = [
      { role: 'system', content: `You plan visits.\n\n${recalled}` },
      { role: 'user', content: prompt },
    ];
    const run = openai.chat.completions.runTools({ model: name, messages, tools });
    return (await run.finalContent()) ?? '';
    // #endregion
  },
  RECALLED,
);
