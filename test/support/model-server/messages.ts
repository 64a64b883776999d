import type { ModelRequest } from '../../../examples/scripted-model/server.mjs';
import {
  ANY_OBJECT,
  BOOLEAN,
  checkAnswers,
  checkNames,
  checkToolSchema,
  closed,
  compileCheck,
  NUMBER,
  TEXT,
} from './check.ts';

/**
 * A request of Anthropic's Messages API, of text and tools: what an agent with tools sends.
 * https://docs.anthropic.com/en/api/messages, and the types of `@anthropic-ai/sdk` 1.12.
 */
const cacheControl = { anyOf: [ANY_OBJECT, { type: 'null' }] };

const text = closed(
  {
    type: { const: 'text' },
    text: { type: 'string', minLength: 1 },
    cache_control: cacheControl,
    citations: { type: ['array', 'null'] },
  },
  ['type', 'text'],
);

const toolUse = closed(
  {
    type: { const: 'tool_use' },
    id: { type: 'string', pattern: '^[a-zA-Z0-9_-]+$' },
    name: { type: 'string', minLength: 1, maxLength: 200 },
    input: ANY_OBJECT,
    cache_control: cacheControl,
  },
  ['type', 'id', 'name', 'input'],
);

const toolResult = closed(
  {
    type: { const: 'tool_result' },
    tool_use_id: { type: 'string', pattern: '^[a-zA-Z0-9_-]+$' },
    content: { anyOf: [TEXT, { type: 'array', items: text }] },
    is_error: BOOLEAN,
    cache_control: cacheControl,
  },
  ['type', 'tool_use_id'],
);

const toContent = (blocks: object[]) => ({
  anyOf: [TEXT, { type: 'array', minItems: 1, items: { oneOf: blocks } }],
});

const message = {
  oneOf: [
    closed({ role: { const: 'user' }, content: toContent([text, toolResult]) }, [
      'role',
      'content',
    ]),
    closed({ role: { const: 'assistant' }, content: toContent([text, toolUse]) }, [
      'role',
      'content',
    ]),
  ],
};

const tool = {
  oneOf: [
    closed(
      {
        type: { enum: ['custom', null] },
        name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,128}$' },
        description: TEXT,
        input_schema: ANY_OBJECT,
        strict: BOOLEAN,
        cache_control: cacheControl,
      },
      ['name', 'input_schema'],
    ),
    closed(
      {
        type: { const: 'memory_20250818' },
        name: { const: 'memory' },
        cache_control: cacheControl,
      },
      ['type', 'name'],
    ),
  ],
};

const check = compileCheck(
  closed(
    {
      model: TEXT,
      max_tokens: { type: 'integer', minimum: 1 },
      messages: { type: 'array', minItems: 1, items: message },
      system: { anyOf: [TEXT, { type: 'array', items: text }] },
      tools: { type: 'array', items: tool },
      tool_choice: ANY_OBJECT,
      stream: BOOLEAN,
      temperature: NUMBER,
      metadata: ANY_OBJECT,
      stop_sequences: { type: 'array', items: TEXT },
      // A conversation that the provider holds: the next turn alone is sent.
      thread: {
        oneOf: [
          closed({ type: { const: 'create' } }, ['type']),
          closed({ type: { const: 'continue' }, previous_message_id: TEXT }, [
            'type',
            'previous_message_id',
          ]),
          { type: 'null' },
        ],
      },
    },
    ['model', 'max_tokens', 'messages'],
  ),
);

interface Block {
  type: string;
  id?: string;
  tool_use_id?: string;
}

interface Body {
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string; input_schema?: unknown }[];
  thread?: { type: string } | null;
}

/** Throws at a request that the API would refuse, with what is wrong. */
export function checkMessages({ body, headers }: ModelRequest): void {
  const key = headers['x-api-key'] ?? headers.authorization ?? '';
  if (key.length === 0) throw new Error('There is no key.');
  if (headers['anthropic-version'] === undefined) throw new Error('There is no anthropic-version.');
  check(body);
  const { messages, tools = [], thread } = body as Body;
  checkNames(tools.map(({ name }) => name));
  for (const { name, input_schema: schema } of tools) {
    if (schema !== undefined) checkToolSchema(name, schema);
  }
  // The results of an assistant's tool uses begin the very next message.
  messages.forEach(({ content }, index) => {
    const results = blocksOf(content).filter(({ type }) => type === 'tool_result');
    const answers = results.map(({ tool_use_id: id = '' }) => id);
    const before = blocksOf(messages[index - 1]?.content ?? []);
    const uses = before.filter(({ type }) => type === 'tool_use').map(({ id = '' }) => id);
    // What a held conversation says first answers a turn that is not in this request.
    const isHeld = index === 0 && thread?.type === 'continue';
    checkAnswers(isHeld ? [...new Set(answers)] : uses, answers);
  });
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [] : content;
}
