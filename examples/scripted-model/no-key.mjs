// Runs an example without a key: where the environment has none, its model is the scripted one.
//
//   node --import ./examples/scripted-model/no-key.mjs examples/langchain/first-fact.mjs

/** @import { Script } from './server.mjs' */

import { answerMemory } from './memory-model.mjs';
import { startScriptedModel } from './server.mjs';

const { env } = process;

/** @type {Script[]} */
const TURNS = [
  (_answers, body) =>
    answerMemory(body) ?? {
      calls: [
        {
          name: 'memory_write',
          arguments: { path: 'user/profile.md', content: '# Profile\n\n- Drinks tea.\n' },
        },
      ],
    },
  { text: 'I will remember that you drink tea.' },
];

if (!env.OPENAI_API_KEY && !env.ANTHROPIC_API_KEY && !env.SERVICE_MODEL_API_KEY) {
  const { url } = await startScriptedModel(TURNS, { isInBackground: true });
  for (const name of ['OPENAI', 'ANTHROPIC', 'SERVICE_MODEL']) {
    env[`${name}_BASE_URL`] = url;
    env[`${name}_API_KEY`] = 'none';
  }
}
