import { createRequire } from 'node:module';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type {
  CallToolRequest,
  CompleteRequest,
  GetPromptRequest,
  ListToolsResult,
  ReadResourceRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { isKeyTool } from '../../core/access/key-rules.ts';
import type { ToolDescription, ToolRunner } from '../../core/contracts/tool.ts';
import { MemoryError, toolNotFound } from '../../core/errors.ts';
import { memoryInstructions } from '../../core/tools/memory-instructions.ts';
import { toPortableSchema } from '../../core/schemas/portable-schema.ts';
import { nameTools, type ToolNames } from '../../core/schemas/tool-prefix.ts';
import type { McpOptions } from './options.ts';
import { toProtocolError } from './protocol-error.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import {
  type Call,
  completePath,
  listResources,
  listResourceTemplates,
  readResource,
} from './resources.ts';
import type { McpSdk } from './sdk.ts';
import { toCallResult, toErrorResult, toRunnerError } from './tool-result.ts';
import { takeStart } from '../../core/encoding/take-text.ts';

/**
 * Makes an MCP server for one user, over any transport. It has the tools of the runner, and the
 * user's memory files as resources where the tools to list and to read are given.
 *
 * `bound` is what all of its calls have in common. Whose memory it is stands there alone, so that
 * neither a model nor a client has a place to say it. `null` where nobody is named: then the client
 * can ask what there is, and use nothing of it.
 */
export function createMcpServer(
  sdk: McpSdk,
  runner: ToolRunner,
  bound: Call | null,
  options: McpOptions = {},
): Server {
  const server = new sdk.Server(serverInfo(), {
    ...toServerOptions(options),
    jsonSchemaValidator: sharedValidator(sdk),
  });
  const schemas = {
    'tools/list': sdk.ListToolsRequestSchema,
    'tools/call': sdk.CallToolRequestSchema,
    'prompts/list': sdk.ListPromptsRequestSchema,
    'prompts/get': sdk.GetPromptRequestSchema,
    'completion/complete': sdk.CompleteRequestSchema,
    'resources/list': sdk.ListResourcesRequestSchema,
    'resources/templates/list': sdk.ListResourceTemplatesRequestSchema,
    'resources/read': sdk.ReadResourceRequestSchema,
  };
  for (const [name, method] of Object.entries(createMethods(runner, bound, options))) {
    server.setRequestHandler(schemas[name as MethodName], ({ params = {} }, extra) =>
      asProtocolError(sdk, async () => method(params as never, extra)),
    );
  }
  return server;
}

/** The server as its clients know it. */
export function serverInfo() {
  return { name: 'memory-service', title: 'Memory', version: readVersion() };
}

/** What a server of any version of the protocol says of itself. */
export function toServerOptions(options: McpOptions) {
  return {
    capabilities: {
      tools: {},
      prompts: {},
      ...(hasResources(options) ? { resources: {}, completions: {} } : {}),
    },
    instructions: memoryInstructions(options),
  };
}

/** The methods of the protocol that are served. */
export type MethodName =
  | 'tools/list'
  | 'tools/call'
  | 'prompts/list'
  | 'prompts/get'
  | 'completion/complete'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read';

/** Answers a request whose params the SDK has checked. What it throws becomes an error of the protocol. */
export type Method = (params: never, extra: Extra) => Promise<Record<string, unknown>>;

/** The methods for one user: the same for each version of the protocol. */
export function createMethods(
  runner: ToolRunner,
  bound: Call | null,
  options: McpOptions,
): Partial<Record<MethodName, Method>> {
  const toCall = (extra: Extra): Call => bindCall(bound, options, extra);
  const methods: Partial<Record<MethodName, Method>> = {
    async 'tools/list'() {
      const { tools } = nameTools(await listOffered(runner, options), options.toolPrefix);
      return { tools: tools.filter(({ available }) => available).map(toMcpTool) };
    },
    async 'tools/call'({ name, arguments: args = {} }: CallToolRequest['params'], extra) {
      try {
        const plain = await toOffered(runner, name, options);
        return toCallResult(await runner.execute(plain, { ...toCall(extra), arguments: args }));
      } catch (thrown) {
        return toErrorResult(toRunnerError(thrown), await findRename(runner, options));
      }
    },
    'prompts/list': async () => listPrompts(await listOffered(runner, options)),
    async 'prompts/get'({ name, arguments: args = {} }: GetPromptRequest['params'], extra) {
      const offered = await listOffered(runner, options);
      return getPrompt(runner, { name, args }, { call: toCall(extra), offered });
    },
  };
  if (!hasResources(options)) return methods;
  return {
    ...methods,
    async 'completion/complete'({ ref, argument }: CompleteRequest['params'], extra) {
      if (ref.type !== 'ref/resource') return { completion: { values: [] } };
      const typed = { template: ref.uri, value: argument.value };
      return completePath(runner, toCall(extra), typed);
    },
    'resources/list': async ({ cursor }: { cursor?: string }, extra) =>
      listResources(runner, toCall(extra), cursor),
    'resources/templates/list': async () => listResourceTemplates(bound),
    'resources/read': async ({ uri }: ReadResourceRequest['params'], extra) =>
      readResource(runner, toCall(extra), uri),
  };
}

