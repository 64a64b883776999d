import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../core/contracts/route.ts';
import type { HostStores } from '../../core/contracts/stores.ts';
import { invalidField, MemoryError } from '../../core/errors.ts';
import type { AdminSpace } from '../../core/schemas/spaces.ts';
import { parseTimeOrNull } from '../../core/time/time.ts';
import { checkManages, isKeySpace } from '../../core/tools/run-space-call.ts';
import {
  getStore,
  inStore,
  keyOf,
  limitOf,
  parsePage,
  runCall,
  storeRoute,
  TAG_DESCRIPTION,
  toPage,
} from './route.ts';
import { createdQuery, listAnswer, open, pageQuery, Store } from './schemas.ts';
import { toAuditCaller, toStore, toStoreId } from './wire.ts';

const LIST = 'stores';

// Half of a surrogate pair is no text: a database would store another character.
const name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}\\p{Cs}]*$' });
const description = Type.String({ maxLength: 1024, pattern: '^[^\\0\\p{Cs}]*$' });
const value = Type.String({ maxLength: 512, pattern: '^[^\\0\\p{Cs}]*$' });
/** Of metadata. A record's schema takes any key that is not of its pattern. */
const KEY = /^[^\0\p{Cs}]{1,64}$/u;
const MOST_PAIRS = 16;

const CreateBody = open({
  name,
  description: Type.Optional(Type.Union([description, Type.Null()])),
  metadata: Type.Optional(Type.Union([Type.Record(Type.String(), value), Type.Null()])),
});

const UpdateBody = open({
  name: Type.Optional(Type.Union([name, Type.Null()])),
  description: Type.Optional(Type.Union([description, Type.Null()])),
  metadata: Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Union([value, Type.Null()])), Type.Null()]),
  ),
});

const ListQuery = open({
  ...pageQuery,
  ...createdQuery,
  include_archived: Type.Optional(Type.Boolean()),
});

/** The stores themselves. */
export function storeRoutes(stores: HostStores): RouteDefinition[] {
  return [...collectionRoutes(stores), ...oneStoreRoutes(stores)];
}

function collectionRoutes(stores: HostStores): RouteDefinition[] {
  return [
    storeRoute({
      tagDescription: TAG_DESCRIPTION,
      method: 'GET',
      path: '/v1/memory_stores',
      summary: 'List memory stores',
      description: 'The spaces that the key is for. Users’ memories are no stores.',
      querySchema: ListQuery,
      resultSchema: listAnswer(Store),
      handle: (request) =>
        runCall(stores, request, { tool: 'memory_list', space: null }, async () => {
          const query = request.query as Static<typeof ListQuery>;
          const { items, next } = await listStores(stores, query, (space) =>
            isKeySpace(keyOf(request), space.spaceId),
          );
          return { data: items.map(toStore), next_page: toPage(LIST, next) };
        }),
    }),
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores',
      summary: 'Create a memory store',
      description: 'Makes a space with exclusivePaths.',
      bodySchema: CreateBody,
      querySchema: open({}),
      resultSchema: Store,
      async handle(request) {
        const {
          name: title,
          description: words,
          metadata,
        } = request.body as Static<typeof CreateBody>;
        const id = stores.newSpaceId();
        const what = { tool: 'memory_write', space: { id, access: 'write' } } as const;
        return await runCall(stores, request, what, async (call) => {
          const settings = {
            name: title,
            description: words ?? '',
            metadata: checkMetadata(metadata ?? {}),
          };
          const caller = toAuditCaller(request.caller, request.apiKey);
          return toStore(await stores.create(id, settings, { caller, call }));
        });
      },
    }),
  ];
}

