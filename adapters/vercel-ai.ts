import type { LanguageModelMiddleware, ToolSet } from 'ai';
import type { ToolResponse, ToolRunner } from '../core/contracts/tool.ts';
import { toErrorText } from '../core/errors.ts';
import { importPeer } from '../core/packages/import-peer.ts';
import { createKeeper, type KeepOptions, type Said } from './keep-memory.ts';
import { createRecall, type RecallOptions } from './memory-prompt.ts';
import { readText } from './recalled-text.ts';
import { bindTools, type StrictAdapterOptions, type ToolFailure } from './runner.ts';

export { memoryInstructions } from '../core/tools/memory-instructions.ts';
export type { KeepOptions, KeepProblem } from './keep-memory.ts';
export type { MemoryPromptOptions, RecallOptions } from './memory-prompt.ts';
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
 * `memory_context` gives for the last message of the user. What is the same for every question is the last
 * system message, the rest the first part of the user's message; `place` puts it elsewhere. Memory is asked
 * once for a message, not at each step. No model is asked for it, unless `model` says so. If memory cannot be
 * read, the model is told so and the steps go on. Throws `INVALID_USER_ID` for a bad user id. Works with `ai`
 * 6 and 7.
 *
 * @example
 * import { wrapLanguageModel } from 'ai';
 * import { recallMemory } from 'memory-service/adapters/vercel-ai';
 *
 * const middleware = recallMemory(service.tools, { userId: session.userId });
 * const model = wrapLanguageModel({ model: openai('gpt-5'), middleware });
 */
export function recallMemory(runner: ToolRunner, options: RecallOptions): LanguageModelMiddleware {
  const recall = createRecall(runner, options);
  return {
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const { system, user } = await recall(params.prompt, params.abortSignal);
      const prompt = params.prompt.map((message, at) => {
        if (message.role !== 'user' || at !== user?.message) return message;
        const content = [{ type: 'text' as const, text: user.text }, ...message.content];
        return { ...message, content };
      });
      // Providers take system messages at the beginning alone.
      const first = prompt.findIndex(({ role }) => role !== 'system');
      const at = first === -1 ? prompt.length : first;
      return { ...params, prompt: prompt.toSpliced(at, 0, { role: 'system', content: system }) };
    },
  };
}

/**
 * Makes middleware for `wrapLanguageModel` that gives the messages of the user to `memory_remember`, so that
 * memory needs no tool call. They are in the inbox of memory when the model's first step on them ends: with
 * text, with tool calls, or because the user stopped it. They are filed in the background. A request that
 * fails without an answer keeps nothing, so give its messages again. Only the user's own words are kept: no
 * answers, no results of tools, nothing that `recallMemory` added. It never fails an answer: `onProblem` is
 * told which messages were not kept, and why. The service needs a model. Throws `INVALID_USER_ID` for a bad
 * user id. Works with `ai` 6 and 7, with `generateText`, `streamText` and `ToolLoopAgent`.
 *
 * @example
 * import { wrapLanguageModel } from 'ai';
 * import { keepMemory, recallMemory } from 'memory-service/adapters/vercel-ai';
 *
 * const { userId, id: conversation } = session;
 * const middleware = [recallMemory(memory, { userId }), keepMemory(memory, { userId, conversation })];
 * const model = wrapLanguageModel({ model: openai('gpt-5'), middleware });
 */
export function keepMemory(runner: ToolRunner, options: KeepOptions): LanguageModelMiddleware {
  const keep = createKeeper(runner, options);
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ doGenerate, params }) {
      const answer = await doGenerate();
      if (isFirstStep(params.prompt)) await keep(params.prompt.flatMap(toSaid));
      return answer;
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...answer } = await doStream();
      if (!isFirstStep(params.prompt)) return { ...answer, stream };
      let kept: Promise<void> | undefined;
      const keepOnce = () => (kept ??= keep(params.prompt.flatMap(toSaid)));
      const ended = new AbortController();
      // Nobody may read or cancel a stream that was stopped.
      params.abortSignal?.addEventListener('abort', keepOnce, { signal: ended.signal });
      const watched = watchEnd(stream, async (isAnswered) => {
        ended.abort();
        if (isAnswered) await keepOnce();
      });
      return { ...answer, stream: watched };
    },
  };
}

/** Whether the model is asked for the first time since the user spoke: later steps end with results of tools. */
function isFirstStep(prompt: Prompt): boolean {
  return prompt.findLast(({ role }) => role !== 'system')?.role === 'user';
}

/**
 * Wraps a stream so that it waits for `onEnd` after its last part, before it fails, and when its reader stops
 * reading. A partial answer counts as an answer, because the app may store it.
 */
function watchEnd(
  stream: ReadableStream<StreamPart>,
  onEnd: (isAnswered: boolean) => Promise<void>,
): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  let hasContent = false;
  let hasFailed = false;
  // A TransformStream hears of a reader that leaves only from Node 22 on.
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            await onEnd(hasContent || !hasFailed);
            controller.close();
            return;
          }
          hasContent ||= /-delta$|^tool-call$|^file$/.test(value.type);
          hasFailed ||= value.type === 'error';
          controller.enqueue(value);
        } catch (error) {
          await onEnd(hasContent);
          controller.error(error);
        }
      },
      async cancel(reason) {
        await Promise.all([reader.cancel(reason), onEnd(true)]);
      },
    },
    { highWaterMark: 0 },
  );
}

type Wrapped = Parameters<NonNullable<LanguageModelMiddleware['wrapStream']>>[0];
type Prompt = Wrapped['params']['prompt'];
type StreamPart =
  Awaited<ReturnType<Wrapped['doStream']>>['stream'] extends ReadableStream<infer Part>
    ? Part
    : never;

/** None for what is neither of the user nor of the assistant. */
function toSaid({ role, content }: Prompt[number]): Said[] {
  if (role === 'user') return [{ role, content: readText(content) }];
  if (role !== 'assistant') return [];
  return [{ role, content: readText(content) }];
}

/** What the SDK hands to a tool beside its arguments, as far as it matters here. */
interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal;
  messages?: readonly object[];
}
