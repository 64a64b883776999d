import type OpenAI from 'openai';
import Type from 'typebox';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../../core/contracts/model-provider.ts';
import type { JsonSchema } from '../../core/contracts/tool.ts';
import { findJson, parseReply, withoutFirstThoughts } from '../../core/encoding/json-reply.ts';
import { readText, readTokens, toObject } from '../provider-http/answer.ts';
import { isListed } from '../provider-http/check-model.ts';
import { ProviderFault, toFault } from '../provider-http/fault.ts';
import {
  ANSWER_TOOL,
  nameOf,
  askForJson,
  isStrictSchema,
  toToolSchema,
  unwrapToolInput,
} from '../provider-http/json-reply.ts';
import { createOpenAIClient } from '../provider-http/openai-client.ts';
import { openProvider, providerOptions } from '../provider-http/options.ts';
import { awaitAnswer } from '../provider-http/read-answer.ts';

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
  /** Models that reason refuse any temperature but their own. */
  isCold: boolean;
}

/**
 * A model behind any server that speaks OpenAI's Chat Completions: OpenAI, Ollama, vLLM, LM Studio.
 * Throws a `ConfigError` that names the wrong options.
 *
 * A server that refuses a JSON Schema is asked to call a tool of that schema, from then on, and one
 * that refuses that too for JSON in the prompt; so is one that takes a schema and does not keep to it.
 * Of a reply the JSON counts, without thoughts, words and code fences around it.
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
    isCold: true,
  };

  /** Sends the request in the known format, and in others while the server refuses it. */
  async function ask(request: GenerateRequest, signal: AbortSignal): Promise<GenerateResult> {
    let format = known;
    for (let refusals = 0; ; refusals += 1) {
      try {
        const body = toBody(model as string, request, format);
        const answer = await awaitAnswer(client.chat.completions.create(body, { signal }));
        // Only a request that went through proves that the format was the reason.
        known = format;
        const result = readAnswer(answer, request);
        // Taken, and not kept to: the next one says it in words as well.
        if (
          request.schema !== undefined &&
          result.isCutOff !== true &&
          parseReply(result.text) === undefined
        ) {
          known.inWords = true;
        }
        return result;
      } catch (error) {
        const other = refusals < 4 ? otherFormat(error, format, request) : null;
        if (other === null) throw error;
        format = other;
      }
    }
  }

  let contextTokens: number | undefined;
  return {
    name: 'openai',
    model,
    address: baseUrl,
    get contextTokens() {
      return contextTokens;
    },
    generate: (request) => call(request, (signal) => ask(request, signal)),
    check: (options) =>
      call(options, (signal) =>
        isListed(async () => {
          const listed = findModel(await awaitAnswer(client.get('/models', { signal })), model);
          if (listed !== null) contextTokens = readContext(listed);
          return listed !== null;
        }),
      ),
  };
}

/** Ollama lists a model with its tag, and takes the name without it. */
function findModel(answer: unknown, model: string | null): Record<string, unknown> | null {
  const { data } = toObject(answer);
  if (!Array.isArray(data)) return null;
  const models = (data as unknown[]).map(toObject);
  return models.find(({ id }) => id === model || id === `${model}:latest`) ?? null;
}

/** How servers name a model's context, the one that is loaded first: vLLM, OpenRouter, Groq, LM Studio, Mistral. */
const CONTEXT_FIELDS = [
  'loaded_context_length',
  'max_model_len',
  'context_length',
  'context_window',
  'max_context_length',
] as const;

function readContext(listed: Record<string, unknown>): number | undefined {
  const told = CONTEXT_FIELDS.map((field) => listed[field]);
  return told.find((tokens): tokens is number => Number.isSafeInteger(tokens));
}

