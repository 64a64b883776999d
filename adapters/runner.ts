import type {
  JsonSchema,
  NamedSpace,
  ToolDescription,
  ToolRequest,
  ToolResponse,
  ToolRunner,
} from '../core/contracts/tool.ts';
import { parseForeignJson } from '../core/encoding/foreign-json.ts';
import { type ErrorCode, MemoryError, toErrorText, toolNotFound } from '../core/errors.ts';
import { parseUserId } from '../core/files/paths.ts';
import { toStrictSchema } from '../core/schemas/strict-schema.ts';
import { nameTools } from '../core/schemas/tool-prefix.ts';
import { takeStart } from '../core/encoding/take-text.ts';

/** Which tools a model gets, and for whom they run. The same for every adapter. */
export interface AdapterOptions {
  /**
   * Whose memory it is, from an identity that your server trusts. It is bound here, once: a model
   * neither sees it nor has a place to name another one.
   */
  userId: string;
  /**
   * The spaces that the tools may use, each once, from what your server knows of the user:
   * `[{ id: 'acme', access: 'read' }]`. At most 16; default none.
   */
  spaces?: readonly NamedSpace[] | undefined;
  /** Who reads and writes, as revisions and the access log name it; default `agent`. */
  actor?: string;
  /** Plain names of the tools to give; default all that can be used with what is configured. */
  tools?: readonly string[];
  /**
   * Put before the name of each tool, so that an agent can have the tools of two memories: with
   * `team_`, a model calls `team_memory_read`. Traces and the access log keep the plain names.
   * Default: none.
   */
  toolPrefix?: string;
  /** Gives the tools alone that change nothing. */
  readOnly?: boolean;
}

/** Options of an adapter whose model can be held to the schemas of its tools. */
export interface StrictAdapterOptions extends AdapterOptions {
  /**
   * Gives each tool in the form of OpenAI's strict mode: every argument is required, and one that was
   * optional may be `null`. A tool whose schema strict mode cannot express keeps its own. Default: off.
   */
  strict?: boolean;
}

/** A tool that is bound to its user: what adapters put into the form of a framework. */
export interface BoundTool extends ToolDescription {
  /** As the model knows it, with the prefix. */
  name: string;
  /** What the model reads: the tool's schema, or its strict form. */
  parameters: JsonSchema;
  /** Whether `parameters` is the strict form. */
  isStrict: boolean;
  /** Names tools in a text as the model knows them. */
  rename(text: string): string;
  /** Runs it. A failure is an outcome, never a rejection; what `signal` stopped rejects. */
  run(args: unknown, call?: BoundCall): Promise<ToolOutcome>;
}

/** What a framework knows of a call beside its arguments. */
export interface BoundCall {
  /** The framework's own id of the call. */
  callId?: string | undefined;
  signal?: AbortSignal | null | undefined;
  /**
   * What its run is known by: an id that is a UUID or a trace id, or an object that all calls of the
   * run share, and only these.
   */
  run?: object | string | null | undefined;
}

/** What a loop of your own says of calls that it runs together. */
export interface CallsOptions {
  signal?: AbortSignal;
  /**
   * What your run is known by, so that what it reads and writes is seen together: an id that is a
   * UUID, or an object that all its calls share, as the array of its messages.
   */
  run?: object | string;
}

/** What a call came to. `text` is what the model reads. */
type ToolOutcome =
  | { ok: true; text: string; response: ToolResponse }
  | { ok: false; text: string; error: ToolFailure };

/** A failure as plain data, for the app. */
export interface ToolFailure {
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
  retryable: boolean;
  /** What to do; it is in the text for the model, too. */
  action?: string;
  retryAfterSeconds?: number;
  traceId?: string;
  toolCallId?: string;
}

/** Tools of a user, and what a call of any other is answered with. */
export interface BoundCalls {
  tools: BoundTool[];
  /** Whether the call of a tool is to be answered here: all are, or those with the prefix. */
  isAnswered(name: string): boolean;
  /**
   * Answers the call of a tool that is not among these. The trail gets it where the runner lacks that
   * tool. One that the runner has, and this agent was not given, is not run.
   */
  runUnknown(name: string, call: BoundCall): Promise<ToolOutcome>;
}

