// The frameworks of `npm run test:python`, and what the scripted model says in each example.

import { answerMemory } from '../../examples/scripted-model/memory-model.mjs';

/** @import { Script } from '../../examples/scripted-model/server.mjs' */

/**
 * @typedef {object} Framework
 * @property {string} name the file in examples/python/requirements, and the actor of the example
 * @property {string} file in examples/python
 * @property {readonly Script[]} turns what the model says; none where the example has no model
 * @property {boolean} hasTools whether the model gets the tools of the service
 * @property {boolean} [isUnreliable] whether answers of the service get lost on their way
 * @property {string} [requirements] the file in examples/python/requirements, where it is another one
 * @property {boolean} [keeps] whether it keeps what users say, with a service that has a model
 * @property {RegExp} error what the model must read about a missing file
 */

// It misses two files before it writes, because pydantic-ai ends a run at the second miss by default.
/** @type {readonly Script[]} */
const TOOL_TURNS = [
  { calls: [{ name: 'memory_read', arguments: { path: 'user/profile.md' } }] },
  (answers, body) => {
    if (drinkIn(body) === null) return { text: answers.at(-1)?.text ?? '' };
    return { calls: [{ name: 'memory_read', arguments: { path: 'user/drinks.md' } }] };
  },
  (_, body) => {
    const content = `- Drinks ${drinkIn(body)}.\n`;
    return { calls: [{ name: 'memory_write', arguments: { path: 'user/profile.md', content } }] };
  },
  { text: 'I will remember that.' },
];

// Every command of the memory tool once. The profile is written under another name, and then renamed.
const DRAFT = '/memories/draft.md';
const PROFILE = '/memories/profile.md';
/** @type {readonly Script[]} */
const MEMORY_TURNS = [
  () => useMemory({ command: 'view', path: '/memories' }),
  () => useMemory({ command: 'view', path: PROFILE }),
  (answers, body) => {
    if (drinkIn(body) === null) return { text: answers.at(-1)?.text ?? '' };
    return useMemory({
      command: 'create',
      path: DRAFT,
      file_text: '# Profile\n\n- Drinks water.\n',
    });
  },
  (_, body) =>
    useMemory({ command: 'str_replace', path: DRAFT, old_str: 'water', new_str: drinkIn(body) }),
  () => useMemory({ command: 'insert', path: DRAFT, insert_line: 3, insert_text: '- Said so.\n' }),
  () => useMemory({ command: 'create', path: '/memories/old/a.md', file_text: 'old\n' }),
  () => useMemory({ command: 'delete', path: '/memories/old' }),
  () => useMemory({ command: 'rename', old_path: DRAFT, new_path: PROFILE }),
  { text: 'I will remember that.' },
];

/** @param {object} input */
function useMemory(input) {
  return { calls: [{ name: 'memory', arguments: input }] };
}

/** The drink that the user named in this conversation. @param {unknown} body of the request */
function drinkIn(body) {
  return /I drink (tea|coffee)\./.exec(JSON.stringify(body))?.[1] ?? null;
}

/** @param {string} name @returns {Framework} */
function withTools(name) {
  return {
    name,
    file: `with_${name.replaceAll('-', '_')}.py`,
    turns: TOOL_TURNS,
    hasTools: true,
    error: /FILE_NOT_FOUND: user\/profile\.md does not exist\.[^]*memory_list/,
  };
}

/** @type {readonly Framework[]} */
export const FRAMEWORKS = [
  withTools('langgraph'),
  withTools('pydantic-ai'),
  withTools('openai-agents'),
  withTools('crewai'),
  withTools('llamaindex'),
  withTools('google-adk'),
  {
    name: 'anthropic',
    file: 'with_anthropic_memory.py',
    turns: MEMORY_TURNS,
    hasTools: false,
    error: /The path \/memories\/profile\.md does not exist\. Please provide a valid path\./,
  },
  {
    name: 'httpx',
    file: 'memory_client.py',
    turns: [],
    hasTools: false,
    isUnreliable: true,
    error: /FILE_NOT_FOUND: user\/nothing\.md does not exist\./,
  },
  {
    name: 'keep',
    file: 'keep.py',
    requirements: 'httpx',
    turns: [(_, body) => answerMemory(body) ?? { text: 'I will remember that.' }],
    hasTools: false,
    keeps: true,
    error: /^(?!.*\n)/,
  },
];
