// The scripted model's answers for memory_remember and memory_context: it files a fact as a line of
// user/profile.md, and answers a question with the first line that it is shown.

/** @import { Turn } from './server.mjs' */

/**
 * The answer to a request of the memory service; `null` for a request of an agent.
 *
 * @param {any} body
 * @returns {Turn | null}
 */
export function answerMemory({ messages = [], response_format, tool_choice }) {
  const isMemory = response_format?.type === 'json_schema' || tool_choice?.type === 'tool';
  if (!isMemory) return null;
  const prompt = toText(messages.at(-1)?.content);
  const answer = prompt.includes('<fact-') ? fileFact(prompt) : answerQuestion(prompt);
  // In Anthropic's API, the JSON is the arguments of a tool that the model must call.
  if (tool_choice?.type === 'tool')
    return { calls: [{ name: tool_choice.name, arguments: answer }] };
  return { text: JSON.stringify(answer) };
}

/** @param {string} prompt */
function fileFact(prompt) {
  const [, fact = ''] = /<fact-\w+>\nThe user (.*)\n/.exec(prompt) ?? [];
  const line = `- ${fact.charAt(0).toUpperCase()}${fact.slice(1)}`;
  const path = 'user/profile.md';
  const place = { path, heading: null, line: null, oldText: null, lines: [line] };
  const kind = prompt.includes(`\n${path}\n`) ? 'append' : 'create';
  const isKnown = prompt.includes(`| ${line}\n`);
  return { read: [], operations: isKnown ? [] : [{ kind, ...place }] };
}

/** @param {string} prompt */
function answerQuestion(prompt) {
  const shown = /<passage-\w+ number="(\d+)"[^]*?\n(\d+)\| - (.*)/.exec(prompt);
  if (shown === null) return { sentences: [] };
  const [, passage, line, fact = ''] = shown;
  const text = `The user ${fact.charAt(0).toLowerCase()}${fact.slice(1)}`;
  const source = { passage: Number(passage), startLine: Number(line), endLine: Number(line) };
  return { sentences: [{ text, sources: [source] }] };
}

/** @param {string | { text?: string }[]} content */
function toText(content) {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => text ?? '').join('');
}
