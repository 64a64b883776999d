import { takeStart } from './encoding/take-text.ts';
/**
 * The one table of error codes. A code is API: it is never renamed, and each has one HTTP status,
 * one default message and one sentence that says what to do next.
 *
 * `docs/reference/errors.md` is generated from this table.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: {
    status: 400,
    retryable: false,
    message: 'The request is not valid.',
    action: 'Fix the fields listed in details.issues, then send it again.',
    actions: { other: 'Change what the message names, then send it again.' },
  },
  INVALID_PATH: {
    status: 400,
    retryable: false,
    message: 'The path is not valid.',
    action:
      'Use user/<path> or shared/<path> with plain segments; paths are rejected, never repaired.',
    actions: {
      admin:
        'Use users/<userId>/<path> or shared/<path> with plain segments; paths are rejected, never repaired.',
    },
  },
  INVALID_USER_ID: {
    status: 400,
    retryable: false,
    message: 'The user id is not valid.',
    action: 'Use 1 to 128 of A-Z a-z 0-9 . _ @ | : + = ~ -, the first a letter or digit.',
    actions: {
      tools:
        'Name the user in context.userId, or over MCP in x-user-id: 1 to 128 of A-Z a-z 0-9 . _ @ | : + = ~ -, the first a letter or digit.',
      signedIn: 'Leave the user out of the request: the app says who is signed in.',
    },
  },
  INVALID_CONTENT: {
    status: 400,
    retryable: false,
    message: 'The content is not well-formed text.',
    action: 'Send well-formed Unicode text without NUL characters.',
  },
  INVALID_ARCHIVE: {
    status: 400,
    retryable: false,
    message: 'The archive is not one that this service wrote.',
    action:
      'Export again, and import the file as it is; for plain files use memory-service import <folder> --user.',
  },
  INVALID_CURSOR: {
    status: 400,
    retryable: false,
    message: 'The cursor does not belong to this list.',
    action:
      'Start again without a cursor, and keep filters, sort and order the same between pages.',
  },
  UNAUTHORIZED: {
    status: 401,
    retryable: false,
    message: 'The credential is missing or wrong.',
    action:
      'Send Authorization: Bearer <SERVICE_API_KEY> to the tools API, or x-admin-secret to the admin API.',
    actions: {
      tools: 'Send Authorization: Bearer <SERVICE_API_KEY>, or the same key as x-api-key.',
      signedIn: 'Sign in to the app, or send Authorization: Bearer <SERVICE_API_KEY>.',
      admin: 'Send x-admin-secret: <SERVICE_ADMIN_SECRET>.',
    },
  },
  HOST_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    message: 'This Host is not allowed.',
    action:
      'Use a host name that the service knows, or add this one to SERVICE_ALLOWED_HOSTS (allowedHosts in createMemoryService).',
  },
  READ_ONLY_SCOPE: {
    status: 403,
    retryable: false,
    message: 'This memory is read-only here.',
    action:
      'Write below user/, or to a space that the call names with access write. An operator can allow writes to shared/ with SERVICE_SHARED_WRITES=true.',
  },
  SPACE_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such space.',
    action: 'Check the id: GET /v1/admin/spaces lists the spaces.',
  },
  SPACE_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    message: 'This call may not use that space, or not in this way.',
    action:
      'Name the space and its access in context.spaces, or over MCP in x-spaces. An operator can allow more with the spaces of the API key.',
  },
  USER_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    message: 'The API key is not for this user.',
    action: 'Use a key that is for the user. An operator can see and change what a key is for.',
  },
  TOOL_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    message: 'The API key is not for this tool.',
    action: 'Use one of the tools that GET /v1/tools lists for this key.',
  },
  ROLE_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    message: 'This needs another role.',
    action: 'Ask an operator with the role that details.role names.',
  },
  NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such route.',
    action: 'See /v1/openapi.json for the routes. Routes are matched with regard to case.',
  },
  WRITES_FROZEN: {
    status: 403,
    retryable: false,
    message: 'An operator has stopped writes here for a while.',
    action:
      'Nothing was written. Do not repeat the call before details.until; reading works as usual. Say that this cannot be saved now.',
    actions: {
      admin: 'Wait until details.until, or end the freeze: GET /v1/admin/freezes lists them.',
    },
  },
  FILE_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such memory file.',
    action: 'List the files with memory_list, or create it with memory_write.',
    actions: {
      admin:
        'List the files with GET /v1/admin/files, or create it with PUT /v1/admin/files/<path>.',
    },
  },
  REVISION_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such revision.',
    action: 'It may have been pruned; list those that remain with GET /v1/admin/revisions.',
  },
  TOOL_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such tool, or it is switched off.',
    action: 'Use one of the tools that you were given; GET /v1/tools lists them.',
  },
  DOC_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such page.',
    action: 'List the pages with GET /v1/docs.',
  },
  TRACE_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such trace.',
    action: 'Traces are written within a second of the call and removed after their retention.',
  },
  FREEZE_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'No such freeze is in force.',
    action: 'List the freezes in force with GET /v1/admin/freezes: one that is over needs no end.',
  },
  KEY_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such key.',
    action: 'List the keys with GET /v1/admin/keys; a revoked one is not among them.',
  },
  OPERATOR_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such operator.',
    action: 'List the operators with GET /v1/admin/operators.',
  },
  RUN_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such dream run.',
    action: 'List the runs with GET /v1/admin/dream/runs.',
  },
  CHECK_NOT_FOUND: {
    status: 404,
    retryable: false,
    message: 'There is no such check, or no such run of checks.',
    action:
      'List the checks with GET /v1/admin/checks, and their runs with GET /v1/admin/checks/runs.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    message: 'The route does not take this method.',
    action: 'The Allow header names the methods that it takes.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    retryable: true,
    message: 'The request took too long to arrive.',
    action: 'Send it again over a faster connection.',
  },
  VERSION_CONFLICT: {
    status: 409,
    retryable: false,
    message: 'The file is at another version.',
    action: 'Read the file again, merge, and write with the version that you read.',
    actions: {
      admin: 'Read the file again, and send the change with its new ETag as If-Match.',
      setting:
        'Read it again, and send the change with its new ETag as If-Match; details.changedBy and details.changedAt say who changed it, and when.',
      preview: 'Look at the preview again (dryRun), and confirm its numbers.',
    },
  },
  PATH_CONFLICT: {
    status: 409,
    retryable: false,
    message: 'A path is a file and a folder at once.',
    action: 'Use another path, or move or delete the file that details.conflictingPath names.',
  },
  IMPORT_CONFLICT: {
    status: 409,
    retryable: false,
    message: 'Files of the archive exist already with another content.',
    action: 'Import with onExisting=skip or onExisting=new_versions; dryRun=true shows each file.',
  },
  DREAM_RUNNING: {
    status: 409,
    retryable: true,
    message: 'A dream run of this memory is under way.',
    action: 'Wait until it ends, or cancel it.',
  },
  RUN_STATE: {
    status: 409,
    retryable: false,
    message: 'The dream run is not in a state for that.',
    action: 'Read the run; only a run that awaits review can be applied or rejected.',
  },
  REVISION_NOT_REDACTABLE: {
    status: 409,
    retryable: false,
    message: 'The content of this revision cannot be taken out.',
    action: 'Change or delete the file first if details.reason is current, then redact again.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    retryable: false,
    message: 'The content or body is too large.',
    action:
      'Split it into smaller parts. An operator can raise SERVICE_MAX_FILE_BYTES and SERVICE_MAX_BODY_BYTES.',
    actions: {
      body: 'Split it into smaller requests. An operator can raise SERVICE_MAX_BODY_BYTES.',
      archive: 'Export and import the users one by one, with userId.',
    },
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    retryable: false,
    message: 'Only JSON bodies are taken.',
    action: 'Send Content-Type: application/json.',
    actions: {
      streamed: 'Send a Content-Type that the message names.',
      encoding: 'Send the body as it is, or with Content-Encoding: gzip.',
      charset: 'Send the body in UTF-8, with Content-Type: application/json.',
      noBody: 'Send a JSON body with Content-Type: application/json, {} at least.',
    },
  },
  WORK_LIMIT_EXCEEDED: {
    status: 422,
    retryable: false,
    message: 'The call takes more work than one call may.',
    action: 'Split the call into smaller ones; details.limit names what was too much.',
  },
  CONFLICTS_UNDECIDED: {
    status: 422,
    retryable: false,
    message: 'Not every conflict is decided.',
    action: 'Ask with dryRun, and decide each conflict in resolutions; details.conflicts has them.',
  },
  CONTENT_REFUSED: {
    status: 422,
    retryable: false,
    message: 'The text has something that must not be stored.',
    action:
      'Leave out what details.refused names by line and kind, then send it again. An operator can change SERVICE_SCREEN_SECRETS and SERVICE_SCREEN_PERSONAL.',
  },
  PATCH_NOT_FOUND: {
    status: 422,
    retryable: false,
    message: 'The text to replace is not in the file.',
    action: 'Read the file and copy oldText from it exactly, white space included.',
    actions: {
      heading: 'Name a heading of the file as afterHeading; details.headings lists the first 20.',
    },
  },
  PATCH_AMBIGUOUS: {
    status: 422,
    retryable: false,
    message: 'The text to replace occurs more than once.',
    action: 'Lengthen oldText until it is unique, or set replaceAll.',
    actions: {
      heading:
        'Name the headings above it in afterHeading, too, as in Food > Tea, or add the text with an edit.',
    },
  },
  QUOTA_EXCEEDED: {
    status: 422,
    retryable: false,
    message: 'A limit is reached.',
    action:
      'Remove or merge what is not needed. An operator can raise the limit that details names.',
    actions: {
      maxFilesPerUser:
        'Remove or merge files that are not needed. An operator can raise SERVICE_MAX_FILES_PER_USER.',
    },
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    retryable: false,
    message: 'This idempotency key was used for another request.',
    action: 'Use a new key for each distinct request.',
  },
  RATE_LIMITED: {
    status: 429,
    retryable: true,
    message: 'Too many requests.',
    action:
      'Wait as long as Retry-After says. An operator can raise SERVICE_RATE_LIMIT, the tool calls a minute for each user.',
    actions: {
      wrongSecrets:
        'Wait as long as Retry-After says, then send the right secret: x-admin-secret: <SERVICE_ADMIN_SECRET>.',
      key: 'Wait as long as Retry-After says. An operator can make a key with a higher rateLimit.',
      streams: 'Close another live stream, or wait as long as Retry-After says.',
    },
  },
  INTERNAL: {
    status: 500,
    retryable: false,
    message: 'The service failed unexpectedly.',
    action: 'Go on without it. An operator finds the trace id in the log of the service.',
  },
  STORAGE_DAMAGED: {
    status: 500,
    retryable: false,
    message: 'The database is damaged, or its file was removed or replaced.',
    action:
      'An operator has to look: run memory-service verify, stop the service, restore a backup, and start it again.',
  },
  MODEL_FAILED: {
    status: 502,
    retryable: true,
    message: 'The model provider failed.',
    action: 'Try again; look at the provider and its base URL when it persists.',
    actions: {
      unauthorized: 'An operator has to check SERVICE_MODEL_API_KEY.',
      no_credit: 'An operator has to check the account and its billing at the provider.',
      unreachable: 'Try again; when it persists, an operator has to check SERVICE_MODEL_BASE_URL.',
      address_refused: 'An operator has to check SERVICE_MODEL_BASE_URL.',
      redirected: 'An operator has to check SERVICE_MODEL_BASE_URL.',
      rejected: 'An operator has to check SERVICE_MODEL_BASE_URL and SERVICE_MODEL_NAME.',
      proxy: 'An operator has to check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
      not_installed: 'An operator has to install the package that the message names.',
    },
  },
  EMBEDDING_FAILED: {
    status: 502,
    retryable: true,
    message: 'The embedding provider failed.',
    action: 'Try again; look at the provider and its base URL when it persists.',
    actions: {
      unauthorized: 'An operator has to check SERVICE_EMBEDDING_API_KEY.',
      no_credit: 'An operator has to check the account and its billing at the provider.',
      unreachable:
        'Try again; when it persists, an operator has to check SERVICE_EMBEDDING_BASE_URL.',
      address_refused: 'An operator has to check SERVICE_EMBEDDING_BASE_URL.',
      redirected: 'An operator has to check SERVICE_EMBEDDING_BASE_URL.',
      rejected: 'An operator has to check SERVICE_EMBEDDING_BASE_URL and SERVICE_EMBEDDING_NAME.',
      proxy: 'An operator has to check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
      other_dimensions: 'An operator has to check SERVICE_EMBEDDING_DIMENSIONS.',
      no_such_model: 'An operator has to check SERVICE_EMBEDDING_NAME.',
      no_transformers: 'An operator has to install the package that the message names.',
    },
  },
  MODEL_NOT_CONFIGURED: {
    status: 503,
    retryable: false,
    message:
      'This needs a model, and none is configured: set SERVICE_MODEL_PROVIDER, SERVICE_MODEL_BASE_URL and SERVICE_MODEL_NAME, or model in createMemoryService.',
    action:
      'Use memory_write and memory_patch. An operator can set SERVICE_MODEL_PROVIDER, SERVICE_MODEL_BASE_URL and SERVICE_MODEL_NAME.',
  },
  ADMIN_DISABLED: {
    status: 503,
    retryable: false,
    message: 'The admin API is off because no admin secret is set.',
    action: 'Set SERVICE_ADMIN_SECRET (32 characters or more).',
  },
  TOOLS_DISABLED: {
    status: 503,
    retryable: false,
    message: 'The tools API is off because no API key is set.',
    action: 'Set SERVICE_API_KEY (32 characters or more).',
  },
  STORAGE_UNAVAILABLE: {
    status: 503,
    retryable: true,
    message: 'The database does not answer.',
    action: 'Try again after Retry-After; repeat writes with the same Idempotency-Key.',
    actions: {
      outcome_unknown:
        'Repeat the write with the same Idempotency-Key; without one, read the file first.',
      starting:
        'Try again after Retry-After. When it persists, an operator has to look at what the message names.',
    },
  },
  MEMORY_HELD: {
    status: 503,
    retryable: true,
    message: 'An operator is restoring or erasing this memory.',
    action: 'Try again after Retry-After. During a restore, reads go on.',
  },
  SHUTTING_DOWN: {
    status: 503,
    retryable: true,
    message: 'The service is shutting down.',
    action: 'Try again after Retry-After, on another instance.',
  },
  SERVICE_UNREACHABLE: {
    status: 503,
    retryable: true,
    message: 'The memory service cannot be reached.',
    action: 'Try again later, or go on without memory; see that it runs at the client’s base URL.',
  },
  MODEL_TIMEOUT: {
    status: 504,
    retryable: true,
    message: 'The model did not answer in time.',
    action: 'Try again, or raise the provider time limit.',
  },
  STORAGE_FULL: {
    status: 507,
    retryable: true,
    message: 'The disk is full or read-only; nothing was written.',
    action: 'Free space; reads go on, and writes resume without a restart.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;

/** A code of {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** One row of the table: what a code means over HTTP and what its reader does next. */
export interface ErrorCodeEntry {
  status: number;
  retryable: boolean;
  message: string;
  action: string;
  /** What to do instead in these situations: see {@link MemoryErrorOptions.situation}. */
  actions?: Readonly<Record<string, string>>;
}