/** An argument that no tool knows: a call with it is recorded, and refused before it does anything. */
const REFUSED_ARGUMENTS = { refusedByAdapter: true };

/** Binds as {@link bindCalls} does, where the framework itself answers the call of an unknown tool. */
export async function bindTools(
  runner: ToolRunner,
  options: StrictAdapterOptions,
): Promise<BoundTool[]> {
  return (await bindCalls(runner, options)).tools;
}

/** The context of each call of an adapter. */
export function toCallContext({
  userId,
  spaces,
  actor,
}: Pick<AdapterOptions, 'userId' | 'spaces' | 'actor'>): ToolRequest['context'] {
  return {
    userId,
    ...(spaces === undefined ? {} : { spaces: [...spaces] }),
    ...(actor === undefined ? {} : { actor }),
  };
}

/**
 * Binds the tools of a runner to a user. Rejects with `INVALID_USER_ID` for a bad user id, with
 * `TOOL_NOT_FOUND` for a name in `tools` that the runner lacks, with `INVALID_REQUEST` for a bad prefix,
 * and with what asking for the list rejects with.
 */
export async function bindCalls(
  runner: ToolRunner,
  options: StrictAdapterOptions,
): Promise<BoundCalls> {
  const { tools: names, readOnly = false, toolPrefix = '' } = options;
  // A wrong one would otherwise come to light in front of the model.
  parseUserId(options.userId);
  const context = toCallContext(options);
  const toTraceId = createRunTraces();
  function toRequest(args: unknown, { callId, signal, run }: BoundCall): ToolRequest {
    const runTraceId = toTraceId(run);
    return {
      context: { ...context, ...(callId === undefined ? {} : { toolCallId: callId }) },
      arguments: args,
      ...(runTraceId === undefined ? {} : { runTraceId }),
      ...(signal === undefined || signal === null ? {} : { signal }),
    };
  }
  const described = await runner.listTools();
  const missing = (names ?? []).filter((name) => !described.some((tool) => tool.name === name));
  if (missing.length > 0) {
    const known = described.map(({ name }) => name);
    throw toolNotFound(missing, { missing, known });
  }
  const { tools: named, rename, toPlain } = nameTools(described, toolPrefix);
  const tools = described.flatMap(({ name, available, readOnly: isReadOnly }, at) => {
    const tool = named[at];
    const isGiven = names === undefined ? available : names.includes(name);
    if (tool === undefined || !isGiven || (readOnly && !isReadOnly)) return [];
    return {
      ...tool,
      ...toParameters(tool.inputSchema, options),
      rename,
      async run(args: unknown, call: BoundCall = {}): Promise<ToolOutcome> {
        try {
          const response = await runner.execute(name, toRequest(args, call));
          return { ok: true, text: JSON.stringify(response.result), response };
        } catch (thrown) {
          // Nobody waits for it any more, and the framework knows how to stop.
          if (call.signal?.aborted) throw thrown;
          return toFailedOutcome(thrown, rename);
        }
      },
    };
  });
  return {
    tools,
    isAnswered: (name) => toPlain(name) !== null,
    async runUnknown(name, call) {
      try {
        // Asked again: a plugin may have added the tool since.
        const known = await runner.listTools();
        const plain = toPlain(name) ?? name;
        if (!known.some((tool) => tool.name === plain)) {
          await runner.execute(plain, toRequest(REFUSED_ARGUMENTS, call));
        }
      } catch (thrown) {
        if (call.signal?.aborted) throw thrown;
      }
      return toUnknownTool(name, tools);
    },
  };
}

function toParameters(
  inputSchema: JsonSchema,
  { strict = false }: StrictAdapterOptions,
): Pick<BoundTool, 'parameters' | 'isStrict'> {
  const strictSchema = strict ? toStrictSchema(inputSchema) : null;
  return { parameters: strictSchema ?? inputSchema, isStrict: strictSchema !== null };
}

/**
 * Makes what finds the trace of a framework's run, so that the service knows which calls belong
 * together: its id if that is one, else a trace for each object. An id in another form has none.
 */
