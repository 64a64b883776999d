import type { ModelRequest } from '../../../examples/scripted-model/server.mjs';
import {
  ANY_OBJECT,
  BOOLEAN,
  checkAnswers,
  checkNames,
  checkStrictSchema,
  checkToolSchema,
  closed,
  compileCheck,
  MAYBE_TEXT,
  NUMBER,
  TEXT,
} from './check.ts';

/**
 * A request of OpenAI's Chat Completions API, of text, images and functions: what an agent with tools sends.
 * https://platform.openai.com/docs/api-reference/chat/create, and the types of `openai` 6.49.
 */
const text = closed({ type: { const: 'text' }, text: TEXT }, ['type', 'text']);
const image = closed(
  { type: { const: 'image_url' }, image_url: closed({ url: TEXT, detail: TEXT }, ['url']) },
  ['type', 'image_url'],
);
const parts = { type: 'array', minItems: 1, items: { oneOf: [text, image] } };
const content = { anyOf: [TEXT, parts] };

const toolCall = closed(
  {
    id: TEXT,
    type: { const: 'function' },
    function: closed({ name: TEXT, arguments: TEXT }, ['name', 'arguments']),
  },
  ['id', 'type', 'function'],
);

const message = {
  oneOf: [
    closed({ role: { enum: ['system', 'developer', 'user'] }, content, name: TEXT }, [
      'role',
      'content',
    ]),
    closed(
      {
        role: { const: 'assistant' },
        content: { anyOf: [TEXT, parts, { type: 'null' }] },
        refusal: MAYBE_TEXT,
        name: TEXT,
        tool_calls: { type: 'array', minItems: 1, items: toolCall },
      },
      ['role'],
    ),
    // The name is not documented here, and not refused: LangChain sends it.
    closed({ role: { const: 'tool' }, content, tool_call_id: TEXT, name: TEXT }, [
      'role',
      'content',
      'tool_call_id',
    ]),
  ],
};

const tool = closed(
  {
    type: { const: 'function' },
    function: closed(
      {
        name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
        description: TEXT,
        parameters: ANY_OBJECT,
        strict: { type: ['boolean', 'null'] },
      },
      ['name'],
    ),
  },
  ['type', 'function'],
);

const check = compileCheck(
  closed(
    {
      model: TEXT,
      messages: { type: 'array', minItems: 1, items: message },
      tools: { type: 'array', maxItems: 128, items: tool },
      tool_choice: { anyOf: [{ enum: ['none', 'auto', 'required'] }, ANY_OBJECT] },
      parallel_tool_calls: BOOLEAN,
      stream: { type: ['boolean', 'null'] },
      stream_options: closed({ include_usage: BOOLEAN, include_obfuscation: BOOLEAN }, []),
      temperature: NUMBER,
      top_p: NUMBER,
      n: { const: 1 },
      max_completion_tokens: { type: 'integer' },
      max_tokens: { type: 'integer' },
      metadata: ANY_OBJECT,
      store: BOOLEAN,
      user: TEXT,
    },
    ['model', 'messages'],
  ),
);

interface Body {
  messages: { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  tools?: { function: { name: string; parameters: unknown; strict?: boolean | null } }[];
}

/** Throws at a request that the API would refuse, with what is wrong. */
export function checkChatCompletion({ body, headers }: ModelRequest): void {
  if (!/^Bearer ./.test(headers.authorization ?? '')) throw new Error('There is no key.');
  check(body);
  const { messages, tools = [] } = body as Body;
  checkNames(tools.map((one) => one.function.name));
  for (const { function: one } of tools) {
    checkToolSchema(one.name, one.parameters);
    if (one.strict === true) checkStrictSchema(one.name, one.parameters);
  }
  // The answers to an assistant's calls come right after it, before anything else.
  messages.forEach(({ tool_calls = [] }, index) => {
    const after = messages.slice(index + 1);
    const end = after.findIndex(({ role }) => role !== 'tool');
    const answers = end < 0 ? after : after.slice(0, end);
    if (tool_calls.length === 0) return;
    checkAnswers(
      tool_calls.map(({ id }) => id),
      answers.map(({ tool_call_id = '' }) => tool_call_id),
    );
  });
}
