import type { ApiKey } from '../contracts/access.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { SpaceCall, SpaceRequest } from '../contracts/stores.ts';
import type { FrozenWrite } from '../files/freeze.ts';
import { describeError } from '../describe-error.ts';
import { invalidField, MemoryError, toMemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import { allowedAccess, checkKeySpaces, checkKeyTool } from '../access/key-rules.ts';
import { hashText } from '../files/content.ts';
import { SHARED, toScope } from '../files/paths.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import type { Exporters } from '../telemetry/exporters.ts';
import type { KnownErasures } from '../files/known-erasures.ts';
import { parseTraceparent } from '../telemetry/trace-context.ts';
import { RootTrace } from '../telemetry/tracer.ts';

/** Who writes over the stores API, unless the key has an actor of its own. */
export const STORES_ACTOR = 'api';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** The tools that such calls are for. */
export const SPACE_TOOLS: readonly SpaceRequest['tool'][] = [
  'memory_list',
  'memory_read',
  'memory_write',
  'memory_move',
  'memory_delete',
];
const READ_ONLY: ReadonlySet<string> = new Set(['memory_list', 'memory_read']);

interface SpaceCallDependencies {
  ids: IdSource;
  queue: AccessQueue;
  exporters: Pick<Exporters, 'parentOf' | 'runWithin'>;
  log: Logger;
  countCall: (apiKey: ApiKey) => Promise<void> | undefined;
  checkWrites: (write: FrozenWrite) => void;
  knownErasures: Pick<KnownErasures, 'latest' | 'check'>;
  ready: () => Promise<void>;
  now: () => number;
}

/** Runs requests of spaces as tool calls that are for no user: see {@link HostStores.run}. */
export type SpaceCalls = <R>(
  request: SpaceRequest,
  work: (call: SpaceCall) => Promise<R>,
) => Promise<{
  result: R;
  traceId: string;
  toolCallId: string;
  durationMs: number;
  replayed?: true;
}>;

/** Creates the runner. What it throws is a `MemoryError` that names the trace and the call. */
export function createSpaceCalls(deps: SpaceCallDependencies): SpaceCalls {
  return async (request, work) => {
    const { tool, space, apiKey } = request;
    const toolCallId = deps.ids.next();
    const actor = apiKey?.actor ?? STORES_ACTOR;
    const trace = new RootTrace({
      ids: deps.ids,
      kind: 'tool',
      name: `execute_tool ${tool}`,
      scope: space === null ? SHARED : toScope({ spaceId: space.id }),
      userId: null,
      tool,
      actor,
      key: apiKey?.name ?? null,
      toolCallId,
      callerToolCallId: null,
      parent: deps.exporters.parentOf(parseTraceparent(request.traceparent)),
      traceId: null,
      startedAt: deps.now(),
      knownErasure: deps.knownErasures.latest(),
    });
    const { traceId } = trace;
    let replay: { toolCallId: string; traceId: string; replayed: true } | null = null;
    try {
      await admit(request, actor);
      const call: SpaceCall = {
        userId: null,
        spaces: space === null ? [] : [space],
        actor,
        tool,
        toolCallId,
        trace,
        apiKey,
        ...toIdempotency(request),
        onReplay(first) {
          replay = { toolCallId: first.toolCallId, traceId: first.traceId, replayed: true };
        },
      };
      const result = await deps.exporters.runWithin(trace.context(), () => work(call));
      const event = trace.finish(null, replay === null ? {} : { replayed: true });
      deps.queue.event(event);
      const { durationMs } = event;
      // A repeat has the ids of the first answer, since its revision carries those.
      return { result, traceId, toolCallId, durationMs, ...(replay as object | null) };
    } catch (thrown) {
      const error = toMemoryError(thrown);
      error.traceId = traceId;
      error.toolCallId = toolCallId;
      deps.queue.event(trace.finish(error));
      if (error.code === 'INTERNAL') {
        const described = describeError(error.cause ?? error);
        deps.log.error({ tool, traceId, error: described }, 'a tool failed unexpectedly');
      }
      throw error;
    }
  };

  async function admit({ tool, space, apiKey }: SpaceRequest, actor: string): Promise<void> {
    const readOnly = READ_ONLY.has(tool);
    checkKeyTool(apiKey, { name: tool, readOnly });
    if (space !== null) checkKeySpaces(apiKey, [space]);
    await deps.ready();
    const scopes = space === null ? [] : [toScope({ spaceId: space.id })];
    deps.knownErasures.check(scopes);
    if (apiKey !== undefined) await deps.countCall(apiKey);
    if (!readOnly) deps.checkWrites({ userId: null, actor, apiKey, scopes });
  }
}

/** The key belongs to the API key, or to that of the configuration. */
function toIdempotency({
  tool,
  apiKey,
  idempotencyKey,
  arguments: args,
}: SpaceRequest): Pick<SpaceCall, 'idempotency'> {
  if (idempotencyKey === undefined || READ_ONLY.has(tool)) return {};
  if (!IDEMPOTENCY_KEY.test(idempotencyKey)) {
    throw invalidField(
      '/idempotencyKey',
      'must have 1 to 255 printable ASCII characters and no space',
      'Idempotency-Key',
    );
  }
  return {
    idempotency: {
      keyHash: hashText(JSON.stringify(['stores', apiKey?.id ?? null, tool, idempotencyKey])),
      requestHash: hashText(JSON.stringify(args)),
    },
  };
}

/** Whether a key may list a space. */
export function isKeySpace(apiKey: ApiKey | undefined, spaceId: string): boolean {
  return allowedAccess(apiKey, spaceId) !== null;
}

/** Throws for a key that may not do what can't be undone. */
export function checkManages(apiKey: ApiKey | undefined): void {
  if (apiKey?.manage === true) return;
  throw new MemoryError(
    'TOOL_NOT_ALLOWED',
    'What cannot be undone needs a named key with manage: true.',
    { action: 'Ask an operator for a named key with manage: true; SERVICE_API_KEY never has it.' },
  );
}
