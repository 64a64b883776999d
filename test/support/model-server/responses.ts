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
 * A request of OpenAI's Responses API, of text and functions: what an agent with tools sends.
 * https://platform.openai.com/docs/api-reference/responses/create, and the types of `openai` 6.49.
 */
const status = { enum: ['in_progress', 'completed', 'incomplete'] };

const inputPart = closed({ type: { const: 'input_text' }, text: TEXT }, ['type', 'text']);

const outputPart = closed(
  {
    type: { const: 'output_text' },
    text: TEXT,
    annotations: { type: 'array' },
    logprobs: { type: 'array' },
  },
  ['type', 'text'],
);

const item = {
  oneOf: [
    closed(
      {
        type: { const: 'message' },
        role: { enum: ['user', 'system', 'developer'] },
        content: { anyOf: [TEXT, { type: 'array', minItems: 1, items: inputPart }] },
        status,
      },
      ['role', 'content'],
    ),
    closed(
      {
        type: { const: 'message' },
        role: { const: 'assistant' },
        id: TEXT,
        content: { anyOf: [TEXT, { type: 'array', minItems: 1, items: outputPart }] },
        status,
        phase: TEXT,
      },
      ['role', 'content'],
    ),
    closed(
      {
        type: { const: 'function_call' },
        id: { type: 'string', pattern: '^fc_' },
        call_id: TEXT,
        name: TEXT,
        arguments: TEXT,
        status,
      },
      ['type', 'call_id', 'name', 'arguments'],
    ),
    closed(
      {
        type: { const: 'function_call_output' },
        id: MAYBE_TEXT,
        call_id: { type: 'string', minLength: 1, maxLength: 64 },
        output: { anyOf: [TEXT, { type: 'array', minItems: 1, items: inputPart }] },
        status: { enum: [null, 'in_progress', 'completed', 'incomplete'] },
      },
      ['type', 'call_id', 'output'],
    ),
    closed({ type: { const: 'item_reference' }, id: TEXT }, ['type', 'id']),
  ],
};

const tool = closed(
  {
    type: { const: 'function' },
    name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
    description: MAYBE_TEXT,
    parameters: ANY_OBJECT,
    strict: { type: ['boolean', 'null'] },
    defer_loading: BOOLEAN,
  },
  ['type', 'name', 'parameters'],
);

const check = compileCheck(
  closed(
    {
      model: TEXT,
      input: { anyOf: [TEXT, { type: 'array', minItems: 1, items: item }] },
      instructions: MAYBE_TEXT,
      include: { type: 'array', items: TEXT },
      max_output_tokens: { type: 'integer' },
      metadata: ANY_OBJECT,
      parallel_tool_calls: BOOLEAN,
      previous_response_id: { type: ['string', 'null'], pattern: '^resp_' },
      prompt_cache_key: TEXT,
      store: BOOLEAN,
      stream: { type: ['boolean', 'null'] },
      temperature: NUMBER,
      text: ANY_OBJECT,
      tool_choice: { anyOf: [{ enum: ['none', 'auto', 'required'] }, ANY_OBJECT] },
      tools: { type: 'array', items: tool },
      top_p: NUMBER,
      user: TEXT,
    },
    ['model', 'input'],
  ),
);

interface Item {
  type?: string;
  id?: string;
  call_id?: string;
}

interface Body {
  input: string | Item[];
  previous_response_id?: string | null;
  tools?: { name: string; parameters: unknown; strict?: boolean | null }[];
}

/** Throws at a request that the API would refuse, with what is wrong. */
export function checkResponse({ body, headers }: ModelRequest): void {
  if (!/^Bearer ./.test(headers.authorization ?? '')) throw new Error('There is no key.');
  check(body);
  const { input, tools = [], previous_response_id: previous } = body as Body;
  checkNames(tools.map(({ name }) => name));
  for (const { name, parameters, strict } of tools) {
    checkToolSchema(name, parameters);
    if (strict === true) checkStrictSchema(name, parameters);
  }
  const items = typeof input === 'string' ? [] : input;
  const answers = items.filter(({ type }) => type === 'function_call_output').map(toCallId);
  // The calls of a response that is referred to are in it, not in this request.
  if (typeof previous === 'string') return checkAnswers([...new Set(answers)], answers);
  const calls = items.filter(({ type }) => type === 'function_call').map(toCallId);
  // A reference to a stored call bears the call's own id: fc_<call id>.
  const referred = items
    .filter(({ type, id = '' }) => type === 'item_reference' && id.startsWith('fc_'))
    .map(({ id = '' }) => id.slice('fc_'.length));
  checkAnswers([...calls, ...referred], answers);
}

function toCallId({ call_id: callId = '' }: Item): string {
  return callId;
}
