import type { FunctionTool } from '@openai/agents';
import type { ToolRunner } from '../core/contracts/tool.ts';
import { importPeer } from '../core/packages/import-peer.ts';
import type { OpenAiOptions } from './openai.ts';
import { bindTools, toUnreadableCall } from './runner.ts';

export { memoryInstructions } from '../core/tools/memory-instructions.ts';
export { toMemoryPrompt } from './memory-prompt.ts';
export type { MemoryPromptOptions } from './memory-prompt.ts';
export type { OpenAiOptions } from './openai.ts';

/**
 * Makes tools for an `Agent` of the OpenAI Agents SDK. What fails is an output with code, reason and
 * what to do, and the run goes on. A call of a tool that is not there ends a run, unless it has
 * `toolNotFoundBehavior: 'return_error_to_model'`. Needs `@openai/agents`.
 *
 * @example
 * import { Agent, run } from '@openai/agents';
 * import { toOpenAiAgentTools } from 'memory-service/adapters/openai-agents';
 *
 * const tools = await toOpenAiAgentTools(service.tools, { userId: session.userId });
 * const agent = new Agent({ name: 'Assistant', model: 'gpt-5', tools });
 * const { finalOutput } = await run(agent, prompt);
 */
export async function toOpenAiAgentTools(
  runner: ToolRunner,
  options: OpenAiOptions,
): Promise<FunctionTool[]> {
  const peer = await importPeer('toOpenAiAgentTools', {
    packages: ['@openai/agents'],
    load: () => import('@openai/agents'),
    parts: ['tool', 'getCurrentTrace', 'ModelBehaviorError'],
  });
  const { tool: toTool, getCurrentTrace, ModelBehaviorError } = peer;
  const bound = await bindTools(runner, options);
  return bound.map((tool) => {
    return toTool({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters as never,
      strict: tool.isStrict as never,
      async execute(args: unknown, context: object | undefined, details?: CallDetails) {
        const traceId = getCurrentTrace()?.traceId;
        // Without tracing, a run is known by its context.
        const run = traceId?.startsWith('trace_') ? traceId : context;
        const call = { callId: details?.toolCall?.callId, signal: details?.signal, run };
        return (await tool.run(args, call)).text;
      },
      errorFunction(_context: unknown, error: unknown) {
        if (error instanceof ModelBehaviorError) return toUnreadableCall(error).text;
        // A call that was stopped: the run stops too.
        throw error;
      },
    }) as unknown as FunctionTool;
  });
}

/** What the SDK hands to a tool beside its arguments, as far as it matters here. */
interface CallDetails {
  toolCall?: { callId: string };
  signal?: AbortSignal;
}
