import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { compileSchema } from '../../../core/schemas/validate.ts';

/**
 * What the providers' published references say of a request's body, as far as the plugins send it:
 * a member that they don't name is refused, as the real servers refuse it. The names of members, and
 * which of them are required, are held to the types that the providers generate from their own
 * schemas: another name here does not compile.
 */
function published<Part extends object>(
  properties: { readonly [Name in keyof Part]?: object },
  required: Readonly<Record<RequiredKeys<Part>, true>>,
): Record<string, unknown> {
  return {
    type: 'object',
    properties,
    required: Object.keys(required),
    additionalProperties: false,
  };
}

type RequiredKeys<Part> = {
  [Name in keyof Part]-?: object extends Pick<Part, Name> ? never : Name;
}[keyof Part];

const text = { type: 'string', minLength: 1 };
const whole = { type: 'integer', minimum: 1 };
const objectSchema = {
  type: 'object',
  properties: { type: { const: 'object' } },
  required: ['type'],
};

/** POST /v1/embeddings of OpenAI's API. */
export const checkEmbeddings = compileSchema(
  published<OpenAI.EmbeddingCreateParams>(
    {
      model: text,
      input: { type: 'array', items: text, minItems: 1, maxItems: 2_048 },
      encoding_format: { enum: ['float', 'base64'] },
      dimensions: whole,
      user: text,
    },
    { model: true, input: true },
  ),
);

const chatMessage = published<OpenAI.ChatCompletionSystemMessageParam>(
  { role: { enum: ['system', 'developer', 'user', 'assistant'] }, content: text },
  { role: true, content: true },
);

const chatTool = published<OpenAI.ChatCompletionFunctionTool>(
  {
    type: { const: 'function' },
    function: published<OpenAI.FunctionDefinition>(
      {
        name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
        description: text,
        parameters: objectSchema,
        strict: { type: 'boolean' },
      },
      { name: true },
    ),
  },
  { type: true, function: true },
);

const chatToolChoice = published<OpenAI.ChatCompletionNamedToolChoice>(
  {
    type: { const: 'function' },
    function: published<OpenAI.ChatCompletionNamedToolChoice.Function>(
      { name: text },
      { name: true },
    ),
  },
  { type: true, function: true },
);

const chatFormat = published<OpenAI.ResponseFormatJSONSchema>(
  {
    type: { const: 'json_schema' },
    json_schema: published<OpenAI.ResponseFormatJSONSchema['json_schema']>(
      {
        name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
        schema: { type: 'object' },
        strict: { type: 'boolean' },
      },
      { name: true },
    ),
  },
  { type: true, json_schema: true },
);

/** POST /v1/chat/completions of OpenAI's API. */
export const checkChat = compileSchema({
  ...published<OpenAI.ChatCompletionCreateParamsNonStreaming>(
    {
      model: text,
      messages: { type: 'array', minItems: 1, items: chatMessage },
      max_tokens: whole,
      temperature: { type: 'number', minimum: 0, maximum: 1 },
      max_completion_tokens: whole,
      tools: { type: 'array', minItems: 1, maxItems: 128, items: chatTool },
      tool_choice: chatToolChoice,
      response_format: chatFormat,
    },
    { model: true, messages: true },
  ),
  dependentRequired: { tool_choice: ['tools'] },
  // The two names of one limit.
  dependentSchemas: { max_tokens: { properties: { max_completion_tokens: false } } },
});

const anthropicMessage = published<Anthropic.MessageParam>(
  { role: { enum: ['user', 'assistant'] }, content: text },
  { role: true, content: true },
);

const anthropicTool = published<Anthropic.Tool>(
  {
    name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,128}$' },
    description: text,
    input_schema: objectSchema,
  },
  { name: true, input_schema: true },
);

const anthropicToolChoice = published<Anthropic.ToolChoiceTool>(
  { type: { const: 'tool' }, name: text, disable_parallel_tool_use: { type: 'boolean' } },
  { type: true, name: true },
);

/** POST /v1/messages of Anthropic's API. */
export const checkMessages = compileSchema(
  published<Anthropic.MessageCreateParamsNonStreaming>(
    {
      model: text,
      max_tokens: whole,
      system: { type: 'string' },
      messages: { type: 'array', minItems: 1, items: anthropicMessage },
      tools: { type: 'array', items: anthropicTool },
      tool_choice: anthropicToolChoice,
    },
    { model: true, max_tokens: true, messages: true },
  ),
);
