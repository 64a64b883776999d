import type OpenAI from 'openai';
import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../../core/contracts/model-provider.ts';
import { readTokens, toObject } from '../provider-http/answer.ts';
import { callProvider, type CallPolicy } from '../provider-http/call.ts';
import { ProviderFault, toFault } from '../provider-http/fault.ts';
import { askForJson, isStrictSchema, unwrapJson } from '../provider-http/json-reply.ts';
import { createOpenAIClient } from '../provider-http/openai-client.ts';
import { checkProviderOptions, type ProviderOptions } from '../provider-http/options.ts';

/** Where the model is, and which. */
export interface OpenAIModelOptions extends ProviderOptions {
  /** The model. Required. */
  name?: string;
}

const OPENAI_URL = 'https://api.openai.com/v1';
const TIMEOUT_MS = 60_000;

/** How a server wants to be asked: found out by its refusals, and kept. */
interface Manner {
  /** `schema`: it takes a JSON Schema. `prompt`: it is asked for in words. */
  json: 'schema' | 'prompt';
  /** OpenAI's own newer models refuse `max_tokens`, other servers don't know the newer name. */
  limit: 'max_tokens' | 'max_completion_tokens';
}

/**
 * A model behind any server that speaks OpenAI's Chat Completions: OpenAI, Ollama, vLLM, LM Studio.
 * Throws an `Error` that names the option that is wrong.
 *
 * A server that refuses a JSON Schema is asked for JSON in the prompt, from then on; the reply's
 * code fence and thoughts are taken off.
 *
 * @example
 * createMemoryService({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   model: openai({ baseUrl: 'http://127.0.0.1:11434/v1', name: 'qwen3' }),
 * });
 */
export function openai(options: OpenAIModelOptions = {}): ModelProvider {
  const { baseUrl, apiKey, fetch, timeoutMs, maxRetries, retryDelayMs } = checkProviderOptions(
    options,
    { baseUrl: OPENAI_URL, timeoutMs: TIMEOUT_MS },
  );
  const model = options.name;
  if (typeof model !== 'string' || model === '') throw new Error('name is missing: the model');
  const policy: CallPolicy = {
    provider: 'openai',
    codes: { failed: 'MODEL_FAILED', timedOut: 'MODEL_TIMEOUT' },
    timeoutMs,
    maxRetries,
    retryDelayMs,
  };
  const client = createOpenAIClient({ baseUrl, apiKey, fetch, timeoutMs });
  const isOpenAI = new URL(baseUrl).origin === new URL(OPENAI_URL).origin;
  let known: Manner = {
    json: 'schema',
    limit: isOpenAI ? 'max_completion_tokens' : 'max_tokens',
  };

  /** Asks in the manner that is known, and in others while the server refuses the request. */
  async function ask(request: GenerateRequest, signal: AbortSignal): Promise<GenerateResult> {
    let manner = known;
    for (let refusals = 0; ; refusals += 1) {
      try {
        const answer: unknown = await client.chat.completions.create(
          toBody(model as string, request, manner),
          { signal },
        );
        // Only what went through says that the manner was the matter.
        known = manner;
        return readAnswer(answer, request);
      } catch (error) {
        const other = refusals < 2 ? otherManner(error, manner, request) : null;
        if (other === null) throw error;
        manner = other;
      }
    }
  }

  return {
    name: 'openai',
    model,
    generate: (request) => callProvider(policy, request.signal, (signal) => ask(request, signal)),
  };
}

function toBody(
  model: string,
  { system, prompt, schema, maxTokens }: GenerateRequest,
  { json, limit }: Manner,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const isAsked = schema !== undefined && json === 'prompt';
  return {
    model,
    messages: [
      { role: 'system', content: isAsked ? askForJson(system, schema) : system },
      { role: 'user', content: prompt },
    ],
    ...(maxTokens === undefined ? {} : { [limit]: maxTokens }),
    ...(schema === undefined || isAsked
      ? {}
      : {
          response_format: {
            type: 'json_schema',
            json_schema: {
              name: 'answer',
              schema: schema as Record<string, unknown>,
              strict: isStrictSchema(schema),
            },
          },
        }),
  };
}

/** The manner to try after a refusal; `null` when the refusal has another reason. */
function otherManner(error: unknown, manner: Manner, request: GenerateRequest): Manner | null {
  const { reason, status } = toFault(error);
  if (reason !== 'rejected' && status !== 501) return null;
  if (![400, 404, 415, 422, 501].includes(status ?? 0)) return null;
  if (request.maxTokens !== undefined && isAboutLimit(error)) {
    const limit = manner.limit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    return { ...manner, limit };
  }
  if (request.schema === undefined || manner.json === 'prompt') return null;
  return { ...manner, json: 'prompt' };
}

function isAboutLimit(error: unknown): boolean {
  const { param, message } = error as { param?: unknown; message?: unknown };
  return [param, message].some((text) => /max(?:_completion)?_tokens/.test(String(text)));
}

/** Takes an answer apart, trusting nothing of it. */
function readAnswer(answer: unknown, request: GenerateRequest): GenerateResult {
  const { choices, usage } = toObject(answer);
  if (!Array.isArray(choices)) throw new ProviderFault('malformed');
  if (choices.length === 0) throw new ProviderFault('empty');
  const { message, finish_reason: ending } = toObject(choices[0]);
  const { content, refusal } = toObject(message);
  if (ending === 'content_filter' || (typeof refusal === 'string' && refusal !== '')) {
    throw new ProviderFault('refused');
  }
  if (ending === 'length') throw new ProviderFault('cut_off');
  if (content === null || content === undefined || content === '') {
    throw new ProviderFault('empty');
  }
  if (typeof content !== 'string') throw new ProviderFault('malformed');
  const text = request.schema === undefined ? content : unwrapJson(content);
  if (text.trim() === '') throw new ProviderFault('empty');
  return {
    text,
    inputTokens: readTokens(usage, 'prompt_tokens'),
    outputTokens: readTokens(usage, 'completion_tokens'),
  };
}
