import type {
  DeleteArguments,
  DeleteResult,
  ListArguments,
  ListResult,
  MoveArguments,
  MoveResult,
  PatchArguments,
  PatchResult,
  ReadArguments,
  ReadResult,
  WriteArguments,
  WriteResult,
} from '../schemas/memory-tools/files.ts';
import type { FindArguments, FindResult } from '../schemas/memory-tools/find.ts';
import type { ContextArguments, ContextResult } from '../schemas/memory-tools/context.ts';
import type { RememberArguments, RememberResult } from '../schemas/memory-tools/remember.ts';
import type { ErrorCode } from '../errors.ts';
import type { ApiKey } from './access.ts';
import type { ListedTool, NamedSpace, ToolContext } from '../schemas/tools.ts';
import type { SpanAttributes, SpanKind } from './records.ts';

export type {
  ListedFile,
  PatchArguments,
  PatchEdit,
  WriteResult,
} from '../schemas/memory-tools/files.ts';
export type { NamedSpace } from '../schemas/tools.ts';
export type { FindArguments, FoundPassage } from '../schemas/memory-tools/find.ts';

/** Plain JSON Schema (draft 2020-12), as every framework takes it. */
export type JsonSchema = object;

/**
 * A tool: its name, texts, schemas, errors and work. Validation, HTTP, adapters, OpenAPI, docs and
 * the Playground derive from it. `userId` is in no schema.
 */
export interface ToolDefinition<Arguments = unknown, Result = unknown> {
  /** `memory_…`, lower case with underscores. */
  name: string;
  title: string;
  /** For the model: what the tool does, when to use it, what its paths look like. */
  description: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
  readOnly: boolean;
  /** Whether a write may replace or remove what is there; default: it may. */
  destructive?: boolean;
  /** Whether a write that is repeated with the same arguments changes nothing more; default: it may. */
  idempotent?: boolean;
  /**
   * Whether it has an effect outside of memory that must not be repeated, as sending a message has.
   * Under an idempotency key such a tool is run once: a repeat within 24 hours gets the first
   * answer, which is kept with the key and so must hold no content of a file; where that answer is
   * not known, the repeat is refused with `IDEMPOTENCY_KEY_REUSED`. Default: it is run again, and
   * its writes to memory are made once.
   */
  runsOnce?: boolean;
  requiresModel: boolean;
  /**
   * Milliseconds that a call may take from its arrival; then it is answered `STORAGE_UNAVAILABLE`.
   * Default 15,000, also where no model is configured: a tool that waits for one has more. `null` for
   * a plugin's tool, which the host ends.
   */
  deadlineMs?: number | null;
  /** Off unless the configuration switches it on. */
  optional?: boolean;
  /** The codes that this tool itself can answer, beside those of any tool. */
  errorCodes: readonly ErrorCode[];
  example: { arguments: Arguments; result: Result };
  /** Why it can't be used right now; `null` when it can. Default: always usable. */
  unavailable?(services: MemoryServices): ErrorCode | null;
  run(services: MemoryServices, args: Arguments, call: ToolCall): Promise<Result>;
}

/** A tool as `GET /v1/tools` lists it; two fields are absent in the answer of an older service. */
export type ToolDescription = Omit<ListedTool, 'destructive' | 'idempotent'> &
  Partial<Pick<ListedTool, 'destructive' | 'idempotent'>>;

/** Who reads and writes, under which ids, and where its phases are recorded. */
export interface Caller {
  /** `null` for the admin, and for work on shared memory alone. */
  userId: string | null;
  /** The spaces that the call may use, by id. Absent: none. */
  spaces?: readonly NamedSpace[] | undefined;
  actor: string;
  /** The operator who writes, where the actor is `admin`. */
  operator?: string | null | undefined;
  tool: string | null;
  toolCallId: string | null;
  trace: Trace;
  runId?: string | null;
  signal?: AbortSignal | undefined;
  /** The named key that the call came with. */
  apiKey?: ApiKey | undefined;
}

/** A tool call under way. */
export interface ToolCall extends Caller {
  userId: string;
  tool: string;
  toolCallId: string;
  trace: Trace & { traceId: string };
  /** The user's time zone, where the caller names one. */
  timeZone?: string;
  /**
   * Of `performance.now()`: when the call's deadline is. What waits for a provider ends before, so that
   * the call still has time for the rest. Absent: no deadline.
   */
  deadlineAt?: number;
  /** Present on a write that came with an idempotency key: SHA-256 in hex. */
  idempotency?: { keyHash: string; requestHash: string };
  /** Set by the write path when the answer is the first one, replayed. */
  onReplay?(first: { toolCallId: string; traceId: string }): void;
}

