import type { ToolSet } from 'ai';
import type { ToolResponse, ToolRunner } from '../core/contracts/tool.ts';
import { toErrorText } from '../core/errors.ts';
import { bindTools, importPeer, type StrictAdapterOptions, type ToolFailure } from './runner.ts';

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
  const load = () => import('ai');
  const { tool: toTool, jsonSchema } = await importPeer('toVercelAiTools', 'ai', load);
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
          ? { type: 'error-text', value: toErrorText(given.error) }
          : { type: 'json', value: given.result as never };
      },
    } as never),
  ]);
  return Object.fromEntries(entries) as ToolSet;
}

/** What the SDK hands to a tool beside its arguments, as far as it matters here. */
interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal;
  messages?: readonly object[];
}