function toBody(
  model: string,
  { system, prompt, schema, maxTokens }: GenerateRequest,
  { json, inWords, limit, isCold }: RequestFormat,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const isSaid = schema !== undefined && inWords;
  return {
    model,
    messages: [
      { role: 'system', content: isSaid ? askForJson(system, schema) : system },
      { role: 'user', content: prompt },
    ],
    ...(isCold ? { temperature: 0 } : {}),
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
  if (format.isCold && /temperature/.test(toFault(error).said)) return { ...format, isCold: false };
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
  return /max(?:_completion)?_tokens/.test(toFault(error).said);
}

/** How replies end that are not complete, in the words of different servers. */
const CUT_OFF = /^(?:length|max_tokens|max_output_tokens|model_length|max_length)$/;
const REFUSED = /^(?:content_?filter|safety|recitation|refusal|prohibited_content|blocklist|spii)/;
const FAILED = /^(?:error|abort|insufficient_system_resource|engine_overloaded|network_error)/;

/** Takes an answer apart, trusting nothing of it. */
function readAnswer(
  answer: unknown,
  { schema, acceptsCutOff = false }: GenerateRequest,
): GenerateResult {
  const { choices, usage } = toObject(answer);
  if (!Array.isArray(choices)) throw new ProviderFault('malformed');
  if (choices.length === 0) throw new ProviderFault('empty');
  const choice = toObject(choices[0]);
  const ending = String(choice['finish_reason'] ?? '').toLowerCase();
  if (FAILED.test(ending)) throw new ProviderFault('unavailable');
  const message = toObject(choice['message']);
  const { refusal } = message;
  if (REFUSED.test(ending) || (typeof refusal === 'string' && refusal !== '')) {
    throw new ProviderFault('refused');
  }
  const isCutOff = CUT_OFF.test(ending);
  if (isCutOff && !acceptsCutOff) throw new ProviderFault('cut_off');
  const text = schema === undefined ? readWords(message) : readJson(message, schema);
  // Thoughts may take all the tokens.
  if (text.trim() === '') throw new ProviderFault(isCutOff ? 'cut_off' : 'empty');
  return {
    text,
    ...(isCutOff ? { isCutOff } : {}),
    inputTokens: readTokens(usage, 'prompt_tokens'),
    outputTokens: readTokens(usage, 'completion_tokens'),
  };
}

function readWords({ content }: Record<string, unknown>): string {
  return withoutFirstThoughts(readText(content));
}

/** The JSON of a message: of the tool's call, of what it says, or of what only its thoughts say. */
function readJson(message: Record<string, unknown>, schema: JsonSchema): string {
  const { content, tool_calls: calls, function_call: call } = message;
  const functions = (Array.isArray(calls) ? (calls as unknown[]) : [{ function: call }]).map(
    (each) => toRecord(toRecord(each)?.['function']) ?? {},
  );
  const own = functions.find(({ name }) => name === nameOf(schema));
  if (own !== undefined) return readToolInput(own, schema);
  // Some servers give the JSON as it is, not as a text.
  const isValue = typeof content === 'object' && content !== null && !Array.isArray(content);
  const text = isValue ? JSON.stringify(content) : findJson(readText(content), schema);
  if (text !== '') return text;
  // A proxy may have made a tool of the schema, with a name of its own.
  const [only] = functions;
  const isOnly = functions.length === 1 && toRecord(parseReply(String(only?.['arguments'])));
  if (only !== undefined && isOnly) return readToolInput(only, schema);
  // Where a server takes the whole reply for thoughts, it is there: never thoughts with JSON in them.
  const thoughts = message['reasoning_content'] ?? message['reasoning'];
  const isReply = typeof thoughts === 'string' && toRecord(parseReply(thoughts)) !== null;
  return isReply ? thoughts.trim() : '';
}

/** The arguments of a call: a text by the API; some servers give the object itself. */
function readToolInput({ arguments: input }: Record<string, unknown>, schema: JsonSchema): string {
  if (typeof input === 'object') return unwrapToolInput(toObject(input), schema);
  if (typeof input !== 'string') throw new ProviderFault('malformed');
  const json = findJson(input, toToolSchema(schema));
  const value = parseReply(json);
  return value === undefined ? json : unwrapToolInput(toObject(value), schema);
}

function toRecord(value: unknown): Record<string, unknown> | null {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : null;
}
