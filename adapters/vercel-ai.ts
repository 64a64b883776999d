import type { LanguageModelMiddleware, ToolSet } from 'ai';
import type { ToolResponse, ToolRunner } from '../core/contracts/tool.ts';
import { toErrorText } from '../core/errors.ts';
import { importPeer } from '../core/import-peer.ts';
import { createMemoryPrompt, type MemoryPromptOptions } from './memory-prompt.ts';
import { bindTools, type StrictAdapterOptions, type ToolFailure } from './runner.ts';

export { memoryInstructions } from '../core/memory-instructions.ts';
export type { MemoryPromptOptions } from './memory-prompt.ts';
export type { AdapterOptions, StrictAdapterOptions, ToolFailure } from './runner.ts';

/** What a call gives the app: the tool's result, or why there is none. */
export type VercelAiOutput = ToolResponse | { error: ToolFailure };

/**
 * Makes a tool set of the Vercel AI SDK for `generateText`, `streamText` and `ToolLoopAgent`. A call
 * gives `{ result, traceId, toolCallId, durationMs }`, of which the model sees the result; what
 * fails gives `{ error }`, which the model reads as an error text with code, reason and what to do.
 * No call throws but one that was aborted. Needs `ai`, version 6 or 7.
 *
 * @example
 * import { generateText, stepCountIs } from 'ai';
 * import { toVercelAiTools } from 'memory-service/adapters/vercel-ai';
 *
 * const tools = await toVercelAiTools(service.tools, { userId: session.userId });
 * const { text } = await generateText({ model, tools, stopWhen: stepCountIs(10), prompt });
 */
export async function toVercelAiTools(
  runner: ToolRunner,
  options: StrictAdapterOptions,
): Promise<ToolSet> {
  const { tool: toTool, jsonSchema } = await importPeer('toVercelAiTools', {
    packages: ['ai'],
    load: () => import('ai'),
    parts: ['tool', 'jsonSchema'],
  });
  const bound = await bindTools(runner, options);
  const entries = bound.map((tool) => [
    tool.name,
    toTool({
      description: tool.description,
      // Without a check of its own: the service's words about a fault are made for models.
      inputSchema: jsonSchema(tool.parameters),
      ...(tool.isStrict ? { strict: true } : {}),
      async execute(args: unknown, call: CallOptions) {
        const { toolCallId: callId, abortSignal: signal, messages } = call;
        // A run has no id. Its messages begin with the same object at each step.
        const outcome = await tool.run(args, { callId, signal, run: messages?.[0] });
        return outcome.ok ? outcome.response : { error: outcome.error };
      },
      toModelOutput({ output }: { output: unknown }) {
        const given = output as VercelAiOutput;
        return 'error' in given
          ? { type: 'error-text', value: tool.rename(toErrorText(given.error)) }
          : { type: 'json', value: given.result as never };
      },
    } as never),
  ]);
  return Object.fromEntries(entries) as ToolSet;
}

/**
 * Makes middleware for `wrapLanguageModel` that puts memory in front of the model: how to use it, and what
 * `memory_context` finds for the last message of the user, as the last system message. Memory is asked once
 * for a message, not at each step. If memory cannot be read, the model is told so and the steps go on.
 * Throws `INVALID_USER_ID` for a bad user id. Works with `ai` 6 and 7.
 *
 * @example
 * import { wrapLanguageModel } from 'ai';
 * import { recallMemory } from 'memory-service/adapters/vercel-ai';
 *
 * const middleware = recallMemory(service.tools, { userId: session.userId });
 * const model = wrapLanguageModel({ model: openai('gpt-5'), middleware });
 */
export function recallMemory(
  runner: ToolRunner,
  options: MemoryPromptOptions,
): LanguageModelMiddleware {
  const toPrompt = createMemoryPrompt(runner, options);
  return {
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const { prompt, abortSignal } = params;
      const content = await toPrompt(prompt, abortSignal);
      // Providers take system messages at the beginning alone.
      const first = prompt.findIndex(({ role }) => role !== 'system');
      const at = first === -1 ? prompt.length : first;
      const system = { role: 'system' as const, content };
      return { ...params, prompt: [...prompt.slice(0, at), system, ...prompt.slice(at)] };
    },
  };
}

/** What the SDK hands to a tool beside its arguments, as far as it matters here. */
interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal;
  messages?: readonly object[];
}
