import type Anthropic from '@anthropic-ai/sdk';
import Type from 'typebox';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../../core/contracts/model-provider.ts';
import type { JsonSchema } from '../../core/contracts/tool.ts';
import { importPeer } from '../../core/packages/import-peer.ts';
import { createProviderError } from '../../core/providers/provider-failure.ts';
import { findJson, parseReply, withoutFirstThoughts } from '../../core/encoding/json-reply.ts';
import { readText, readTokens, toObject } from '../provider-http/answer.ts';
import { isListed } from '../provider-http/check-model.ts';
import { ProviderFault } from '../provider-http/fault.ts';
import { ANSWER_TOOL, nameOf, toToolSchema, unwrapToolInput } from '../provider-http/json-reply.ts';
import { openProvider, providerOptions } from '../provider-http/options.ts';
import { awaitAnswer } from '../provider-http/read-answer.ts';

const ANTHROPIC_URL = 'https://api.anthropic.com';

/** Which model, and how it is called. */
const OPTIONS = {
  ...providerOptions({ baseUrl: ANTHROPIC_URL, timeoutMs: 60_000 }),
  name: {
    schema: Type.String({ minLength: 1 }),
    default: null,
    isRequired: true,
    description: 'the name of the model',
  },
  maxTokens: {
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    default: 4_096,
    description: 'Tokens of a reply where a request names no number; the API needs one.',
  },
} as const satisfies OptionTable;

/** The options of `anthropic()`; only `name` is required. */
export type AnthropicModelOptions = OptionsOf<typeof OPTIONS>;

/**
 * A model of Anthropic's, over the Messages API. Its SDK, `@anthropic-ai/sdk`, is to be installed
 * beside, and is imported at the first call. Throws a `ConfigError` that names the wrong options.
 *
 * JSON of a schema is had as the arguments of a tool that the model must call, which every model
 * can; a schema that is no object is put into one.
 *
 * @example
 * createMemoryService({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   model: anthropic({ apiKey, name: 'claude-haiku-4-5' }),
 * });
 */
export function anthropic(options: AnthropicModelOptions): ModelProvider {
  const settings = readOptions(OPTIONS, options, { plugin: 'model-anthropic' });
  const { baseUrl, apiKey, name: model, timeoutMs } = settings;
  const { fetch, call } = openProvider(settings, {
    provider: 'anthropic',
    codes: { failed: 'MODEL_FAILED', timedOut: 'MODEL_TIMEOUT' },
    keyedUrl: ANTHROPIC_URL,
  });
  let opening: Promise<Anthropic> | null = null;

  async function open(): Promise<Anthropic> {
    const { Anthropic: Client } = await importSdk();
    return new Client({
      baseURL: baseUrl,
      apiKey: apiKey ?? 'none',
      // Else they would be read from the environment.
      authToken: null,
      webhookKey: null,
      fetch,
      maxRetries: 0,
      timeout: timeoutMs,
      // It logs prompts.
      logLevel: 'off',
    });
  }

  async function openOnce(): Promise<Anthropic> {
    opening ??= open();
    return await opening.catch((error: unknown) => {
      opening = null;
      throw error;
    });
  }

  return {
    name: 'anthropic',
    model,
    address: baseUrl,
    async generate(request) {
      const client = await openOnce();
      return await call(request, async (signal) => {
        const body = toBody(request, settings);
        const answer = await awaitAnswer(client.messages.create(body, { signal }));
        return readAnswer(answer, request);
      });
    },
    async check(options) {
      const client = await openOnce();
      const path = `/v1/models/${encodeURIComponent(model)}`;
      return await call(options, (signal) =>
        isListed(async () => {
          const answer = toObject(await awaitAnswer(client.get(path, { signal })));
          return answer['id'] === model;
        }),
      );
    },
  };
}

async function importSdk() {
  try {
    return await importPeer('The model', {
      packages: ['@anthropic-ai/sdk'],
      load: () => import('@anthropic-ai/sdk'),
      parts: ['Anthropic'],
    });
  } catch (cause) {
    throw createProviderError(
      'MODEL_FAILED',
      { reason: 'not_installed' },
      { provider: 'anthropic', cause },
    );
  }
}

function toBody(
  { system, prompt, schema, maxTokens }: GenerateRequest,
  settings: { name: string; maxTokens: number },
): Anthropic.MessageCreateParamsNonStreaming {
  return {
    model: settings.name,
    max_tokens: maxTokens ?? settings.maxTokens,
    system,
    messages: [{ role: 'user', content: prompt }],
    ...(schema === undefined
      ? {}
      : {
          tools: [{ name: nameOf(schema), ...ANSWER_TOOL, input_schema: toToolSchema(schema) }],
          tool_choice: { type: 'tool', name: nameOf(schema), disable_parallel_tool_use: true },
        }),
  };
}

/** Takes an answer apart, trusting nothing of it. */
function readAnswer(
  answer: unknown,
  { schema, acceptsCutOff = false }: GenerateRequest,
): GenerateResult {
  const { content, stop_reason: ending, usage } = toObject(answer);
  if (ending === 'refusal') throw new ProviderFault('refused');
  const isCutOff = ending === 'max_tokens' || ending === 'model_context_window_exceeded';
  if (isCutOff && !acceptsCutOff) throw new ProviderFault('cut_off');
  if (!Array.isArray(content)) throw new ProviderFault('malformed');
  const text =
    schema === undefined ? withoutFirstThoughts(readText(content)) : readToolInput(content, schema);
  if (text.trim() === '') throw new ProviderFault(isCutOff ? 'cut_off' : 'empty');
  return {
    text,
    ...(isCutOff ? { isCutOff } : {}),
    inputTokens: readTokens(usage, 'input_tokens'),
    outputTokens: readTokens(usage, 'output_tokens'),
  };
}

function readToolInput(content: readonly unknown[], schema: JsonSchema): string {
  const call = content
    .map(toObject)
    .find(({ type, name }) => type === 'tool_use' && name === nameOf(schema));
  // Without the call there may be words: what they say is for the caller's check of the schema.
  if (call === undefined) return findJson(readText(content), schema);
  const { input } = call;
  // An object by the API; some servers give its text.
  const value = typeof input === 'string' ? parseReply(input) : input;
  return unwrapToolInput(toObject(value), schema);
}
