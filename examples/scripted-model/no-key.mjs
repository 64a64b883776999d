// Runs an example without a key: if the environment has none, it uses the scripted model.
//
//   node --import ./examples/scripted-model/no-key.mjs examples/langchain/first-fact.mjs

/** @import { Script } from './server.mjs' */

import { answerMemory } from './memory-model.mjs';
import { startScriptedModel } from './server.mjs';

const { env } = process;

/** @type {Script[]} */
const TURNS = [
  (_answers, body) => answerMemory(body) ?? { calls: [isQuestion(body) ? FIND : WRITE] },
  (answers) => {
    const { results } = JSON.parse(answers.at(-1)?.text ?? '{}');
    if (results === undefined) return { text: 'I will remember that you drink tea.' };
    const [{ snippet, path } = { snippet: '', path: '' }] = results;
    return { text: snippet === '' ? 'I do not know.' : `"${snippet.trim()}" (${path})` };
  },
];

const WRITE = {
  name: 'memory_write',
  arguments: { path: 'user/profile.md', content: '# Profile\n\n- Drinks tea.\n' },
};
const FIND = { name: 'memory_find', arguments: { query: 'what does the user drink' } };

/** @param {any} body */
function isQuestion({ messages, input }) {
  return JSON.stringify(messages ?? input).includes('?');
}

if (!env.OPENAI_API_KEY && !env.ANTHROPIC_API_KEY && !env.SERVICE_MODEL_API_KEY) {
  const { url } = await startScriptedModel(TURNS, { isInBackground: true });
  for (const name of ['OPENAI', 'ANTHROPIC', 'SERVICE_MODEL']) {
    env[`${name}_BASE_URL`] = url;
    env[`${name}_API_KEY`] = 'none';
  }
  // Otherwise the Agents SDK sends its traces to OpenAI.
  env.OPENAI_AGENTS_DISABLE_TRACING = '1';
}
