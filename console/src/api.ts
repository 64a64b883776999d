import type {
  AdminAccess,
  AdminAccessRights,
  AdminAudit,
  AdminDeleteAnswer,
  AdminFile,
  AdminFileAnswer,
  AdminFolder,
  AdminFreeze,
  AdminKey,
  AdminOperator,
  AdminPutAnswer,
  AdminRevision,
  AdminRevisionDetail,
  AdminSpace,
  AdminStatus,
  AdminToolCallDetail,
  AdminTrace,
  AdminUser,
  ChangedFile,
  ContentSearchAnswer,
  EraseAnswer,
  EraseRequest,
  ExamAnswer,
  FreezeRequest,
  ImportedFile,
  ImportSummary,
  KeyRequest,
  ListAnswer,
  MadeKeyAnswer,
  MadeOperatorAnswer,
  NamedSpace,
  OperatorList,
  OperatorRequest,
  PrefixEraseAnswer,
  PrefixEraseRequest,
  PruneAnswer,
  PruneRequest,
  RedactAnswer,
  RedactRequest,
  RedactTextAnswer,
  RedactTextRequest,
  RestoreAnswer,
  RestoreRequest,
  RevertAnswer,
  RevertRequest,
  RevertSelection,
  RevertWritesAnswer,
  SkippedItem,
  SpaceRequest,
  TextSearchAnswer,
  TextSearchRequest,
  ToolAnswer,
} from '../../core/contracts/admin.ts';
import type { ToolDescription } from '../../core/contracts/tool.ts';
import type { ErrorBody } from '../../core/errors.ts';
import { inSeconds } from './composables/countdown.ts';
import { idOf, kindOf, type Memory, type Owner } from './owner.ts';
import type { Need } from './rights.ts';

/** Query parameters; absent and empty ones are left out. */
export type Query = Record<string, string | number | boolean | null | undefined>;

/** A line of the answer of an import, before its summary. */
export type ImportLine = ImportedFile | SkippedItem;

/** Supplies the secret, and is told when it is wrong. */
export interface ApiOptions {
  /** The service's URL without a trailing slash. */
  baseUrl: string;
  /** The secret of a call, which waits for it. */
  secret(): Promise<string | null>;
  onUnauthorized(): void;
  /** Why the operator's role would be refused; such a request is not sent. */
  reasonAgainst(need: Need): string | null;
  /** The service refused what `reasonAgainst` did not: the role has changed. */
  onRoleRefused(): void;
  /** What a reader gets of a message of the service. */
  tell(message: string): string;
}

/** The admin API, as the console uses it. Every method throws an {@link ApiError}. */
export type Api = ReturnType<typeof createApi>;

/** A setting, and the `ETag` of its version; `null` if the service gives none. */
export interface Tagged<T> {
  value: T;
  tag: string | null;
}

/** An answer that is not 2xx, or no answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  /** What to do; `null` if the service has not said it. */
  readonly action: string | null;
  readonly details: Record<string, unknown> | undefined;
  readonly traceId: string | undefined;
  readonly toolCallId: string | undefined;
  /** The error body as it came, for the Playground. */
  readonly body: Partial<ErrorBody>;
  /** Seconds to wait after too many requests, or until a restore of the memory has ended. */
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    body: Partial<ErrorBody> & { message: string },
    retryAfterSeconds: number | null = null,
  ) {
    const wait = retryAfterSeconds === null ? '' : ` Try again in ${inSeconds(retryAfterSeconds)}.`;
    super(body.message + wait);
    this.status = status;
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
    this.code = body.code ?? 'INTERNAL';
    this.retryable = body.retryable ?? false;
    this.action = body.action ?? null;
    this.details = body.details;
    this.traceId = body.traceId;
    this.toolCallId = body.toolCallId;
  }
}

