// OpenAI's Responses API with memory, in strict mode, in our own loop.
//
//   node examples/openai/responses.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import OpenAI from 'openai';
import { toOpenAiResponsesTools } from 'memory-service/adapters/openai';
// #endregion

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const openai = new OpenAI({ apiKey, baseURL });
  const { tools, runCalls } = await toOpenAiResponsesTools(memory, { userId, strict: true });
  let response = await openai.responses.create({ model: name, tools, input: prompt });
  for (;;) {
    const input = await runCalls(response.output);
    if (input.length === 0) return response.output_text;
    const previous_response_id = response.id;
    response = await openai.responses.create({ model: name, tools, input, previous_response_id });
  }
  // #endregion
});
