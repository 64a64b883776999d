// A LangChain agent with two memories: its user's and the team's.
//
//   node examples/langchain/two-memories.mjs [database file]

import { openAiModel } from '../scripted-model/choose-model.mjs';
import { OF_TWO_MEMORIES } from '../scripted-model/conversations.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { recallMemory, toLangChainTools } from 'memory-service/adapters/langchain';
// #endregion

await tell(
  openAiModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const own = { userId };
    const team = { userId: 'team-billing', toolPrefix: 'team_' };
    const ofUser = await toLangChainTools(memory, own);
    const ofTeam = await toLangChainTools(memory, team);
    const tools = [...ofUser, ...ofTeam];
    const middleware = [recallMemory(memory, own), recallMemory(memory, team)];
    const model = new ChatOpenAI({ model: name, apiKey, configuration: { baseURL } });
    const agent = createAgent({ model, tools, middleware });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
    return messages.at(-1)?.text ?? '';
    // #endregion
  },
  OF_TWO_MEMORIES,
  { userIds: ['alice', 'team-billing'] },
);
