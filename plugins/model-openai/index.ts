import type OpenAI from 'openai';
import Type from 'typebox';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../../core/contracts/model-provider.ts';
import type { JsonSchema } from '../../core/contracts/tool.ts';
import { readTokens, toObject } from '../provider-http/answer.ts';
import { ProviderFault, toFault } from '../provider-http/fault.ts';
import {
  ANSWER_TOOL,
  nameOf,
  askForJson,
  isJson,
  isStrictSchema,
  toToolSchema,
  unwrapJson,
  unwrapToolInput,
} from '../provider-http/json-reply.ts';
import { createOpenAIClient } from '../provider-http/openai-client.ts';
import { openProvider, providerOptions } from '../provider-http/options.ts';

const OPENAI_URL = 'https://api.openai.com/v1';

/** Where the model is, and which one. */
const OPTIONS = {
  ...providerOptions({ baseUrl: OPENAI_URL, timeoutMs: 60_000 }),
  name: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isRequired: true,
    description: 'the name of the model',
  },
} as const satisfies OptionTable;

/** The options of `openai()`; only `name` is required. */
export type OpenAIModelOptions = OptionsOf<typeof OPTIONS>;

/** The request format, detected from errors and cached. */
interface RequestFormat {
  /** `schema`: it takes a JSON Schema. `tool`: it calls a tool of that schema. `none`: neither. */
  json: 'schema' | 'tool' | 'none';
  /** Whether the schema is said in words, too. */
  inWords: boolean;
  /** OpenAI's own newer models refuse `max_tokens`, other servers don't know the newer name. */
  limit: 'max_tokens' | 'max_completion_tokens';
}

/**
 * A model behind any server that speaks OpenAI's Chat Completions: OpenAI, Ollama, vLLM, LM Studio.
 * Throws a `ConfigError` that names the wrong options.
 *
 * A server that refuses a JSON Schema is asked to call a tool of that schema, from then on, and one
 * that refuses that too for JSON in the prompt; so is one that takes a schema and does not keep to it.
 * The reply's code fence and thoughts are taken off.
 *
 * @example
 * createMemoryService({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   model: openai({ baseUrl: 'http://127.0.0.1:11434/v1', name: 'qwen3' }),
 * });
 */
export function openai(options: OpenAIModelOptions): ModelProvider {
  const settings = readOptions(OPTIONS, options, { plugin: 'model-openai' });
  const { baseUrl, apiKey, name: model, timeoutMs } = settings;
  const { fetch, call } = openProvider(settings, {
    provider: 'openai',
    codes: { failed: 'MODEL_FAILED', timedOut: 'MODEL_TIMEOUT' },
    keyedUrl: OPENAI_URL,
  });
  const client = createOpenAIClient({ baseUrl, apiKey, fetch, timeoutMs });
  const isOpenAI = new URL(baseUrl).origin === new URL(OPENAI_URL).origin;
  let known: RequestFormat = {
    json: 'schema',
    inWords: false,
    limit: isOpenAI ? 'max_completion_tokens' : 'max_tokens',
  };

  /** Sends the request in the known format, and in others while the server refuses it. */
  async function ask(request: GenerateRequest, signal: AbortSignal): Promise<GenerateResult> {
    let format = known;
    for (let refusals = 0; ; refusals += 1) {
      try {
        const answer: unknown = await client.chat.completions.create(
          toBody(model as string, request, format),
          { signal },
        );
        // Only a request that went through proves that the format was the reason.
        known = format;
        const result = readAnswer(answer, request, format);
        // Taken, and not kept to: the next one says it in words as well.
        if (request.schema !== undefined && result.isCutOff !== true && !isJson(result.text)) {
          known.inWords = true;
        }
        return result;
      } catch (error) {
        const other = refusals < 3 ? otherFormat(error, format, request) : null;
        if (other === null) throw error;
        format = other;
      }
    }
  }

  return {
    name: 'openai',
    model,
    generate: (request) => call(request, (signal) => ask(request, signal)),
  };
}

function toBody(
  model: string,
  { system, prompt, schema, maxTokens }: GenerateRequest,
  { json, inWords, limit }: RequestFormat,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const isSaid = schema !== undefined && inWords;
  return {
    model,
    messages: [
      { role: 'system', content: isSaid ? askForJson(system, schema) : system },
      { role: 'user', content: prompt },
    ],
    ...(maxTokens === undefined ? {} : { [limit]: maxTokens }),
    ...(schema === undefined || json === 'none' ? {} : FORMS[json](schema)),
  };
}

