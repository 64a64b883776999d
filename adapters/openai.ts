import type { ToolRunner } from '../core/contracts/tool.ts';
import {
  type AdapterOptions,
  type BoundCall,
  type BoundTool,
  bindTools,
  runWithText,
  type CallsOptions,
  toUnknownTool,
} from './runner.ts';
import { dropNulls, toStrictSchema } from './strict-schema.ts';

export type { AdapterOptions, CallsOptions } from './runner.ts';

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

/** A tool of the Chat Completions API. */
export interface OpenAiChatTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: Record<string, unknown>;
    strict: boolean;
  };
}

/** What a call of the Chat Completions API came to. */
export interface OpenAiToolMessage {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** Tools of the Chat Completions API, and what runs the calls in an answer. */
export interface OpenAiChatTools {
  /** For `tools` of `chat.completions.create` and `chat.completions.stream`. */
  readonly tools: OpenAiChatTool[];
  /**
   * Runs the `tool_calls` of an answer's message, all at once, and gives one message for each, which
   * follow that one. Empty when there were none. A call of a tool that is not among these is answered
   * as an unknown one, so leave out the calls of tools of yours.
   */
  runCalls(
    calls: readonly { type: string; id: string }[] | null | undefined,
    options?: CallsOptions,
  ): Promise<OpenAiToolMessage[]>;
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
    options?: CallsOptions,
  ): Promise<OpenAiCallOutput[]>;
}

/**
 * Makes tools for `client.chat.completions.runTools`, which calls them by itself. What fails is a
 * tool message with code, reason and what to do. With `strict`, arguments that are no JSON end the
 * run: the package parses them itself; {@link toOpenAiChatTools} answers those too. Works with
 * `openai` 6 and 7.
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
        async function(text, running) {
          return (await run(text, { signal: running.controller.signal, run: running })).text;
        },
      },
    };
  });
}

/**
 * Makes tools for a loop of your own over the Chat Completions API. What fails is a tool message with
 * code, reason and what to do. Works with `openai` 6 and 7.
 *
 * @example
 * import OpenAI from 'openai';
 * import { toOpenAiChatTools } from 'memory-service/adapters/openai';
 *
 * const memory = await toOpenAiChatTools(service.tools, { userId: session.userId });
 * const request = { model: 'gpt-5', messages, tools: memory.tools };
 * for (;;) {
 *   const { choices } = await openai.chat.completions.create(request);
 *   messages.push(choices[0].message);
 *   const answers = await memory.runCalls(choices[0].message.tool_calls);
 *   if (answers.length === 0) break;
 *   messages.push(...answers);
 * }
 */
export async function toOpenAiChatTools(
  runner: ToolRunner,
  options: OpenAiOptions,
): Promise<OpenAiChatTools> {
  const { functions, answer } = await toFunctions(runner, options);
  return {
    tools: functions.map(({ tool: { name, description }, parameters, strict }) =>
      withOwnParser(strict, {
        type: 'function',
        function: {
          name,
          description,
          parameters: parameters as Record<string, unknown>,
          strict,
        },
      }),
    ),
    runCalls(given, { signal, run } = {}) {
      const calls = (given ?? []).filter((call): call is ChatCall => call.type === 'function');
      return Promise.all(
        calls.map(async ({ id, function: { name, arguments: text } }) => ({
          role: 'tool',
          tool_call_id: id,
          content: await answer(name, text, { callId: id, signal, run }),
        })),
      );
    },
  };
}

interface ChatCall {
  type: 'function';
  id: string;
  function: { name: string; arguments: string };
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
  const { functions, answer } = await toFunctions(runner, options);
  return {
    tools: functions.map(({ tool: { name, description }, parameters, strict }) =>
      withOwnParser(strict, {
        type: 'function',
        name,
        description,
        parameters: parameters as Record<string, unknown>,
        strict,
      }),
    ),
    runCalls(output, { signal, run } = {}) {
      const calls = output.filter((item): item is FunctionCall => item.type === 'function_call');
      return Promise.all(
        calls.map(async ({ name, call_id, arguments: text }) => ({
          type: 'function_call_output',
          call_id,
          output: await answer(name, text, { callId: call_id, signal, run }),
        })),
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

/** The tools of a user, and what gives the text that a call of one of them is answered with. */
async function toFunctions(runner: ToolRunner, options: OpenAiOptions) {
  const bound = await bindTools(runner, options);
  const functions = bound.map((tool) => ({ tool, ...toFunction(tool, options) }));
  async function answer(name: string, text: string, call: BoundCall): Promise<string> {
    const called = functions.find(({ tool }) => tool.name === name);
    return ((await called?.run(text, call)) ?? toUnknownTool(name, bound)).text;
  }
  return { functions, answer };
}

/**
 * Keeps the streams of `openai` from parsing the arguments of a strict tool by themselves: they reject
 * what is no JSON, while a call that comes through is answered. The marks are those of the package's
 * own `zodFunction` and `zodResponsesFunction`, and on no wire.
 */
function withOwnParser<Tool extends object>(isStrict: boolean, tool: Tool): Tool {
  if (!isStrict) return tool;
  return Object.defineProperties(tool, {
    $brand: { value: 'auto-parseable-tool' },
    $parseRaw: { value: parseOrNull },
  });
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
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