/** The `error` member of every answer that is not 2xx. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
  retryable: boolean;
  /** What to do: it names the header, the setting or the command. */
  action: string;
  traceId?: string;
  toolCallId?: string;
}

/** What an error may carry beside its code and message. */
export interface MemoryErrorOptions {
  /** Safe to show to the caller: never content, SQL, secrets or paths of the machine. */
  details?: Record<string, unknown> | undefined;
  /** What was caught; logged, never sent. */
  cause?: unknown;
  /** Overrides the table where one code has two statuses (412 for `If-Match`). */
  status?: number;
  /** Sent as the `Retry-After` header, in seconds. */
  retryAfterSeconds?: number | undefined;
  /**
   * Chooses among the `actions` of the code, where its cause decides what to do. Without it, the
   * `limit`, `problem` or `reason` of the details does, and then the API that was called.
   */
  situation?: string | undefined;
  /** What to do, where only the caller knows, as a package to install. */
  action?: string | undefined;
}

/**
 * The one error that crosses a seam of the service: storage drivers, tools, plugins and HTTP throw
 * it, and whatever else is thrown is answered as `INTERNAL`.
 *
 * @example
 * throw new MemoryError('FILE_NOT_FOUND', 'user/profile.md does not exist.', {
 *   details: { path: 'user/profile.md' },
 * });
 */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly #situation: string | undefined;
  readonly #action: string | undefined;
  /** Set where the error leaves a tool call, so that its answer names the trace and the call. */
  traceId: string | undefined;
  toolCallId: string | undefined;

  constructor(code: ErrorCode, message?: string, options: MemoryErrorOptions = {}) {
    const entry = ERROR_CODES[code];
    super(message ?? entry.message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? entry.status;
    this.retryable = entry.retryable;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.#situation = options.situation;
    this.#action = options.action;
  }

  /** The same error with another HTTP status. */
  withStatus(status: number): MemoryError {
    const options = { status, details: this.details, action: this.#action };
    return new MemoryError(this.code, this.message, {
      ...options,
      situation: this.#situation,
      cause: this,
    });
  }

  /** What to do next, in one sentence or two. */
  get action(): string {
    return this.actionIn('tools');
  }

  /** The same for a caller of this API: the two name their files and send their secrets differently. */
  actionIn(api: 'tools' | 'admin' | 'none'): string {
    if (this.#action !== undefined) return this.#action;
    const { action, actions = {} }: ErrorCodeEntry = ERROR_CODES[this.code];
    const { issues, limit, problem, reason } = this.details ?? {};
    const other = this.code === 'INVALID_REQUEST' && issues === undefined ? 'other' : null;
    const found = [this.#situation, limit, problem, reason, other, api].find(
      (key) => typeof key === 'string' && Object.hasOwn(actions, key),
    );
    return found === undefined ? action : (actions[found as string] ?? action);
  }
}

/**
 * Turns whatever was thrown into a `MemoryError`: itself when it is one, else `INTERNAL` with the
 * original as `cause` and nothing of it in the message.
 */
export function toMemoryError(thrown: unknown): MemoryError {
  if (thrown instanceof MemoryError) return thrown;
  return new MemoryError('INTERNAL', undefined, { cause: thrown });
}

/**
 * `STORAGE_UNAVAILABLE` for a write that was sent and not confirmed: it says that it may have been
 * made, and `details.reason` is `outcome_unknown`.
 */
export function outcomeUnknown(cause?: unknown): MemoryError {
  return new MemoryError(
    'STORAGE_UNAVAILABLE',
    'The database did not confirm the write: it may have been written. Without an Idempotency-Key, read before you repeat it.',
    {
      cause,
      retryAfterSeconds: 1,
      details: { reason: 'outcome_unknown' },
    },
  );
}

/** `STORAGE_UNAVAILABLE` for a call that did not begin by its deadline: nothing of it was done. */
export function notRun(): MemoryError {
  return new MemoryError(
    'STORAGE_UNAVAILABLE',
    'The call waited until its deadline and was not run.',
  );
}

/** The same for a call that waited for the start, which something else than the database holds up. */
export function notStarted(waitsFor: string): MemoryError {
  return new MemoryError(
    'STORAGE_UNAVAILABLE',
    `The service is starting and waits for ${waitsFor}. The call was not run.`,
    { retryAfterSeconds: 1, details: { reason: 'starting' } },
  );
}

/**
 * Reads for the answer to a write that was made. An error that asks to repeat the call becomes
 * {@link outcomeUnknown}, so that nobody repeats the write unawares.
 */
export async function readAfterWrite<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw toMemoryError(error).retryable ? outcomeUnknown(error) : error;
  }
}

