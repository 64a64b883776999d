// The Vercel AI SDK with memory.
//
//   node examples/vercel-ai/main.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs } from 'ai';
import { toVercelAiTools } from 'memory-service/adapters/vercel-ai';
// #endregion

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const tools = await toVercelAiTools(memory, { userId, actor: 'assistant' });
  const model = createOpenAI({ apiKey, baseURL })(name);
  const { text } = await generateText({ model, tools, stopWhen: stepCountIs(10), prompt });
  return text;
  // #endregion
});
