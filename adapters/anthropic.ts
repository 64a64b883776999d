import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type {
  ContentBlock,
  Message,
  StopReason,
  Tool,
  ToolResultBlockParam,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages/messages';
import type { ToolRunner } from '../core/contracts/tool.ts';
import { importPeer } from '../core/packages/import-peer.ts';
import {
  type AdapterOptions,
  bindCalls,
  bindTools,
  type BoundCall,
  type CallsOptions,
  refuseCutOff,
} from './runner.ts';

export { memoryInstructions } from '../core/tools/memory-instructions.ts';
export { toMemoryPrompt } from './memory-prompt.ts';
export type { MemoryPromptOptions } from './memory-prompt.ts';
export type { AdapterOptions, CallsOptions } from './runner.ts';

/** Where an answer ends in the middle of its last block. */
const CUT_OFF: ReadonlySet<StopReason> = new Set([
  'max_tokens',
  'model_context_window_exceeded',
  'refusal',
]);

/** Tools of the Messages API, and what runs the calls in an answer. */
export interface AnthropicTools {
  /** For `tools` of `messages.create` and `messages.stream`. */
  readonly tools: Tool[];
  /**
   * Runs all tool uses of an answer at once, and returns a result for each. The results are the content
   * of the next user message; there are none if the answer used no tool. A tool that is not among these
   * is answered as an unknown one, so leave out the blocks that use your own tools; with `toolPrefix`,
   * uses of tools that begin otherwise are left to you.
   *
   * Pass the whole message. If it ended at the token limit, its last tool use may be incomplete, even if
   * the SDK could read it. That one is not run, and its result is an error. Blocks alone do not show where
   * the message ended, so do not pass them when `stop_reason` is `max_tokens`.
   */
  runCalls(
    answer: Pick<Message, 'content' | 'stop_reason'> | readonly ContentBlock[],
    options?: CallsOptions,
  ): Promise<ToolResultBlockParam[]>;
}

/**
 * Makes tools for `client.beta.messages.toolRunner`, which calls them by itself. What fails is a
 * result with `is_error` that says code, reason and what to do. Needs `@anthropic-ai/sdk`.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk';
 * import { toAnthropicRunnableTools } from 'memory-service/adapters/anthropic';
 *
 * const tools = await toAnthropicRunnableTools(service.tools, { userId: session.userId });
 * const request = { model: 'claude-sonnet-5', max_tokens: 4096, messages, tools };
 * const message = await new Anthropic().beta.messages.toolRunner(request);
 */
export async function toAnthropicRunnableTools(
  runner: ToolRunner,
  options: AdapterOptions,
): Promise<BetaRunnableTool[]> {
  const { ToolError } = await importPeer('toAnthropicRunnableTools', {
    packages: ['@anthropic-ai/sdk'],
    load: () => import('@anthropic-ai/sdk/lib/tools/ToolError'),
    parts: ['ToolError'],
  });
  const bound = await bindTools(runner, options);
  return bound.map((tool) => ({
    type: 'custom',
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema as Tool.InputSchema,
    parse: (input: unknown) => input,
    async run(args: unknown, context) {
      const call = { callId: context?.toolUse.id, signal: context?.signal };
      const outcome = await tool.run(args, call);
      // The runner takes nothing else for a failed call, and answers it in place.
      if (!outcome.ok) throw new ToolError(outcome.text);
      return outcome.text;
    },
  }));
}

/**
 * Makes tools for a loop of your own over the Messages API. What fails is a result with `is_error`
 * that says code, reason and what to do. Needs no package at run time.
 *
 * @example
 * import { toAnthropicTools } from 'memory-service/adapters/anthropic';
 *
 * const memory = await toAnthropicTools(service.tools, { userId: session.userId });
 * const request = { model: 'claude-sonnet-5', max_tokens: 4096, tools: memory.tools };
 * const message = await anthropic.messages.create({ ...request, messages });
 * messages.push({ role: 'assistant', content: message.content });
 * messages.push({ role: 'user', content: await memory.runCalls(message) });
 */
export async function toAnthropicTools(
  runner: ToolRunner,
  options: AdapterOptions,
): Promise<AnthropicTools> {
  const { tools: bound, runUnknown, isAnswered } = await bindCalls(runner, options);
  function runUse(
    { name, input }: ToolUseBlock,
    { call, isCutOff }: { call: BoundCall; isCutOff: boolean },
  ) {
    const tool = bound.find((one) => one.name === name);
    if (tool === undefined) return runUnknown(name, call);
    return isCutOff ? refuseCutOff(tool, call) : tool.run(input, call);
  }
  return {
    tools: bound.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema as Tool.InputSchema,
    })),
    runCalls(answer, { signal, run } = {}) {
      const content: readonly ContentBlock[] = 'content' in answer ? answer.content : answer;
      const end = 'content' in answer ? answer.stop_reason : null;
      const cutOff = end !== null && CUT_OFF.has(end) ? content.at(-1) : undefined;
      const uses = content
        .filter((block) => block.type === 'tool_use')
        .filter(({ name }) => isAnswered(name));
      return Promise.all(
        uses.map(async (use) => {
          const call = { callId: use.id, signal, run };
          const outcome = await runUse(use, { call, isCutOff: use === cutOff });
          const failed = outcome.ok ? {} : { is_error: true };
          return { type: 'tool_result', tool_use_id: use.id, content: outcome.text, ...failed };
        }),
      );
    },
  };
}