function bindCall(bound: Call | null, { actor }: McpOptions, extra: Extra): Call {
  if (bound === null) {
    throw new MemoryError(
      'INVALID_USER_ID',
      'The header x-user-id is missing: it says whose memory this is.',
    );
  }
  const traceparent = extra._meta?.['traceparent'];
  return {
    ...bound,
    context: {
      ...bound.context,
      ...(actor === undefined ? {} : { actor }),
      toolCallId: String(extra.requestId),
    },
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    signal: extra.signal,
    arrivedAt: bound.arrivedAt ?? performance.now(),
  };
}

/** Whether the user's memory files are resources: where the tools to list and to read are given. */
export function hasResources({ tools }: McpOptions): boolean {
  return tools === undefined || (tools.includes('memory_list') && tools.includes('memory_read'));
}

/** What a handler learns beside the request. */
export interface Extra {
  signal: AbortSignal;
  requestId: string | number;
  _meta?: Record<string, unknown> | undefined;
}

/** The tools that a client may call, also those that are not available now. */
async function listOffered(
  runner: ToolRunner,
  { tools: names, readOnly = false, apiKey }: McpOptions,
): Promise<ToolDescription[]> {
  const all = await runner.listTools();
  const missing = (names ?? []).filter((name) => !all.some((tool) => tool.name === name));
  if (missing.length > 0) throw toolNotFound(missing);
  return all
    .filter(({ name }) => names === undefined || names.includes(name))
    .filter((tool) => (tool.readOnly || !readOnly) && isKeyTool(apiKey, tool));
}

/** The plain name of a tool that a client may call. */
async function toOffered(runner: ToolRunner, name: string, options: McpOptions): Promise<string> {
  const { tools, readOnly, toolPrefix = '' } = options;
  // The runner refuses what it does not know, so nothing has to be asked where nothing is left out.
  if (tools === undefined && readOnly !== true && toolPrefix === '') return name;
  const offered = await listOffered(runner, options);
  const { toPlain, toShown } = nameTools(offered, toolPrefix);
  const plain = toPlain(name);
  if (plain !== null && offered.some((tool) => tool.name === plain)) return plain;
  const names = offered.map((tool) => toShown(tool.name)).join(', ');
  throw new MemoryError('TOOL_NOT_FOUND', `There is no tool ${takeStart(name, 64)}, but ${names}.`);
}

/** Names tools in the text of an error as the client knows them. */
async function findRename(runner: ToolRunner, options: McpOptions): Promise<ToolNames['rename']> {
  const { toolPrefix = '' } = options;
  return nameTools(toolPrefix === '' ? [] : await listOffered(runner, options), toolPrefix).rename;
}

function toMcpTool(tool: ToolDescription): ListToolsResult['tools'][number] {
  const { name, title, description, inputSchema, outputSchema } = tool;
  // Without it a client refuses the whole list: a plugin's tool may answer something else.
  const isObject = (outputSchema as { type?: unknown }).type === 'object';
  return {
    name,
    title,
    description,
    inputSchema: { ...toPortableSchema(inputSchema), type: 'object' },
    ...(isObject ? { outputSchema: { ...outputSchema, type: 'object' as const } } : {}),
    annotations: {
      title,
      readOnlyHint: tool.readOnly,
      destructiveHint: tool.destructive ?? !tool.readOnly,
      idempotentHint: tool.idempotent ?? tool.readOnly,
      openWorldHint: false,
    },
  };
}

/** A failure outside of a tool's call is an error of the protocol. */
export async function asProtocolError<T>(sdk: McpSdk, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { code, message, data } = toProtocolError(toRunnerError(thrown));
    throw new sdk.McpError(code, message, data);
  }
}

let validator: InstanceType<McpSdk['AjvJsonSchemaValidator']> | null = null;

/** It checks answers to questions that this server never asks; making one takes milliseconds. */
function sharedValidator(sdk: McpSdk): InstanceType<McpSdk['AjvJsonSchemaValidator']> {
  validator ??= new sdk.AjvJsonSchemaValidator();
  return validator;
}

let version: string | null = null;

function readVersion(): string {
  if (version === null) {
    const require = createRequire(import.meta.url);
    // By the package's own name, so that it is the same from the sources and from the build.
    version = (require('memory-service/package.json') as { version: string }).version;
  }
  return version;
}