function oneStoreRoutes(stores: HostStores): RouteDefinition[] {
  return [
    storeRoute({
      method: 'GET',
      path: '/v1/memory_stores/:store',
      summary: 'Show a memory store',
      querySchema: open({}),
      resultSchema: Store,
      handle: (request) =>
        inStore(stores, request, 'memory_list', async ({ spaceId }) =>
          toStore(await getStore(stores, spaceId)),
        ),
    }),
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores/:store',
      summary: 'Change a memory store',
      description: 'What is left out stays as it is; a key of metadata that is null goes.',
      bodySchema: UpdateBody,
      querySchema: open({}),
      resultSchema: Store,
      handle: (request) =>
        inStore(stores, request, 'memory_write', async ({ spaceId }) => {
          const body = request.body as Static<typeof UpdateBody>;
          const caller = toAuditCaller(request.caller, request.apiKey);
          return toStore(await changeStore(stores, { spaceId, body, caller }));
        }),
    }),
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores/:store/archive',
      summary: 'Archive a memory store',
      description: 'It becomes read-only.',
      querySchema: open({}),
      resultSchema: Store,
      handle: (request) =>
        inStore(stores, request, 'memory_write', async ({ spaceId }) => {
          const space = await getStore(stores, spaceId);
          if (space.archivedAt !== null) return toStore(space);
          const caller = toAuditCaller(request.caller, request.apiKey);
          return toStore(await stores.archive(spaceId, caller));
        }),
    }),
    storeRoute({
      method: 'DELETE',
      path: '/v1/memory_stores/:store',
      summary: 'Delete a memory store',
      description: 'Erases the space. Needs a named key with manage: true.',
      querySchema: open({}),
      deadlineMs: null,
      resultSchema: open({ id: Type.String(), type: Type.Literal('memory_store_deleted') }),
      async handle(request) {
        checkManages(keyOf(request));
        return await inStore(stores, request, 'memory_write', async ({ spaceId }) => {
          await stores.erase(spaceId, toAuditCaller(request.caller, request.apiKey));
          return { id: toStoreId(spaceId), type: 'memory_store_deleted' };
        });
      },
    }),
  ];
}

async function listStores(
  stores: HostStores,
  query: Static<typeof ListQuery>,
  isAllowed: (space: AdminSpace) => boolean,
): Promise<{ items: AdminSpace[]; next: string | null }> {
  const since = parseTimeOrNull(query['created_at[gte]'], 'created_at[gte]');
  const until = parseTimeOrNull(query['created_at[lte]'], 'created_at[lte]');
  const limit = limitOf(query);
  const items: AdminSpace[] = [];
  for (let after = parsePage(query, LIST); ;) {
    const spaces = await stores.list({ after, limit: 100 });
    for (const space of spaces) {
      const createdAt = Date.parse(space.createdAt);
      const isWanted =
        (space.archivedAt === null || query.include_archived === true) &&
        (since === null || createdAt >= since) &&
        (until === null || createdAt <= until);
      if (!isWanted || !isAllowed(space)) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.spaceId ?? null };
      items.push(space);
    }
    const last = spaces.at(-1);
    if (last === undefined) return { items, next: null };
    after = last.spaceId;
  }
}

function checkMetadata(metadata: Record<string, string>): Record<string, string> {
  const keys = Object.keys(metadata);
  if (keys.length > MOST_PAIRS) {
    throw invalidField('/metadata', `has at most ${MOST_PAIRS} pairs`, 'metadata');
  }
  if (keys.every((key) => KEY.test(key))) return metadata;
  throw invalidField('/metadata', 'has keys of 1 to 64 characters', 'metadata');
}

/** The metadata of now with some changes, while nobody else changes it. */
async function changeStore(
  stores: HostStores,
  {
    spaceId,
    body,
    caller,
  }: {
    spaceId: string;
    body: Static<typeof UpdateBody>;
    caller: Parameters<HostStores['archive']>[1];
  },
): Promise<AdminSpace> {
  for (let attempt = 1; ; attempt += 1) {
    const space = await getStore(stores, spaceId);
    if (space.archivedAt !== null) {
      throw new MemoryError('READ_ONLY_SCOPE', 'The memory store is archived.');
    }
    const metadata = { ...space.metadata };
    for (const [field, value] of Object.entries(body.metadata ?? {})) {
      if (value === null) delete metadata[field];
      else metadata[field] = value;
    }
    const settings = {
      ...(typeof body.name === 'string' ? { name: body.name } : {}),
      ...(typeof body.description === 'string' ? { description: body.description } : {}),
      metadata: checkMetadata(metadata),
      ifVersion: space.version,
    };
    try {
      return await stores.change(spaceId, settings, caller);
    } catch (error) {
      const isRaced = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isRaced || attempt === 5) throw error;
    }
  }
}
