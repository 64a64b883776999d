import type { AIMessage, BaseMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import type { StructuredToolInterface } from '@langchain/core/tools';
import type { ToolRunner } from '../core/contracts/tool.ts';
import { importPeer } from '../core/packages/import-peer.ts';
import { createKeeper, type KeepOptions, type Said } from './keep-memory.ts';
import { createRecall, isOfUser, type RecallOptions } from './memory-prompt.ts';
import { readText } from './recalled-text.ts';
import {
  type BoundCall,
  bindTools,
  type StrictAdapterOptions,
  toUnreadableCall,
} from './runner.ts';

export { memoryInstructions } from '../core/tools/memory-instructions.ts';
export type { KeepOptions, KeepProblem } from './keep-memory.ts';
export type { MemoryPromptOptions, RecallOptions } from './memory-prompt.ts';
export type { AdapterOptions, StrictAdapterOptions, ToolFailure } from './runner.ts';

/**
 * Makes LangChain tools for `createAgent`, `bindTools` and whatever else takes `tool()`s. In an
 * agent each call gives a `ToolMessage`: its text is the result as JSON, its `artifact` the same as
 * data with `traceId` and `toolCallId`. What fails is a message with `status: 'error'` that says
 * code, reason and what to do, and the agent goes on. With `strict`, give the model
 * `supportsStrictToolCalling` as well. Needs `@langchain/core`.
 *
 * @example
 * import { createAgent } from 'langchain';
 * import { toLangChainTools } from 'memory-service/adapters/langchain';
 *
 * const tools = await toLangChainTools(service.tools, { userId: session.userId });
 * const agent = createAgent({ model: 'openai:gpt-5', tools });
 */
export async function toLangChainTools(
  runner: ToolRunner,
  options: StrictAdapterOptions,
): Promise<StructuredToolInterface[]> {
  const { tool: toTool, ToolMessage } = await importPeer('toLangChainTools', {
    packages: ['@langchain/core'],
    async load() {
      const [tools, messages] = await Promise.all([
        import('@langchain/core/tools'),
        import('@langchain/core/messages'),
      ]);
      return { tool: tools.tool, ToolMessage: messages.ToolMessage };
    },
    parts: ['tool', 'ToolMessage'],
  });
  const bound = await bindTools(runner, options);
  return bound.map((tool) => {
    async function call(args: unknown, config: CallConfig): Promise<string | ToolMessage> {
      const callId = config.toolCall?.id;
      const outcome = await tool.run(args, { callId, signal: config.signal, run: runOf(config) });
      // Called by hand, without a model's call to answer.
      if (callId === undefined) return outcome.text;
      return new ToolMessage({
        name: tool.name,
        tool_call_id: callId,
        content: outcome.text,
        status: outcome.ok ? 'success' : 'error',
        artifact: outcome.ok ? outcome.response : { error: outcome.error },
      });
    }
    const made = toTool(call as never, {
      name: tool.name,
      description: tool.description,
      schema: tool.parameters,
    }) as unknown as StructuredToolInterface;
    return withoutOwnCheck(made);
  });
}

/**
 * Keeps LangChain from checking arguments itself: it answers a fault with a stack trace, and no trace
 * of ours shows the call. The runner checks them. The model still gets the whole schema.
 */
function withoutOwnCheck(tool: StructuredToolInterface): StructuredToolInterface {
  const unchecked = Object.create(tool, { schema: { value: {} } }) as StructuredToolInterface;
  const { call } = tool;
  return Object.assign(tool, { call: call.bind(unchecked) });
}

/** Middleware of `createAgent`, as far as it is of use here. */
export interface LangChainMiddleware {
  name: string;
  afterModel: {
    canJumpTo: 'model'[];
    hook(state: {
      messages: BaseMessage[];
    }): Promise<{ messages: BaseMessage[]; jumpTo?: 'model' } | undefined>;
  };
}

/**
 * Makes middleware for `createAgent` that answers each call whose arguments are no JSON, of whatever
 * tool. LangChain by itself leaves such a call out, and ends without a word when it was the only one.
 * With this, the model reads that the arguments cannot be read, and the calls beside it are run.
 * Needs `langchain`.
 *
 * @example
 * import { createAgent } from 'langchain';
 * import { answerUnreadableCalls, toLangChainTools } from 'memory-service/adapters/langchain';
 *
 * const tools = await toLangChainTools(service.tools, { userId: session.userId });
 * const agent = createAgent({ model: 'openai:gpt-5', tools, middleware: [answerUnreadableCalls()] });
 */
export function answerUnreadableCalls(): LangChainMiddleware {
  return {
    name: 'answerUnreadableCalls',
    afterModel: {
      canJumpTo: ['model'],
      async hook({ messages }) {
        const last = messages.at(-1) as AIMessage | undefined;
        const { tool_calls: readable = [], invalid_tool_calls: invalid = [] } = last ?? {};
        // What has no id has no place for an answer.
        const unreadable = invalid.filter(({ id }) => id !== undefined);
        if (last === undefined || unreadable.length === 0) return undefined;
        const { ToolMessage } = await import('@langchain/core/messages');
        // Among the calls: providers take no answer without its call.
        const moved = unreadable.map(({ id = '', name = '' }) => ({ id, name, args: {} }));
        last.tool_calls = [...readable, ...moved];
        last.invalid_tool_calls = invalid.filter(({ id }) => id === undefined);
        const answers = unreadable.map(({ id = '', name = '', error: cause }) => {
          const { text } = toUnreadableCall(cause);
          return new ToolMessage({ name, tool_call_id: id, content: text, status: 'error' });
        });
        const next = readable.length === 0 ? { jumpTo: 'model' as const } : {};
        return { messages: [last, ...answers], ...next };
      },
    },
  };
}

/** Middleware of `createAgent` that changes what the model is asked. */
export interface LangChainMemoryMiddleware {
  name: string;
  wrapModelCall<Request extends ModelRequest, Answer>(
    request: Request,
    handler: (request: Request) => Promise<Answer> | Answer,
  ): Promise<Answer>;
}

/** What LangChain asks a model, as far as it matters here. */
interface ModelRequest {
  messages: BaseMessage[];
  systemMessage: SystemMessage;
  runtime?: { signal?: AbortSignal };
}

/**
 * Makes middleware for `createAgent` that puts memory in front of the model: how to use it, and what
 * `memory_context` gives for the last message of the user. What is the same for every question stands at the
 * end of the system message, the rest before the words of that message; `place` puts it elsewhere. Memory is
 * asked once for a message, not at each step, and nothing of it stays in the agent's state. No model is asked
 * for it, unless `model` says so. If memory cannot be read, the model is told so and the agent goes on.
 * Throws `INVALID_USER_ID` for a bad user id. Needs `langchain`.
 *
 * @example
 * const memory = service.tools;
 * const tools = await toLangChainTools(memory, { userId });
 * const middleware = [recallMemory(memory, { userId, maxChars: 4_000 })];
 * const agent = createAgent({ model: 'openai:gpt-5', tools, middleware });
 */
export function recallMemory(
  runner: ToolRunner,
  options: RecallOptions,
): LangChainMemoryMiddleware {
  const recall = createRecall(runner, options);
  return {
    // An agent takes no two of one name.
    name: `${options.toolPrefix ?? ''}recallMemory`,
    async wrapModelCall(request, handler) {
      const { messages, systemMessage, runtime } = request;
      const { system, user } = await recall(messages, runtime?.signal);
      const isEmpty = systemMessage.text === '';
      return handler({
        ...request,
        systemMessage: systemMessage.concat(isEmpty ? system : `\n\n${system}`),
        messages:
          user === null
            ? messages
            : messages.map((message, at) =>
                at === user.message ? putBefore(message, user.text) : message,
              ),
      });
    },
  };
}

/** The message with a text before what it says. Text stays text: some models take no list of parts. */
function putBefore(message: BaseMessage, text: string): BaseMessage {
  const { content, id, name, additional_kwargs, response_metadata } = message;
  const Message = message.constructor as new (fields: object) => BaseMessage;
  return new Message({
    // The role of a ChatMessage.
    ...message.lc_kwargs,
    id,
    name,
    additional_kwargs,
    response_metadata,
    content:
      typeof content === 'string' ? `${text}\n\n${content}` : [{ type: 'text', text }, ...content],
  });
}

/** Middleware of `createAgent` that looks at the end of a turn. */
export interface LangChainTurnMiddleware {
  name: string;
  afterAgent(
    state: { messages: BaseMessage[] },
    runtime: { configurable?: { thread_id?: string } | undefined },
  ): Promise<undefined>;
}

/**
 * Makes middleware for `createAgent` that gives the messages of the user to `memory_remember` after each turn,
 * so that memory needs no tool call. They are in the inbox of memory when the turn ends, and are filed in the
 * background. Only the user's own words are kept: no answers, no results of tools, nothing that
 * `recallMemory` added. It never fails a turn: `onProblem` is told which messages were not kept, and why.
 * With a `thread_id`, a turn that is repeated is kept once. The service needs a model. Throws
 * `INVALID_USER_ID` for a bad user id. Needs `langchain`.
 *
 * @example
 * const memory = service.tools;
 * const tools = await toLangChainTools(memory, { userId, readOnly: true });
 * const middleware = [recallMemory(memory, { userId, readOnly: true }), keepMemory(memory, { userId })];
 * const agent = createAgent({ model: 'openai:gpt-5', tools, middleware });
 */
export function keepMemory(runner: ToolRunner, options: KeepOptions): LangChainTurnMiddleware {
  const keep = createKeeper(runner, options);
  return {
    // An agent takes no two of one name.
    name: `${options.toolPrefix ?? ''}keepMemory`,
    async afterAgent({ messages }, { configurable }) {
      await keep(messages.flatMap(toSaid), options.conversation ?? configurable?.thread_id);
    },
  };
}

/** None for what is neither of the user nor of the assistant. */
function toSaid(message: BaseMessage): Said[] {
  const content = readText(message.content);
  if (message.type === 'ai') return [{ role: 'assistant', content }];
  // A summary that LangChain itself put in the place of messages.
  const isSaid = message.additional_kwargs['lc_source'] === undefined;
  return isOfUser(message) && isSaid ? [{ role: 'user', content }] : [];
}

/** What LangChain hands to a tool beside its arguments, as far as it matters here. */
interface CallConfig {
  signal?: AbortSignal | undefined;
  toolCall?: { id?: string } | undefined;
  configurable?: Record<string, unknown> | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** One for each run of a graph. */
  control?: object | undefined;
}

/** What the run of a graph is known by: the id that its caller gave it, else its own object. */
export function runOf({ configurable, metadata, control }: CallConfig): BoundCall['run'] {
  const id = configurable?.['run_id'] ?? metadata?.['run_id'];
  return typeof id === 'string' ? id : control;
}
