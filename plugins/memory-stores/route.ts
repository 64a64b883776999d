import type { ApiKey } from '../../core/contracts/access.ts';
import type { RouteDefinition, RouteRequest } from '../../core/contracts/route.ts';
import type { HostStores, SpaceCall, SpaceRequest } from '../../core/contracts/stores.ts';
import { invalidField, MemoryError } from '../../core/errors.ts';
import type { AdminSpace } from '../../core/schemas/spaces.ts';
import { parseForeignJson } from '../../core/encoding/foreign-json.ts';
import { ERROR_SCHEMA, toWireError } from './wire-error.ts';
import { parseStoreId, parseWireId } from './wire.ts';

/** Items of a page: by default, at most, and at most with contents. */
const PAGE = { default: 20, most: 100, mostFull: 20 } as const;

/** Where clients of the format look for the id of a request. */
const ID_HEADER = 'Request-Id';

/** A route in the format of the platforms, with its errors in that format. */
export function storeRoute(
  route: Omit<RouteDefinition, 'auth' | 'tag' | 'errorBody' | 'errorCodes'>,
): RouteDefinition {
  return {
    errorCodes: ['SPACE_NOT_ALLOWED', 'TOOL_NOT_ALLOWED', 'SPACE_NOT_FOUND', 'MEMORY_HELD'],
    ...route,
    auth: 'tools',
    tag: 'Memory stores',
    errorBody: { schema: ERROR_SCHEMA, write: toWireError, idHeader: ID_HEADER },
  };
}

/** The tag of the routes, once. */
export const TAG_DESCRIPTION =
  'Spaces in the wire format of hosted memory stores. On with SERVICE_MEMORY_STORES=true.';

/** What routes know of a request. */
export interface StoreQuery {
  limit?: number;
  page?: string;
  view?: 'basic' | 'full';
}

/** Runs a request in the store that it names; the answer is that of `work`. */
export async function inStore<R>(
  stores: HostStores,
  request: RouteRequest,
  tool: SpaceRequest['tool'],
  work: (place: { spaceId: string; call: SpaceCall }) => Promise<R>,
): Promise<R> {
  const spaceId = parseStoreId(request.params['store'] ?? '');
  if (spaceId === null) throw noSuchStore();
  const access = ['memory_list', 'memory_read'].includes(tool) ? 'read' : 'write';
  return await runCall(stores, request, { tool, space: { id: spaceId, access } }, async (call) => {
    // A key of all spaces would otherwise make one with its first write.
    await getStore(stores, spaceId);
    return await work({ spaceId, call });
  });
}

/** The space of a store. */
export async function getStore(stores: HostStores, spaceId: string): Promise<AdminSpace> {
  try {
    return await stores.get(spaceId);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'SPACE_NOT_FOUND') throw noSuchStore();
    throw error;
  }
}

/** Runs a request as a tool call. */
export async function runCall<R>(
  stores: HostStores,
  request: RouteRequest,
  what: Pick<SpaceRequest, 'tool' | 'space'>,
  work: (call: SpaceCall) => Promise<R>,
): Promise<R> {
  const asked = {
    ...what,
    apiKey: keyOf(request),
    idempotencyKey: request.header('idempotency-key') ?? undefined,
    arguments: [request.params, request.query, request.body],
    traceparent: request.header('traceparent') ?? undefined,
    arrivedAt: request.arrivedAt,
  };
  const answer = await stores.run(asked, work).catch((error: unknown) => {
    throw toBadRequest(error);
  });
  const { result, traceId, replayed } = answer;
  request.setHeader(ID_HEADER, traceId);
  if (replayed === true) request.setHeader('Idempotency-Replayed', 'true');
  return result;
}

/** The format has no 422: what a request may not ask for is 400 there. */
function toBadRequest(error: unknown): unknown {
  if (!(error instanceof MemoryError) || error.status !== 422) return error;
  const { code, message, details, traceId, toolCallId } = error;
  const options = { cause: error, status: 400, ...(details && { details }) };
  return Object.assign(new MemoryError(code, message, options), { traceId, toolCallId });
}

/** The named key of a request. */
export function keyOf({ apiKey }: RouteRequest): ApiKey | undefined {
  return apiKey ?? undefined;
}

function noSuchStore(): MemoryError {
  return new MemoryError('SPACE_NOT_FOUND', 'There is no such memory store.');
}

/** The id of a path or a filter. Throws as for one that is not known. */
export function requireId(kind: 'memory' | 'version', text: string | undefined): string {
  const id = parseWireId(kind, text ?? '');
  if (id !== null) return id;
  throw kind === 'memory'
    ? new MemoryError('FILE_NOT_FOUND', 'There is no such memory.')
    : new MemoryError('REVISION_NOT_FOUND', 'There is no such memory version.');
}

/** How many items a page has; a page of contents has fewer. */
export function limitOf({ limit = PAGE.default, view }: StoreQuery): number {
  return Math.min(limit, view === 'full' ? PAGE.mostFull : PAGE.most);
}

/** The place to go on after, of a page that {@link toPage} made for the same list. */
export function parsePage(query: StoreQuery, list: string): string | null {
  if (query.page === undefined) return null;
  const text = Buffer.from(query.page, 'base64url').toString();
  try {
    const limits = { chars: 8192, keys: 0, values: 10, depth: 1, containers: 1 };
    const [of, after] = parseForeignJson(text, limits) as unknown[];
    if (of === list && typeof after === 'string') return after;
  } catch {
    // Not one of ours.
  }
  throw invalidField('/page', 'is not the next_page of this list', 'page');
}

/** The `next_page` of a list; `null` at its end. */
export function toPage(list: string, after: string | null): string | null {
  if (after === null) return null;
  return Buffer.from(JSON.stringify([list, after])).toString('base64url');
}