/**
 * `INVALID_REQUEST` for one field: `path` is its JSON pointer, and the message goes on after its
 * `name`.
 *
 * @example
 * throw invalidField('/strict', 'needs format=openai');
 */
export function invalidField(path: string, message: string, name = path): MemoryError {
  return new MemoryError('INVALID_REQUEST', `${name} ${message}.`, {
    details: { issues: [{ path, message }] },
  });
}

/** The JSON that an error becomes on the wire; `traceId` names the request where no call did. */
export function toErrorBody(
  error: MemoryError,
  traceId?: string,
  api: 'tools' | 'admin' | 'none' = 'none',
): { error: ErrorBody } {
  const trace = error.traceId ?? traceId;
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      retryable: error.retryable,
      // A tool names its files in the same way whichever API ran it, as the Playground does.
      action: error.actionIn(error.toolCallId === undefined ? api : 'tools'),
      ...(trace === undefined ? {} : { traceId: trace }),
      ...(error.toolCallId === undefined ? {} : { toolCallId: error.toolCallId }),
    },
  };
}

/** What to do next; `null` for a code that this table lacks, as of a newer service. */
export function findAction(code: string): string | null {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode].action : null;
}

/** The tools that are off by default, and their settings in code. */
const SWITCHED_OFF: Readonly<Record<string, string>> = {
  memory_delete: 'SERVICE_TOOLS_DELETE=true, or tools: { delete: true }',
  memory_move: 'SERVICE_TOOLS_MOVE=true, or tools: { move: true }',
};

