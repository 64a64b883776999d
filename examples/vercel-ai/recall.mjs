// The Vercel AI SDK with memory in front of the model: what is known needs no tool call.
//
//   node examples/vercel-ai/recall.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { RECALLED } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, wrapLanguageModel } from 'ai';
import { recallMemory, toVercelAiTools } from 'memory-service/adapters/vercel-ai';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const tools = await toVercelAiTools(memory, { userId });
    const model = wrapLanguageModel({
      model: createOpenAI({ apiKey, baseURL })(name),
      middleware: recallMemory(memory, { userId, maxChars: 4_000 }),
    });
    const system = 'You plan visits.';
    const { text } = await generateText({
      model,
      system,
      prompt,
      tools,
      stopWhen: stepCountIs(10),
    });
    return text;
    // #endregion
  },
  RECALLED,
);
