import { parseForeignJson } from '../core/encoding/foreign-json.ts';
import type { ToolRunner } from '../core/contracts/tool.ts';
import {
  type BoundCall,
  bindCalls,
  bindTools,
  runWithText,
  type CallsOptions,
  type StrictAdapterOptions,
} from './runner.ts';

export { memoryInstructions } from '../core/tools/memory-instructions.ts';
export { toMemoryPrompt } from './memory-prompt.ts';
export type { MemoryPromptOptions } from './memory-prompt.ts';
export type { AdapterOptions, CallsOptions } from './runner.ts';

/** Which tools, for whom, and whether OpenAI holds the model to their schemas. */
export type OpenAiOptions = StrictAdapterOptions;

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
   * as an unknown one, so leave out the calls of tools of yours; with `toolPrefix`, calls of tools that
   * begin otherwise are left to you. One that `finish_reason: 'length'` cut
   * off is no JSON any more: it is answered with an error and not run.
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
   * these is answered as an unknown one, so leave out the items that call tools of yours; with
   * `toolPrefix`, calls of tools that begin otherwise are left to you.
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
  return bound.map((tool) => ({
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters as { type: 'object' },
      strict: tool.isStrict,
      async function(text, running) {
        const call = { signal: running.controller.signal, run: running };
        return (await runWithText(tool, text, call)).text;
      },
    },
  }));
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
  const { bound, answer, isAnswered } = await bindAnswers(runner, options);
  return {
    tools: bound.map(({ name, description, parameters, isStrict }) =>
      withOwnParser(isStrict, {
        type: 'function',
        function: {
          name,
          description,
          parameters: parameters as Record<string, unknown>,
          strict: isStrict,
        },
      }),
    ),
    runCalls(given, { signal, run } = {}) {
      const calls = (given ?? [])
        .filter((call): call is ChatCall => call.type === 'function')
        .filter((call) => isAnswered(call.function.name));
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
  const { bound, answer, isAnswered } = await bindAnswers(runner, options);
  return {
    tools: bound.map(({ name, description, parameters, isStrict }) =>
      withOwnParser(isStrict, {
        type: 'function',
        name,
        description,
        parameters: parameters as Record<string, unknown>,
        strict: isStrict,
      }),
    ),
    runCalls(output, { signal, run } = {}) {
      const calls = output
        .filter((item): item is FunctionCall => item.type === 'function_call')
        .filter(({ name }) => isAnswered(name));
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
async function bindAnswers(runner: ToolRunner, options: OpenAiOptions) {
  const { tools: bound, runUnknown, isAnswered } = await bindCalls(runner, options);
  async function answer(name: string, text: string, call: BoundCall): Promise<string> {
    const called = bound.find((tool) => tool.name === name);
    if (called === undefined) return (await runUnknown(name, call)).text;
    return (await runWithText(called, text, call)).text;
  }
  return { bound, answer, isAnswered };
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
    return parseForeignJson(text);
  } catch {
    return null;
  }
}