type Form = Pick<
  OpenAI.ChatCompletionCreateParamsNonStreaming,
  'response_format' | 'tools' | 'tool_choice'
>;

/** JSON of a schema, as the API has it asked for. */
const FORMS: Record<'schema' | 'tool', (schema: JsonSchema) => Form> = {
  schema: (schema) => ({
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: nameOf(schema),
        schema: schema as Record<string, unknown>,
        strict: isStrictSchema(schema),
      },
    },
  }),
  tool: (schema) => ({
    tools: [
      {
        type: 'function',
        function: { name: nameOf(schema), ...ANSWER_TOOL, parameters: toToolSchema(schema) },
      },
    ],
    tool_choice: { type: 'function', function: { name: nameOf(schema) } },
  }),
};

/** The format to try after a refusal; `null` when the refusal has another reason. */
function otherFormat(
  error: unknown,
  format: RequestFormat,
  request: GenerateRequest,
): RequestFormat | null {
  const { reason, status } = toFault(error);
  if (reason !== 'rejected' && status !== 501) return null;
  if (![400, 404, 415, 422, 501].includes(status ?? 0)) return null;
  if (request.maxTokens !== undefined && isAboutLimit(error)) {
    const limit = format.limit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    return { ...format, limit };
  }
  if (request.schema === undefined || format.json === 'none') return null;
  return format.json === 'schema'
    ? { ...format, json: 'tool' }
    : { ...format, json: 'none', inWords: true };
}

function isAboutLimit(error: unknown): boolean {
  const { param, message } = error as { param?: unknown; message?: unknown };
  return [param, message].some((text) => /max(?:_completion)?_tokens/.test(String(text)));
}

/** Takes an answer apart, trusting nothing of it. */
function readAnswer(
  answer: unknown,
  { schema, acceptsCutOff = false }: GenerateRequest,
  { json }: RequestFormat,
): GenerateResult {
  const { choices, usage } = toObject(answer);
  if (!Array.isArray(choices)) throw new ProviderFault('malformed');
  if (choices.length === 0) throw new ProviderFault('empty');
  const { message, finish_reason: ending } = toObject(choices[0]);
  const { content, refusal, tool_calls: calls } = toObject(message);
  if (ending === 'content_filter' || (typeof refusal === 'string' && refusal !== '')) {
    throw new ProviderFault('refused');
  }
  const isCutOff = ending === 'length';
  if (isCutOff && !acceptsCutOff) throw new ProviderFault('cut_off');
  const isTool = schema !== undefined && json === 'tool' && Array.isArray(calls);
  const said = isTool ? readToolInput(calls, schema) : null;
  // Thoughts may take all the tokens.
  if (isCutOff && said === null && isNothing(content)) throw new ProviderFault('cut_off');
  const text = said ?? readContent(content, schema);
  if (text.trim() === '') throw new ProviderFault('empty');
  return {
    text,
    ...(isCutOff ? { isCutOff } : {}),
    inputTokens: readTokens(usage, 'prompt_tokens'),
    outputTokens: readTokens(usage, 'completion_tokens'),
  };
}

function readContent(content: unknown, schema: JsonSchema | undefined): string {
  if (isNothing(content)) throw new ProviderFault('empty');
  if (typeof content !== 'string') throw new ProviderFault('malformed');
  return schema === undefined ? content : unwrapJson(content);
}

function isNothing(content: unknown): boolean {
  return content === null || content === undefined || content === '';
}

/** The arguments of the call; `null` where there is none, as the words that came may be the JSON. */
function readToolInput(calls: readonly unknown[], schema: JsonSchema): string | null {
  const functions = calls.map((call) => toObject(toObject(call)['function']));
  const call = functions.find(({ name }) => name === nameOf(schema));
  if (call === undefined) return null;
  const { arguments: input } = call;
  // A text by the API; some servers give the object itself.
  if (typeof input === 'object') return unwrapToolInput(toObject(input), schema);
  if (typeof input !== 'string') throw new ProviderFault('malformed');
  return isJson(input) ? unwrapToolInput(toObject(JSON.parse(input)), schema) : input;
}