/** Where spans are recorded. `start` is cheap and never throws. */
export interface Trace {
  /** `null` where nobody named one. */
  readonly traceId: string | null;
  /** The number of the last erasure that was known when the work began; absent: it begins now. */
  readonly knownErasure?: number | undefined;
  start(kind: SpanKind, name: string): Span;
}

/** A phase under way. One that is never ended is not recorded. */
export interface Span {
  end(attributes?: SpanAttributes): void;
  /** Ends it as failed; `error` gives the code alone. */
  fail(error: unknown, attributes?: SpanAttributes): void;
}

/** A call of a tool: who it is for, bound by the caller, and what the model chose. */
export interface ToolRequest<Arguments = unknown> {
  context: ToolContext;
  arguments: Arguments;
  /** The named key that the call came with; absent: it may do everything. */
  apiKey?: ApiKey | undefined;
  /** 1–255 printable ASCII characters. Taken by writes alone. */
  idempotencyKey?: string;
  /** W3C Trace Context of the caller. */
  traceparent?: string;
  /**
   * The trace of the caller's run, 32 hex digits. Its calls share this trace where neither
   * `traceparent` nor an active span of the app names one.
   */
  runTraceId?: string;
  signal?: AbortSignal;
  /**
   * Of `performance.now()`: the call's deadline counts from here, as from the arrival of the request
   * that it serves. Default: now.
   */
  arrivedAt?: number;
}

/** What a call gave, and the ids under which it is recorded. */
export interface ToolResponse<Result = unknown> {
  result: Result;
  traceId: string;
  toolCallId: string;
  durationMs: number;
  /** The first answer to this idempotency key. */
  replayed?: true;
}

/** Runs tools: the service in this process, or a client over HTTP. Adapters take either. */
export interface ToolRunner {
  listTools(): Promise<readonly ToolDescription[]>;
  execute(name: string, request: ToolRequest): Promise<ToolResponse>;
}

/** A runner that knows what the service’s own tools take and give; those of plugins are `unknown`. */
export interface TypedToolRunner extends ToolRunner {
  execute<Name extends ToolName>(
    name: Name,
    request: ToolRequest<ToolArguments<Name>>,
  ): Promise<ToolResponse<ToolResult<Name>>>;
}

/** The service’s own tools by name, with what they take and give. */
export interface BuiltInTools {
  memory_list: { arguments: ListArguments; result: ListResult };
  memory_read: { arguments: ReadArguments; result: ReadResult };
  memory_write: { arguments: WriteArguments; result: WriteResult };
  memory_patch: { arguments: PatchArguments; result: PatchResult };
  memory_find: { arguments: FindArguments; result: FindResult };
  memory_context: { arguments: ContextArguments; result: ContextResult };
  memory_remember: { arguments: RememberArguments; result: RememberResult };
  memory_delete: { arguments: DeleteArguments; result: DeleteResult };
  memory_move: { arguments: MoveArguments; result: MoveResult };
}

/** Any tool’s name; an editor offers those of the service. */
export type ToolName = keyof BuiltInTools | (string & {});

/** What the tool of that name takes. */
export type ToolArguments<Name> = Name extends keyof BuiltInTools
  ? BuiltInTools[Name]['arguments']
  : unknown;

/** What the tool of that name gives. */
export type ToolResult<Name> = Name extends keyof BuiltInTools
  ? BuiltInTools[Name]['result']
  : unknown;

/** What a tool works with. Every path is virtual and parsed by the service. */
export interface MemoryServices {
  files: FileService;
  /** Files as they stood at the moment `asOf`. */
  history: Pick<FileService, 'read'>;
  find: FindService;
  context: ContextService;
  /** `null` when no model is configured. */
  remember: RememberService | null;
}

/** The file tools. Refusals are `MemoryError`s, and leave an access row with their outcome. */
export interface FileService {
  list(args: ListArguments, call: ToolCall): Promise<ListResult>;
  read(args: ReadArguments, call: ToolCall): Promise<ReadResult>;
  write(args: WriteArguments, call: ToolCall): Promise<WriteResult>;
  patch(args: PatchArguments, call: ToolCall): Promise<PatchResult>;
  remove(args: DeleteArguments, call: ToolCall): Promise<DeleteResult>;
  move(args: MoveArguments, call: ToolCall): Promise<MoveResult>;
}

/** The search. */
export interface FindService {
  find(args: FindArguments, call: ToolCall): Promise<FindResult>;
}

/** What memory holds on a question, as one text for a prompt. */
export interface ContextService {
  context(args: ContextArguments, call: ToolCall): Promise<ContextResult>;
}

/** Files a fact where it belongs, with a model. */
export interface RememberService {
  remember(args: RememberArguments, call: ToolCall): Promise<RememberResult>;
}
