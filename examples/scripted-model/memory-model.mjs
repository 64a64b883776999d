// The scripted model's answers for memory_remember and memory_context: it files a fact as a line of
// user/profile.md, and selects the first line that it is shown for a question.

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
  const answer = prompt.includes('\n<operation-')
    ? judgeEdits(prompt)
    : prompt.includes('<fact-')
      ? fileFact(prompt)
      : answerQuestion(prompt);
  // In Anthropic's API, the JSON is the arguments of a tool that the model must call.
  if (tool_choice?.type === 'tool')
    return { calls: [{ name: tool_choice.name, arguments: answer }] };
  return { text: JSON.stringify(answer) };
}

/** @param {string} prompt */
function fileFact(prompt) {
  const [, fact = ''] = /<fact-\w+>\n(?:The user )?(.*)\n/.exec(prompt) ?? [];
  const line = `- ${fact.charAt(0).toUpperCase()}${fact.slice(1)}`;
  const path = 'user/profile.md';
  const add = { path, heading: null, lines: [line] };
  const isKnown = prompt.includes(`| ${line}\n`);
  const operation = { kind: 'add', reason: 'It is new.', remove: [], add, sources: [] };
  // A question says nothing to keep.
  return { operations: isKnown || fact.endsWith('?') ? [] : [operation] };
}

/**
 * This one passes whatever it is shown: what it proposes is always a fact word for word.
 *
 * @param {string} prompt
 */
function judgeEdits(prompt) {
  const numbers = [...prompt.matchAll(/^<operation-\w+ number="(\d+)"/gm)];
  return {
    verdicts: numbers.map(([, number]) => ({
      operation: Number(number),
      lost: [],
      added: [],
      verdict: 'keeps',
    })),
  };
}

/** @param {string} prompt */
function answerQuestion(prompt) {
  if (prompt.endsWith('Plan the searches.')) return { searches: [] };
  const [, path, line] = /<file-\w+ path="([^"]+)"[^]*?\n(\d+)\| \S+ \| - /.exec(prompt) ?? [];
  return { lines: path === undefined ? [] : [{ path, line: Number(line) }] };
}

/** @param {string | { text?: string }[]} content */
function toText(content) {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => text ?? '').join('');
}
