// The OpenAI Agents SDK with memory.
//
//   node examples/openai/agents.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { Agent, OpenAIResponsesModel, Runner, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';
import { toOpenAiAgentTools } from 'memory-service/adapters/openai-agents';
// #endregion

// Otherwise the SDK sends its traces to OpenAI, which needs a key.
setTracingDisabled(true);

await tell(openAiModel, async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
  // #region agent
  const tools = await toOpenAiAgentTools(memory, { userId, actor: 'assistant' });
  const model = new OpenAIResponsesModel(new OpenAI({ apiKey, baseURL }), name);
  const agent = new Agent({ name: 'Assistant', model, tools });
  // A call of an unknown tool gets an answer instead of ending the run.
  const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });
  return (await runner.run(agent, prompt)).finalOutput ?? '';
  // #endregion
});
