import type { MessageParam } from '@anthropic-ai/sdk/resources/messages/messages';
import type {
  ChatCompletionMessage as ChatAnswer,
  ChatCompletionMessageParam as ChatMessage,
} from 'openai/resources/chat/completions';
import type { AdapterOptions } from '../../adapters/runner.ts';
import type { ToolRunner } from '../../core/contracts/tool.ts';

/** What an agent is made of. */
export interface AgentInput {
  runner: ToolRunner;
  options: AdapterOptions;
  /** Of the model, without `/v1`. */
  url: string;
}

/** A framework's own agent loop over the real package: from a prompt to the last words. */
export interface AgentLoop {
  name: string;
  /** What its package says of itself to the model: the major that is tried. */
  userAgent?: RegExp;
  /** How the framework itself answers the call of a tool that it was not given. */
  unknownTool: RegExp;
  /** What the model reads for what the adapter gives, where the framework puts it in a form. */
  toText?: (text: string) => string;
  /** The model is held to strict schemas: it writes null for what it leaves out. */
  isStrict?: boolean;
  /**
   * What the model is told of a call whose arguments are no JSON, where its API has them as text; or
   * what the framework does before it asks the adapter.
   */
  notJson?: RegExp | 'ends the run';
  /** What of these the framework leaves to the adapter, so that the trail has it. */
  records?: readonly ('unknown tool' | 'not JSON')[];
  /** At the token limit the framework fails by itself. */
  failsAtTokenLimit?: boolean;
  /** A tool that lacks its model is not among those that are given. */
  leavesOutUnavailable?: boolean;
  /** The adapter gets to know which calls belong to one run. */
  knowsRun?: boolean;
  run(input: AgentInput): Promise<string>;
}

/** Set where the next majors stand in the place of these, by `next-majors.ts`. */
const isNext = process.env['MEMORY_TEST_NEXT_MAJORS'] !== undefined;
// `streamText` leaves it to its provider to say so.
const AI = isNext ? /\bai\/7\.|^ai-sdk-openai\/4\./ : /\bai\/6\.|^ai-sdk\/openai\/3\./;
const OPENAI = isNext ? /^OpenAI\/JS 7\./ : /^OpenAI\/JS 6\./;

const PROMPT = 'Do what you are told.';
const MODEL = 'scripted';
const KEY = { apiKey: 'not-checked' };
const OURS = /TOOL_NOT_FOUND/;
const AI_NOT_JSON = /^(?:AI_\w+: )?Invalid input for tool \w+: (?:AI_\w+: )?JSON parsing failed: /;
const NOT_JSON = /^Error INVALID_REQUEST: The arguments are not valid JSON\.\n/;

const langchain = (name: string, isStrict: boolean): AgentLoop => ({
  name,
  isStrict,
  knowsRun: true,
  unknownTool: /is not a valid tool, try one of/,
  notJson: NOT_JSON,
  async run({ runner, options, url }) {
    const { createAgent } = await import('langchain');
    const { ChatOpenAI } = await import('@langchain/openai');
    const { answerUnreadableCalls, toLangChainTools } = await import('../../adapters/langchain.ts');
    const model = new ChatOpenAI({
      ...KEY,
      model: MODEL,
      maxRetries: 0,
      configuration: { baseURL: `${url}/v1` },
      ...(isStrict ? { supportsStrictToolCalling: true } : {}),
    });
    const tools = await toLangChainTools(runner, { ...options, strict: isStrict });
    const agent = createAgent({ model, tools, middleware: [answerUnreadableCalls()] });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: PROMPT }] });
    return messages.at(-1)?.text ?? '';
  },
});

