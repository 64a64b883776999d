// A deep agent whose folder /memories/ is the memory of its user.
//
//   node examples/langchain/deep-agent.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { IN_FILES } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { ChatOpenAI } from '@langchain/openai';
import { CompositeBackend, createDeepAgent, StateBackend } from 'deepagents';
import { MemoryBackend } from 'memory-service/adapters/deepagents';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const memories = new MemoryBackend(memory, { userId });
    const backend = new CompositeBackend(new StateBackend(), { '/memories/': memories });
    const model = new ChatOpenAI({ model: name, apiKey, configuration: { baseURL } });
    const agent = createDeepAgent({ model, backend, systemPrompt: 'You plan visits.' });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
    return messages.at(-1)?.text ?? '';
    // #endregion
  },
  IN_FILES,
);