/** `TOOL_NOT_FOUND` for a name, with the setting that turns the tool on. */
export function toolNotFound(names: readonly string[], details?: Record<string, unknown>) {
  const settings = names.flatMap((name) =>
    Object.hasOwn(SWITCHED_OFF, name)
      ? [`${name} is off: turn it on with ${SWITCHED_OFF[name]}.`]
      : [],
  );
  const shown = names.map((name) => takeStart(name, 64)).join(', ');
  return new MemoryError('TOOL_NOT_FOUND', [`There is no tool ${shown}.`, ...settings].join(' '), {
    details,
  });
}

/** Code, message, what to do, and what else helps, as lines of text for a model. */
export function toErrorText({
  code,
  message,
  action = findAction(code) ?? undefined,
  details,
  retryAfterSeconds,
}: {
  code: string;
  message: string;
  /** Default: that of the code. */
  action?: string | undefined;
  details?: Record<string, unknown> | undefined;
  retryAfterSeconds?: number | undefined;
}): string {
  const lines = [`Error ${code}: ${message}`];
  if (action !== undefined) lines.push(action);
  if (retryAfterSeconds !== undefined) lines.push(`Try again in ${retryAfterSeconds} seconds.`);
  if (details !== undefined) lines.push(`Details: ${JSON.stringify(details)}`);
  return lines.join('\n');
}