const vercel = (
  name: string,
  api: 'chat' | 'responses',
  call: 'generateText' | 'streamText' | 'ToolLoopAgent',
  isStrict = false,
): AgentLoop => ({
  name,
  isStrict,
  userAgent: AI,
  knowsRun: true,
  ...(isNext ? { toText: withoutErrorForm } : {}),
  unknownTool: /unavailable tool 'memory_nothing'/,
  notJson: AI_NOT_JSON,
  async run({ runner, options, url }) {
    const ai = await import('ai');
    const { createOpenAI } = await import('@ai-sdk/openai');
    const { toVercelAiTools } = await import('../../adapters/vercel-ai.ts');
    const provider = createOpenAI({ ...KEY, baseURL: `${url}/v1` });
    const agent = {
      model: provider[api](MODEL),
      tools: await toVercelAiTools(runner, { ...options, strict: isStrict }),
      stopWhen: ai.stepCountIs(10),
      maxRetries: 0,
    };
    if (call === 'ToolLoopAgent') {
      return (await new ai.ToolLoopAgent(agent).generate({ prompt: PROMPT })).text;
    }
    const request = { ...agent, prompt: PROMPT };
    if (call === 'generateText') return (await ai.generateText(request)).text;
    let failure: unknown = null;
    const onError = ({ error }: { error: unknown }): void => {
      failure = error;
    };
    const { textStream } = ai.streamText({ ...request, onError });
    let text = '';
    for await (const part of textStream) text += part;
    if (failure !== null) throw failure as Error;
    return text;
  },
});

/** The next major gives an error text to the model as `{"error": text}`. */
function withoutErrorForm(text: string): string {
  const [, quoted = null] = /^\{"error":(".*")\}$/s.exec(text) ?? [];
  return quoted === null ? text : (JSON.parse(quoted) as string);
}

const openAi = (name: string, isStrict: boolean, isStreamed: boolean): AgentLoop => ({
  name,
  isStrict,
  userAgent: OPENAI,
  knowsRun: true,
  unknownTool: /Invalid tool_call: "memory_nothing"/,
  records: isStrict ? [] : ['not JSON'],
  // What is strict, the package parses by itself.
  notJson: isStrict ? 'ends the run' : NOT_JSON,
  async run({ runner, options, url }) {
    const { default: OpenAI } = await import('openai');
    const { toOpenAiRunnableTools } = await import('../../adapters/openai.ts');
    const client = new OpenAI({ ...KEY, baseURL: `${url}/v1`, maxRetries: 0 });
    const tools = await toOpenAiRunnableTools(runner, { ...options, strict: isStrict });
    const messages = [{ role: 'user' as const, content: PROMPT }];
    const request = { model: MODEL, messages, tools };
    const { completions } = client.chat;
    const run = isStreamed
      ? completions.runTools({ ...request, stream: true })
      : completions.runTools(request);
    return (await run.finalContent()) ?? '';
  },
});

const openAiChat = (name: string, isStrict: boolean, isStreamed: boolean): AgentLoop => ({
  name,
  isStrict,
  userAgent: OPENAI,
  knowsRun: true,
  unknownTool: OURS,
  notJson: NOT_JSON,
  records: ['unknown tool', 'not JSON'],
  // The package's stream throws by itself for tools that are strict.
  failsAtTokenLimit: isStrict && isStreamed,
  async run({ runner, options, url }) {
    const { default: OpenAI } = await import('openai');
    const { toOpenAiChatTools } = await import('../../adapters/openai.ts');
    const { completions } = new OpenAI({ ...KEY, baseURL: `${url}/v1`, maxRetries: 0 }).chat;
    const memory = await toOpenAiChatTools(runner, { ...options, strict: isStrict });
    const messages: ChatMessage[] = [{ role: 'user', content: PROMPT }];
    const request = { model: MODEL, messages, tools: memory.tools };
    for (;;) {
      const message = isStreamed
        ? await completions.stream(request).finalMessage()
        : (await completions.create(request)).choices[0]?.message;
      if (message === undefined) return '';
      messages.push(isStreamed ? withoutParsed(message) : message);
      const answers = await memory.runCalls(message.tool_calls, { run: messages });
      if (answers.length === 0) return message.content ?? '';
      messages.push(...answers);
    }
  },
});

