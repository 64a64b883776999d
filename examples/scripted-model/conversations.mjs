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
 * Two of an agent that calls no tool: what the user says is kept after the turn, and stands in front of the
 * model at the next one.
 *
 * @type {typeof CONVERSATIONS}
 */
export const KEPT = [
  { prompt: 'I have given up coffee, and I drink tea.', turns: [{ text: 'Good for you.' }] },
  { prompt: 'What may I offer my guest, who drinks what I drink?', turns: [answerFromPrompt] },
];

/**
 * One conversation of an agent that has a memory of its user and one of the team.
 *
 * @type {typeof CONVERSATIONS}
 */
export const OF_TWO_MEMORIES = [
  {
    prompt: 'We release on Tuesdays now, and I take the early shift. Please remember both.',
    turns: [
      {
        calls: [
          {
            name: 'team_memory_write',
            arguments: { path: 'user/releases.md', content: '# Releases\n\n- On Tuesdays.\n' },
          },
          {
            name: 'memory_write',
            arguments: { path: 'user/work.md', content: '# Work\n\n- Takes the early shift.\n' },
          },
        ],
      },
      { text: 'The team will know the day, and I will know your shift.' },
    ],
  },
];

/**
 * The first two, of an agent that works with files.
 *
 * @type {typeof CONVERSATIONS}
 */
export const IN_FILES = [
  {
    prompt: 'I have given up coffee: I drink tea now. Please remember that.',
    turns: [
      {
        calls: [
          {
            name: 'write_file',
            arguments: {
              file_path: '/memories/profile.md',
              content: '# Profile\n\n- Drinks tea; gave up coffee.\n',
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
      { calls: [{ name: 'grep', arguments: { pattern: 'rinks', path: '/memories/' } }] },
      (answers) => {
        const [, line = 'I do not know.'] = /: - (.*)/.exec(answers.at(-1)?.text ?? '') ?? [];
        return { text: `Tea: "${line}"` };
      },
    ],
  },
];

/**
 * @param {unknown} _answers
 * @param {any} body
 */
function answerFromPrompt(_answers, body) {
  // The instructions are in another place in each API.
  const text = JSON.stringify(body).replaceAll('\\n', '\n');
  const [, path, from, above = '', line] =
    /^## \w+ (\S+), lines? (\d+)\D.*\n\n((?:(?!## ).*\n)*?)(- .*tea.*)$/m.exec(text) ?? [];
  if (line === undefined) return { text: 'I do not know.' };
  const number = Number(from) + above.split('\n').length - 1;
  return { text: `Tea: "${line}" (${path}, line ${number}).` };
}
