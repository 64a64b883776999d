// The conversations of the examples: an agent files a fact, and later finds it.

/** @import { Script } from './server.mjs' */

/** @type {readonly { prompt: string, turns: Script[] }[]} */
export const CONVERSATIONS = [
  {
    prompt: 'I have given up coffee: I drink tea now. Please remember that.',
    turns: [
      { calls: [{ name: 'memory_find', arguments: { query: 'coffee or tea' } }] },
      {
        calls: [
          {
            name: 'memory_write',
            arguments: {
              path: 'user/profile.md',
              content: '# Profile\n\n- Drinks tea; gave up coffee.\n',
              reason: 'The user said so.',
            },
          },
        ],
      },
      { text: 'I will remember that you drink tea.' },
    ],
  },
  {
    prompt: 'What may I offer my guest, who drinks what I drink?',
    turns: [
      { calls: [{ name: 'memory_find', arguments: { query: 'what does the user drink' } }] },
      (answers) => {
        const { results } = JSON.parse(answers.at(-1)?.text ?? '{}');
        const [{ snippet, path, startLine }] = results;
        return { text: `Tea: "${snippet.trim()}" (${path}, line ${startLine}).` };
      },
    ],
  },
];

/**
 * The same two, where memory stands in front of the model: the second answer needs no tool.
 *
 * @type {typeof CONVERSATIONS}
 */
export const RECALLED = CONVERSATIONS.map(({ prompt, turns }, index) =>
  index === 0 ? { prompt, turns } : { prompt, turns: [answerFromPrompt] },
);

/**
 * @param {unknown} _answers
 * @param {any} body
 */
function answerFromPrompt(_answers, body) {
  // The instructions are in another place in each API.
  const text = JSON.stringify(body).replaceAll('\\n', '\n');
  const [, source, line] = /^## \w+ (\S+, line \d+),.*\n\n(- .*tea.*)$/m.exec(text) ?? [];
  return { text: line === undefined ? 'I do not know.' : `Tea: "${line}" (${source}).` };
}