/** What the package's stream adds to a message of the API, which does not take it back. */
function withoutParsed({ content, tool_calls: calls = [] }: ChatAnswer): ChatMessage {
  const given = calls.map(({ id, ...call }) => {
    if (call.type !== 'function') throw new Error(`There is no call of type ${call.type}.`);
    const { name, arguments: text } = call.function;
    return { id, type: call.type, function: { name, arguments: text } };
  });
  return { role: 'assistant', content, ...(given.length === 0 ? {} : { tool_calls: given }) };
}

const openAiResponses = (name: string, isStrict: boolean, isStreamed: boolean): AgentLoop => ({
  name,
  isStrict,
  userAgent: OPENAI,
  knowsRun: true,
  unknownTool: OURS,
  notJson: NOT_JSON,
  records: ['unknown tool', 'not JSON'],
  async run({ runner, options, url }) {
    const { default: OpenAI } = await import('openai');
    const { toOpenAiResponsesTools } = await import('../../adapters/openai.ts');
    const client = new OpenAI({ ...KEY, baseURL: `${url}/v1`, maxRetries: 0 });
    const memory = await toOpenAiResponsesTools(runner, { ...options, strict: isStrict });
    const first = { model: MODEL, tools: memory.tools };
    type Request = Parameters<typeof client.responses.create>[0];
    const ask = (request: Omit<Request, 'stream'>) =>
      isStreamed
        ? client.responses.stream({ ...request, model: MODEL } as never).finalResponse()
        : client.responses.create({ ...request, stream: false });
    let response = await ask({ ...first, input: PROMPT });
    for (;;) {
      const input = await memory.runCalls(response.output, { run: first });
      if (input.length === 0) return response.output_text;
      response = await ask({ ...first, input, previous_response_id: response.id });
    }
  },
});

const openAiAgents = (name: string, isStrict: boolean): AgentLoop => ({
  name,
  isStrict,
  unknownTool: /memory_nothing/,
  knowsRun: true,
  notJson: /while parsing tool arguments\. Please try again with valid JSON\./,
  async run({ runner, options, url }) {
    const { Agent, OpenAIResponsesModel, Runner } = await import('@openai/agents');
    const { default: OpenAI } = await import('openai');
    const { toOpenAiAgentTools } = await import('../../adapters/openai-agents.ts');
    const client = new OpenAI({ ...KEY, baseURL: `${url}/v1`, maxRetries: 0 });
    const tools = await toOpenAiAgentTools(runner, { ...options, strict: isStrict });
    const model = new OpenAIResponsesModel(client, MODEL);
    const agent = new Agent({ name: 'Assistant', model, tools });
    const toolNotFoundBehavior = 'return_error_to_model' as const;
    const runs = new Runner({ tracingDisabled: true, toolNotFoundBehavior });
    return (await runs.run(agent, PROMPT)).finalOutput ?? '';
  },
});

const anthropic = (name: string, isStreamed: boolean): AgentLoop => ({
  name,
  unknownTool: /Tool 'memory_nothing' not found/,
  async run({ runner, options, url }) {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const { toAnthropicRunnableTools } = await import('../../adapters/anthropic.ts');
    const client = new Anthropic({ ...KEY, baseURL: url, maxRetries: 0 });
    const tools = await toAnthropicRunnableTools(runner, options);
    const messages = [{ role: 'user' as const, content: PROMPT }];
    const request = { model: MODEL, max_tokens: 1024, messages, tools };
    const runs = client.beta.messages;
    const { content } = isStreamed
      ? await runs.toolRunner({ ...request, stream: true })
      : await runs.toolRunner(request);
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  },
});

