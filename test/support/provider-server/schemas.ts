import { compileSchema } from '../../../core/schema.ts';

/**
 * What the providers' published references say of a request's body, as far as the plugins send it:
 * a member that they don't name is refused, as the real servers refuse it.
 */
const text = { type: 'string', minLength: 1 };
const message = (roles: readonly string[]) => ({
  type: 'object',
  properties: { role: { enum: roles }, content: text },
  required: ['role', 'content'],
  additionalProperties: false,
});

/** POST /v1/embeddings of OpenAI's API. */
export const checkEmbeddings = compileSchema({
  type: 'object',
  properties: {
    model: text,
    input: { type: 'array', items: text, minItems: 1, maxItems: 2_048 },
    encoding_format: { enum: ['float', 'base64'] },
    dimensions: { type: 'integer', minimum: 1 },
    user: text,
  },
  required: ['model', 'input'],
  additionalProperties: false,
});

/** POST /v1/chat/completions of OpenAI's API. */
export const checkChat = compileSchema({
  type: 'object',
  properties: {
    model: text,
    messages: {
      type: 'array',
      minItems: 1,
      items: message(['system', 'developer', 'user', 'assistant']),
    },
    max_tokens: { type: 'integer', minimum: 1 },
    max_completion_tokens: { type: 'integer', minimum: 1 },
    tools: {
      type: 'array',
      minItems: 1,
      maxItems: 128,
      items: {
        type: 'object',
        properties: {
          type: { const: 'function' },
          function: {
            type: 'object',
            properties: {
              name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
              description: text,
              parameters: {
                type: 'object',
                properties: { type: { const: 'object' } },
                required: ['type'],
              },
              strict: { type: 'boolean' },
            },
            required: ['name'],
            additionalProperties: false,
          },
        },
        required: ['type', 'function'],
        additionalProperties: false,
      },
    },
    tool_choice: {
      type: 'object',
      properties: {
        type: { const: 'function' },
        function: {
          type: 'object',
          properties: { name: text },
          required: ['name'],
          additionalProperties: false,
        },
      },
      required: ['type', 'function'],
      additionalProperties: false,
    },
    response_format: {
      type: 'object',
      properties: {
        type: { const: 'json_schema' },
        json_schema: {
          type: 'object',
          properties: {
            name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
            schema: { type: 'object' },
            strict: { type: 'boolean' },
          },
          required: ['name', 'schema'],
          additionalProperties: false,
        },
      },
      required: ['type', 'json_schema'],
      additionalProperties: false,
    },
  },
  required: ['model', 'messages'],
  dependentRequired: { tool_choice: ['tools'] },
  // The two names of one limit.
  dependentSchemas: { max_tokens: { properties: { max_completion_tokens: false } } },
  additionalProperties: false,
});

/** POST /v1/messages of Anthropic's API. */
export const checkMessages = compileSchema({
  type: 'object',
  properties: {
    model: text,
    max_tokens: { type: 'integer', minimum: 1 },
    system: { type: 'string' },
    messages: { type: 'array', minItems: 1, items: message(['user', 'assistant']) },
    tools: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,128}$' },
          description: text,
          input_schema: {
            type: 'object',
            properties: { type: { const: 'object' } },
            required: ['type'],
          },
        },
        required: ['name', 'input_schema'],
        additionalProperties: false,
      },
    },
    tool_choice: {
      type: 'object',
      properties: {
        type: { const: 'tool' },
        name: text,
        disable_parallel_tool_use: { type: 'boolean' },
      },
      required: ['type', 'name'],
      additionalProperties: false,
    },
  },
  required: ['model', 'max_tokens', 'messages'],
  additionalProperties: false,
});
