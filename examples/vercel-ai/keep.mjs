// The Vercel AI SDK with a memory that needs no tool call: what the user says is kept after each answer.
//
//   node examples/vercel-ai/keep.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { KEPT } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, wrapLanguageModel } from 'ai';
import { keepMemory, recallMemory } from 'memory-service/adapters/vercel-ai';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const model = wrapLanguageModel({
      model: createOpenAI({ apiKey, baseURL })(name),
      middleware: [recallMemory(memory, { userId, tools: [] }), keepMemory(memory, { userId })],
    });
    const { text } = await generateText({ model, system: 'You plan visits.', prompt });
    return text;
    // #endregion
  },
  KEPT,
  { keeps: true },
);