const anthropicMessages = (name: string, isStreamed: boolean): AgentLoop => ({
  name,
  knowsRun: true,
  unknownTool: OURS,
  records: ['unknown tool'],
  async run({ runner, options, url }) {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const { toAnthropicTools } = await import('../../adapters/anthropic.ts');
    const client = new Anthropic({ ...KEY, baseURL: url, maxRetries: 0 });
    const memory = await toAnthropicTools(runner, options);
    const messages: MessageParam[] = [{ role: 'user', content: PROMPT }];
    for (;;) {
      const request = { model: MODEL, max_tokens: 1024, tools: memory.tools, messages };
      const message = isStreamed
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const { content } = message;
      messages.push({ role: 'assistant', content });
      const results = await memory.runCalls(message, { run: messages });
      if (results.length === 0) {
        return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      }
      messages.push({ role: 'user', content: results });
    }
  },
});

/** Over MCP, with the client of the SDK inside an agent of OpenAI's. */
const mcp: AgentLoop = {
  name: 'MCP in an OpenAI agent',
  unknownTool: /memory_nothing/,
  notJson: /while parsing tool arguments\. Please try again with valid JSON\./,
  leavesOutUnavailable: true,
  async run({ runner, options: { userId, ...given }, url }) {
    const { Agent, MCPServerStreamableHttp, OpenAIResponsesModel, Runner } =
      await import('@openai/agents');
    const { default: OpenAI } = await import('openai');
    const { mcpRoute } = await import('../../plugins/mcp/http.ts');
    const { asAgent, serve } = await import('../core/http/serve.ts');
    const served = await serve([mcpRoute(runner, given)]);
    const memory = new MCPServerStreamableHttp({
      url: `http://127.0.0.1:${served.port}/v1/mcp`,
      requestInit: { headers: { ...asAgent, 'x-user-id': userId } },
    });
    await memory.connect();
    try {
      const client = new OpenAI({ ...KEY, baseURL: `${url}/v1`, maxRetries: 0 });
      const model = new OpenAIResponsesModel(client, MODEL);
      const agent = new Agent({ name: 'Assistant', model, mcpServers: [memory] });
      const toolNotFoundBehavior = 'return_error_to_model' as const;
      const runs = new Runner({ tracingDisabled: true, toolNotFoundBehavior });
      return (await runs.run(agent, PROMPT)).finalOutput ?? '';
    } finally {
      await memory.close();
      served.close();
      await served.server.close({ graceMs: 0 });
    }
  },
};

/** The loops of the packages whose next major runs on newer Nodes alone. */
export const LOOPS_OF_BOTH_MAJORS: readonly AgentLoop[] = [
  vercel('Vercel AI generateText, chat', 'chat', 'generateText'),
  vercel('Vercel AI generateText, responses', 'responses', 'generateText'),
  vercel('Vercel AI streamText', 'responses', 'streamText'),
  vercel('Vercel AI ToolLoopAgent', 'responses', 'ToolLoopAgent'),
  vercel('Vercel AI generateText, strict', 'responses', 'generateText', true),
  openAi('OpenAI runTools', false, false),
  openAi('OpenAI runTools, strict and streamed', true, true),
  openAiChat('OpenAI chat completions', false, false),
  openAiChat('OpenAI chat completions, strict and streamed', true, true),
  openAiResponses('OpenAI responses', false, false),
  openAiResponses('OpenAI responses, strict and streamed', true, true),
];

const LOOPS_OF_THIS_MAJOR: readonly AgentLoop[] = [
  langchain('LangChain createAgent', false),
  langchain('LangChain createAgent, strict', true),
  openAiAgents('OpenAI Agents', false),
  openAiAgents('OpenAI Agents, strict', true),
  anthropic('Anthropic toolRunner', false),
  anthropic('Anthropic toolRunner, streamed', true),
  anthropicMessages('Anthropic messages', false),
  anthropicMessages('Anthropic messages, streamed', true),
  mcp,
];

/** Every adapter in the loops that its framework has. */
export const LOOPS: readonly AgentLoop[] = [
  ...LOOPS_OF_BOTH_MAJORS,
  ...(isNext ? [] : LOOPS_OF_THIS_MAJOR),
];
