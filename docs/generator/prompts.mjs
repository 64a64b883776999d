import { code, page } from './markdown.mjs';

/**
 * One prompt: who asks, what for, and what the model is told.
 *
 * @typedef {object} PrintedPrompt
 * @property {string} title
 * @property {string} purpose one sentence
 * @property {string} source
 * @property {string} version
 * @property {string} text
 */

/** @param {readonly PrintedPrompt[]} prompts */
export function renderPrompts(prompts) {
  return page('Prompts', 'the files that each section names', [
    'The system texts that models get from the service, word for word. What differs between calls ' +
      '(memory, the fact, the question, dates) follows in the user message, between marks that no ' +
      'text in it contains. A changed word gives a prompt another version.',
    ...prompts.flatMap(({ title, purpose, source, version, text }) => [
      `## ${title}`,
      `${purpose} Version ${code(version)}, in ${code(source)}.`,
      `\`\`\`text\n${text}\n\`\`\``,
    ]),
  ]);
}