/** One line with the error, its code and its trace id. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const trace = error.traceId === undefined ? '' : ` Trace ${error.traceId}.`;
  return `${error.message} (${error.code})${trace}`;
}

/** Creates the client. Nothing else in the console uses HTTP. */
export function createApi({
  baseUrl,
  secret,
  onUnauthorized,
  reasonAgainst,
  onRoleRefused,
  tell,
}: ApiOptions) {
  async function send(
    method: Method,
    path: string,
    { query = {}, body, headers = {}, signal }: SendOptions = {},
  ): Promise<Response> {
    const value = await secret();
    const reason = reasonAgainst(`${method} ${path}`);
    if (reason !== null) throw new ApiError(403, { code: 'ROLE_NOT_ALLOWED', message: reason });
    let response: Response;
    try {
      response = await fetch(baseUrl + path + toQueryString(query), {
        method,
        headers: {
          ...(value === null ? {} : { 'x-admin-secret': toHeaderText(value) }),
          ...(body === undefined ? {} : { 'content-type': typeOf(body) }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
        credentials: 'same-origin',
        cache: 'no-store',
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, {
        code: 'SERVICE_UNREACHABLE',
        message: 'The service does not answer. It may be restarting, or the network is down.',
        retryable: true,
      });
    }
    if (response.ok) return response;
    const error = await toApiError(response);
    error.message = tell(error.message);
    if (error.code === 'UNAUTHORIZED') onUnauthorized();
    if (error.code === 'ROLE_NOT_ALLOWED') onRoleRefused();
    throw error;
  }

  async function ask<T>(method: Method, path: string, options?: SendOptions): Promise<T> {
    // eslint-disable-next-line no-restricted-syntax -- from the service that sent the console
    return (await (await send(method, path, options)).json()) as T;
  }
  /** With the tag of its version, for a change that must not undo another one. */
  async function getTagged<T>(path: string, signal?: AbortSignal): Promise<Tagged<T>> {
    const response = await send('GET', path, signal === undefined ? {} : { signal });
    // eslint-disable-next-line no-restricted-syntax -- from the service that sent the console
    return { value: (await response.json()) as T, tag: response.headers.get('etag') };
  }
  const get = <T>(path: string, query: Query = {}, signal?: AbortSignal) =>
    ask<T>('GET', path, { query, ...(signal === undefined ? {} : { signal }) });

  return {
    /** Who asks, and what they may do. */
    rights: () => get<AdminAccessRights>('/v1/admin/me/rights'),
    status: (signal?: AbortSignal) => get<AdminStatus>('/v1/admin/status', {}, signal),
    examineModels: () => ask<ExamAnswer['job']>('POST', '/v1/admin/model/exam', {}),
    freezes: (signal?: AbortSignal) =>
      get<{ items: AdminFreeze[] }>('/v1/admin/freezes', {}, signal),
    freeze: (body: FreezeRequest) => ask<AdminFreeze>('POST', '/v1/admin/freeze', { body }),
    thaw: (id: string) => ask<AdminFreeze>('DELETE', `/v1/admin/freezes/${encodeURIComponent(id)}`),
    users: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminUser>>('/v1/admin/users', query, signal),

    spaces: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminSpace>>('/v1/admin/spaces', query, signal),
    space: (spaceId: string, signal?: AbortSignal) =>
      getTagged<AdminSpace>(`/v1/admin/spaces/${encodeURIComponent(spaceId)}`, signal),
    makeSpace: (body: SpaceRequest) => ask<AdminSpace>('POST', '/v1/admin/spaces', { body }),
    archiveSpace: (spaceId: string, archived: boolean) =>
      ask<AdminSpace>('POST', `/v1/admin/spaces/${encodeURIComponent(spaceId)}/archive`, {
        body: { archived },
      }),

    keys: (signal?: AbortSignal) => get<{ items: AdminKey[] }>('/v1/admin/keys', {}, signal),
    makeKey: (body: KeyRequest) => ask<MadeKeyAnswer>('POST', '/v1/admin/keys', { body }),
    rotateKey: (id: string, overlapMinutes: number) =>
      ask<MadeKeyAnswer>('POST', `/v1/admin/keys/${encodeURIComponent(id)}/rotate`, {
        body: { overlapMinutes },
      }),
    revokeKey: (id: string) => ask<AdminKey>('DELETE', `/v1/admin/keys/${encodeURIComponent(id)}`),

    operators: (signal?: AbortSignal) => get<OperatorList>('/v1/admin/operators', {}, signal),
    makeOperator: (body: OperatorRequest) =>
      ask<MadeOperatorAnswer>('POST', '/v1/admin/operators', { body }),
    rotateOperator: (id: string, overlapMinutes: number) =>
      ask<MadeOperatorAnswer>('POST', `/v1/admin/operators/${encodeURIComponent(id)}/rotate`, {
        body: { overlapMinutes },
      }),
    revokeOperator: (id: string) =>
      ask<AdminOperator>('DELETE', `/v1/admin/operators/${encodeURIComponent(id)}`),

    files: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminFile>>('/v1/admin/files', query, signal),
    folder: (prefix: string, query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminFile | AdminFolder>>(
        '/v1/admin/files',
        { ...query, prefix, depth: 1 },
        signal,
      ),
    file: (path: string, query: Query = {}, signal?: AbortSignal) =>
      get<AdminFileAnswer>(`/v1/admin/files/${encodePath(path)}`, query, signal),
    /** With `ifVersion` 0 the file must not exist; `null` overwrites any version. */
    putFile: (
      path: string,
      content: string,
      { reason, ifVersion }: { reason?: string; ifVersion: number | null },
    ) =>
      ask<AdminPutAnswer>('PUT', `/v1/admin/files/${encodePath(path)}`, {
        body: { content, ...(reason === undefined || reason === '' ? {} : { reason }) },
        headers: preconditionOf(ifVersion),
      }),
    deleteFile: (path: string, ifVersion: number) =>
      ask<AdminDeleteAnswer>('DELETE', `/v1/admin/files/${encodePath(path)}`, {
        headers: preconditionOf(ifVersion),
      }),

    /** Files whose content has the words; see `GET /v1/admin/search`. */
    searchContents: (query: Query, signal?: AbortSignal) =>
      get<ContentSearchAnswer>('/v1/admin/search', query, signal),

    /** Files whose versions have a text: it is in the body, so that no address has it. */
    searchTexts: (body: TextSearchRequest, signal: AbortSignal) =>
      ask<TextSearchAnswer>('POST', '/v1/admin/search', { body, signal }),

    revisions: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminRevision>>('/v1/admin/revisions', query, signal),
    revision: (id: string, signal?: AbortSignal) =>
      get<AdminRevisionDetail>(`/v1/admin/revisions/${encodeURIComponent(id)}`, {}, signal),
    revert: (id: string, body: RevertRequest) =>
      ask<RevertAnswer>('POST', `/v1/admin/revisions/${encodeURIComponent(id)}/revert`, { body }),
    revertWrites: (body: RevertSelection) =>
      ask<RevertWritesAnswer>('POST', '/v1/admin/revert', { body }),
    diff: (query: Query, signal?: AbortSignal) =>
      get<ListAnswer<ChangedFile>>('/v1/admin/diff', query, signal),
    restore: (memory: Memory, body: RestoreRequest) => {
      const path =
        'shared' in memory ? 'shared' : `${kindOf(memory)}s/${encodeURIComponent(idOf(memory))}`;
      return ask<RestoreAnswer>('POST', `/v1/admin/${path}/restore`, { body });
    },
    redact: (id: string, body: RedactRequest) =>
      ask<RedactAnswer>('POST', `/v1/admin/revisions/${encodeURIComponent(id)}/redact`, { body }),
    /** One page of it; the text is in the body alone. */
    redactText: (body: RedactTextRequest) =>
      ask<RedactTextAnswer>('POST', '/v1/admin/redact', { body }),
    erase: (owner: Owner, body: EraseRequest) =>
      ask<EraseAnswer>(
        'POST',
        `/v1/admin/${kindOf(owner)}s/${encodeURIComponent(idOf(owner))}/erase`,
        { body },
      ),
    /** One page of it. */
    erasePrefix: (body: PrefixEraseRequest) =>
      ask<PrefixEraseAnswer>('POST', '/v1/admin/erase', { body }),
    prune: (body: PruneRequest) => ask<PruneAnswer>('POST', '/v1/admin/revisions/prune', { body }),

    accessLogs: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminAccess>>('/v1/admin/access-logs', query, signal),
    audit: (query: Query = {}, signal?: AbortSignal) =>
      get<ListAnswer<AdminAudit>>('/v1/admin/audit', query, signal),
    trace: (traceId: string, signal?: AbortSignal) =>
      get<AdminTrace>(`/v1/admin/observability/traces/${encodeURIComponent(traceId)}`, {}, signal),
    toolCall: (toolCallId: string, signal?: AbortSignal) =>
      get<AdminToolCallDetail>(
        `/v1/admin/observability/tool-calls/${encodeURIComponent(toolCallId)}`,
        {},
        signal,
      ),

    tools: (signal?: AbortSignal) =>
      get<{ tools: ToolDescription[] }>('/v1/admin/playground', {}, signal),
    runTool: (
      name: string,
      body: { context: { userId: string; spaces: readonly NamedSpace[] }; arguments: unknown },
    ) => ask<ToolAnswer>('POST', `/v1/admin/playground/${encodeURIComponent(name)}`, { body }),
    checkKey: (checkKey: string) =>
      ask<{ valid: boolean }>('POST', '/v1/admin/playground/memory_list', { body: { checkKey } }),

    /** The bytes of an export. `onProgress` gets how many have arrived. */
    async exportMemory(
      query: Query,
      { signal, onProgress }: { signal: AbortSignal; onProgress(bytes: number): void },
    ): Promise<Blob> {
      const response = await send('GET', '/v1/admin/export', { query, signal });
      const parts: Uint8Array<ArrayBuffer>[] = [];
      let bytes = 0;
      for await (const part of chunksOf(response)) {
        parts.push(part);
        onProgress((bytes += part.length));
      }
      return new Blob(parts, { type: response.headers.get('content-type') ?? '' });
    },
    /** Sends a file to the import. `onLines` gets the lines of the answer as they come. */
    async importMemory(
      query: Query,
      {
        file,
        signal,
        onLines,
      }: { file: File; signal: AbortSignal; onLines(lines: readonly ImportLine[]): void },
    ): Promise<ImportSummary> {
      const response = await send('POST', '/v1/admin/import', { query, body: file, signal });
      const decoder = new TextDecoder();
      let rest = '';
      let summary: ImportSummary | null = null;
      for await (const part of chunksOf(response)) {
        const texts = (rest + decoder.decode(part, { stream: true })).split('\n');
        rest = texts.pop() ?? '';
        const lines: ImportLine[] = [];
        for (const text of texts) {
          // eslint-disable-next-line no-restricted-syntax -- from the service that sent the console
          const line = JSON.parse(text) as
            ImportLine | { summary: ImportSummary } | { error: ErrorBody };
          if ('error' in line) throw new ApiError(200, line.error);
          if ('summary' in line) summary = line.summary;
          else lines.push(line);
        }
        onLines(lines);
      }
      if (summary === null) {
        throw new ApiError(0, {
          code: 'SERVICE_UNREACHABLE',
          retryable: true,
          message: 'The connection broke before the import had ended. It can be repeated.',
        });
      }
      return summary;
    },

    /** Any other route; the view names the type of the answer. */
    read: get,
    readTagged: getTagged,
    /** Changes a setting that was read as `tag`: 412 if somebody else has changed it since. */
    putTagged: <T>(path: string, body: unknown, tag: string | null) =>
      ask<T>('PUT', path, { body, headers: tag === null ? {} : { 'if-match': tag } }),
    change: <T>(method: 'PUT' | 'POST', path: string, body: unknown) =>
      ask<T>(method, path, { body }),
    /** Server-sent events, read with `fetch` because an EventSource cannot send the header. */
    async stream(
      path: string,
      query: Query,
      { signal, lastEventId }: { signal: AbortSignal; lastEventId: string | null },
    ): Promise<ReadableStream<Uint8Array>> {
      const response = await send('GET', path, {
        query,
        signal,
        headers: {
          accept: 'text/event-stream',
          ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
        },
      });
      if (response.body === null) throw new ApiError(0, { message: 'The stream has no body.' });
      return response.body;
    },
  };
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

interface SendOptions {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The body of an answer, as it arrives. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const reader = body?.getReader();
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return;
    yield part.value;
  }
}

/** The service finds out by the content what kind of file it gets. */
function typeOf(body: unknown): string {
  return body instanceof Blob ? 'application/octet-stream' : 'application/json';
}

function toQueryString(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** The service reads header bytes as UTF-8; `fetch` takes one character for each byte. */
function toHeaderText(value: string): string {
  return String.fromCharCode(...new TextEncoder().encode(value));
}

function preconditionOf(ifVersion: number | null): Record<string, string> {
  if (ifVersion === null) return {};
  return ifVersion === 0 ? { 'if-none-match': '*' } : { 'if-match': `"${ifVersion}"` };
}

function readRetryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? '');
  return seconds > 0 ? Math.ceil(seconds) : null;
}

async function toApiError(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    // eslint-disable-next-line no-restricted-syntax -- from the service that sent the console
    const { error } = (await response.json()) as { error: ErrorBody };
    const isTold = error.code === 'RATE_LIMITED' || error.code === 'MEMORY_HELD';
    const retryAfter = isTold ? readRetryAfter(response) : null;
    if (typeof error.code === 'string') return new ApiError(status, error, retryAfter);
  } catch {
    // A proxy's own page, or a truncated body: only the status is known.
  }
  return new ApiError(status, {
    message: `A proxy in front of the service answered ${status}.`,
    retryable: status >= 500,
  });
}