function createRunTraces(): (run: BoundCall['run']) => string | undefined {
  const traces = new WeakMap<object, string>();
  return (run) => {
    if (run === undefined || run === null) return undefined;
    if (typeof run === 'string') {
      const id = run
        .toLowerCase()
        .replace(/^trace_/, '')
        .replaceAll('-', '');
      return /^(?!0{16})[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/.test(id) ? id : undefined;
    }
    let traceId = traces.get(run);
    if (traceId === undefined) {
      // Begins with the time, as ids do that stand in an index.
      const time = Date.now().toString(16).padStart(12, '0');
      traceId = time + crypto.randomUUID().replaceAll('-', '').slice(12);
      traces.set(run, traceId);
    }
    return traceId;
  };
}

/**
 * What a call with arguments as text comes to: the form in which models write them. Text that is
 * not JSON is an outcome too. The trail gets it if the tool takes no unknown arguments.
 */
export async function runWithText(
  tool: BoundTool,
  text: string,
  call?: BoundCall,
): Promise<ToolOutcome> {
  let args: unknown;
  try {
    // Some models write nothing at all for a call without arguments.
    args = text.trim() === '' ? {} : parseForeignJson(text);
  } catch (error) {
    await recordRefusal(tool, call);
    return toUnreadableCall(error);
  }
  return tool.run(args, call);
}

/** The outcome of a call that is incomplete because the answer ended. It is not run, even if it can be read. */
export async function refuseCutOff(tool: BoundTool, call?: BoundCall): Promise<ToolOutcome> {
  await recordRefusal(tool, call);
  const reason = 'The answer ended in the middle of this call, so it was not run. Make it shorter.';
  return toFailedOutcome(new MemoryError('INVALID_REQUEST', reason));
}

/** Leaves a trail of a call that is not run. */
async function recordRefusal(tool: BoundTool, call?: BoundCall): Promise<void> {
  if (refusesUnknown(tool.inputSchema)) await tool.run(REFUSED_ARGUMENTS, call);
}

function refusesUnknown(schema: JsonSchema): boolean {
  const { additionalProperties, patternProperties, properties } = schema as Record<string, unknown>;
  const [name = ''] = Object.keys(REFUSED_ARGUMENTS);
  return (
    additionalProperties === false &&
    patternProperties === undefined &&
    !Object.hasOwn(Object(properties) as object, name)
  );
}

/** What a call comes to whose arguments are not JSON. */
export function toUnreadableCall(cause: unknown): ToolOutcome {
  const error = new MemoryError('INVALID_REQUEST', 'The arguments are not valid JSON.', { cause });
  return toFailedOutcome(error);
}

function toUnknownTool(name: string, tools: readonly BoundTool[]): ToolOutcome {
  const known = tools.map((tool) => tool.name).join(', ');
  return toFailedOutcome(
    new MemoryError('TOOL_NOT_FOUND', `There is no tool ${takeStart(name, 64)}, but ${known}.`),
  );
}

/** What a call that threw comes to; `rename` names tools as the model knows them. */
export function toFailedOutcome(
  thrown: unknown,
  rename: BoundTool['rename'] = (text) => text,
): ToolOutcome {
  const error = toFailure(thrown);
  return { ok: false, text: rename(toErrorText(error)), error };
}

/** The service and its client throw two classes with the same members; both are told by those. */
export function toFailure(thrown: unknown): ToolFailure {
  const error = Object(thrown) as Partial<MemoryError>;
  const { code, message, status, details, retryable, retryAfterSeconds } = error;
  const { traceId, toolCallId, action } = error;
  const isOurs = typeof code === 'string' && typeof status === 'number';
  if (!isOurs || message === undefined || typeof retryable !== 'boolean') {
    const { code: internal, message: text, retryable: again } = new MemoryError('INTERNAL');
    return { code: internal, message: text, retryable: again };
  }
  return {
    code,
    message,
    retryable,
    ...(details === undefined ? {} : { details }),
    ...(action === undefined ? {} : { action }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(traceId === undefined ? {} : { traceId }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
  };
}
