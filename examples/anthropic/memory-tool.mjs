// Anthropic's own memory tool (memory_20250818), stored in the memory service with its history.
//
//   node examples/anthropic/memory-tool.mjs [database file]

import { anthropicModel } from '../scripted-model/choose-model.mjs';
import { tell } from '../scripted-model/tell.mjs';
// #region agent
import Anthropic from '@anthropic-ai/sdk';
import { toAnthropicMemoryTool } from 'memory-service/adapters/anthropic-memory';
// #endregion

/** @type {Parameters<typeof tell>[2]} */
const conversations = [
  {
    prompt: 'I have given up coffee: I drink tea now.',
    turns: [
      { calls: [{ name: 'memory', arguments: { command: 'view', path: '/memories' } }] },
      {
        calls: [
          {
            name: 'memory',
            arguments: {
              command: 'create',
              path: '/memories/profile.md',
              file_text: '- Drinks tea; gave up coffee.\n',
            },
          },
        ],
      },
      (answers) => ({ text: answers.at(-1)?.text ?? '' }),
    ],
  },
  {
    prompt: 'What do I drink?',
    turns: [
      { calls: [{ name: 'memory', arguments: { command: 'view', path: '/memories' } }] },
      { calls: [{ name: 'memory', arguments: { command: 'view', path: '/memories/profile.md' } }] },
      (answers) => ({ text: answers.at(-1)?.text ?? '' }),
    ],
  },
];

await tell(
  anthropicModel,
  async ({ memory, userId, model: { name, apiKey, baseURL }, prompt }) => {
    // #region agent
    const anthropic = new Anthropic({ apiKey, baseURL });
    const tools = [await toAnthropicMemoryTool(memory, { userId, actor: 'claude' })];
    const { content } = await anthropic.beta.messages.toolRunner({
      model: name,
      max_tokens: 4096,
      messages: [{ role: 'user', content: prompt }],
      tools,
    });
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    // #endregion
  },
  conversations,
);
