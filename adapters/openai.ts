import type { ToolRunner } from '../core/contracts/tool.ts';
import {
  type AdapterOptions,
  type BoundCall,
  type BoundTool,
  bindTools,
  runWithText,
  toUnknownTool,
} from './runner.ts';
import { dropNulls, toStrictSchema } from './strict-schema.ts';

export type { AdapterOptions } from './runner.ts';

/** Which tools, for whom, and how exactly OpenAI holds the model to their schemas. */
export interface OpenAiOptions extends AdapterOptions {
  /**
   * Asks for strict mode: OpenAI lets the model write nothing but what fits the schema. A tool whose
   * schema strict mode has no words for stays as it is. Default: off.
   */
  strict?: boolean;
}

// In words of our own, since the classes of two majors of `openai` do not fit each other’s types.

/** A tool that `runTools` calls by itself. */
export interface OpenAiRunnableTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: { type: 'object' };
    strict: boolean;
    function(args: string, run: { controller: AbortController }): Promise<string>;
  };
}

/** A tool of the Responses API. */
export interface OpenAiFunctionTool {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: boolean;
}

/** What a call of the Responses API came to. */
export interface OpenAiCallOutput {
  type: 'function_call_output';
  call_id: string;
  output: string;
}

/** Tools of the Responses API, and what runs the calls in an answer. */
export interface OpenAiResponsesTools {
  /** For `tools` of `responses.create` and `responses.stream`. */
  readonly tools: OpenAiFunctionTool[];
  /**
   * Runs the function calls among the items of an answer, all at once, and gives one output for
   * each: input of the next request. Empty when there were none. A call of a tool that is not among
   * these is answered as an unknown one, so leave out the items that call tools of yours.
   */
  runCalls(
    output: readonly { type: string }[],
    options?: { signal?: AbortSignal },
  ): Promise<OpenAiCallOutput[]>;
}

/**
 * Makes tools for `client.chat.completions.runTools`, which calls them by itself. What fails is a
 * tool message with code, reason and what to do. Works with `openai` 6 and 7.
 *
 * @example
 * import OpenAI from 'openai';
 * import { toOpenAiRunnableTools } from 'memory-service/adapters/openai';
 *
 * const tools = await toOpenAiRunnableTools(service.tools, { userId: session.userId });
 * const run = new OpenAI().chat.completions.runTools({ model: 'gpt-5', messages, tools });
 * console.log(await run.finalContent());
 */
export async function toOpenAiRunnableTools(
  runner: ToolRunner,
  options: OpenAiOptions,
): Promise<OpenAiRunnableTool[]> {
  const bound = await bindTools(runner, options);
  return bound.map((tool) => {
    const { parameters, strict, run } = toFunction(tool, options);
    return {
      type: 'function',
      function: {
        name: tool.name,
        description: tool.description,
        parameters: parameters as { type: 'object' },
        strict,
        async function(text, { controller }) {
          return (await run(text, { signal: controller.signal })).text;
        },
      },
    };
  });
}

/**
 * Makes tools for a loop of your own over the Responses API. What fails is an output with code,
 * reason and what to do. Works with `openai` 6 and 7.
 *
 * @example
 * import OpenAI from 'openai';
 * import { toOpenAiResponsesTools } from 'memory-service/adapters/openai';
 *
 * const memory = await toOpenAiResponsesTools(service.tools, { userId: session.userId });
 * const { tools } = memory;
 * let response = await openai.responses.create({ model: 'gpt-5', input: prompt, tools });
 * for (;;) {
 *   const input = await memory.runCalls(response.output);
 *   if (input.length === 0) break;
 *   const previous_response_id = response.id;
 *   response = await openai.responses.create({ model: 'gpt-5', input, previous_response_id, tools });
 * }
 */
export async function toOpenAiResponsesTools(
  runner: ToolRunner,
  options: OpenAiOptions,
): Promise<OpenAiResponsesTools> {
  const bound = await bindTools(runner, options);
  const functions = bound.map((tool) => ({ tool, ...toFunction(tool, options) }));
  return {
    tools: functions.map(({ tool: { name, description }, parameters, strict }) => ({
      type: 'function',
      name,
      description,
      parameters: parameters as Record<string, unknown>,
      strict,
    })),
    runCalls(output, { signal } = {}) {
      const calls = output.filter((item): item is FunctionCall => item.type === 'function_call');
      return Promise.all(
        calls.map(async ({ name, call_id, arguments: text }) => {
          const called = functions.find(({ tool }) => tool.name === name);
          const outcome =
            (await called?.run(text, { callId: call_id, signal })) ?? toUnknownTool(name, bound);
          return { type: 'function_call_output', call_id, output: outcome.text };
        }),
      );
    },
  };
}

interface FunctionCall {
  type: 'function_call';
  name: string;
  call_id: string;
  arguments: string;
}

/** A tool as OpenAI's APIs call functions: arguments come as text, in strict mode with nulls. */
function toFunction(tool: BoundTool, { strict: isAsked = false }: OpenAiOptions) {
  const strict = isAsked ? toStrictSchema(tool.inputSchema) : null;
  const { run } = tool;
  const called: BoundTool =
    strict === null
      ? tool
      : { ...tool, run: (args, call) => run(dropNulls(tool.inputSchema, args), call) };
  return {
    parameters: strict ?? tool.inputSchema,
    strict: strict !== null,
    run: (text: string, call: BoundCall) => runWithText(called, text, call),
  };
}
