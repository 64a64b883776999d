import Type, { type Static } from 'typebox';
import type { RouteDefinition, RouteRequest } from '../../core/contracts/route.ts';
import type { HostStores, StoredFile } from '../../core/contracts/stores.ts';
import { invalidField, MemoryError } from '../../core/errors.ts';
import { inStore, limitOf, parsePage, requireId, storeRoute, toPage } from './route.ts';
import { listAnswer, Memory, MemoryPrefix, open, pageQuery, viewQuery } from './schemas.ts';
import { hashText } from '../../core/files/content.ts';
import { lineageOf } from '../../core/files/lineage.ts';
import { PATH_LIMITS } from '../../core/files/paths.ts';
import { toMemory, toWireId } from './wire.ts';

const LIST = 'memories';
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

const CreateBody = open({
  path: Type.String({ maxLength: 4096 }),
  content: Type.Union([Type.String(), Type.Null()]),
});

const UpdateBody = open({
  path: Type.Optional(Type.Union([Type.String({ maxLength: 4096 }), Type.Null()])),
  content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  precondition: Type.Optional(
    Type.Union([
      open({ type: Type.Literal('content_sha256'), content_sha256: sha256 }),
      Type.Null(),
    ]),
  ),
});

const ViewQuery = open(viewQuery);
const ListQuery = open({
  ...pageQuery,
  ...viewQuery,
  path_prefix: Type.Optional(Type.String({ maxLength: 4096 })),
  depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
});
const DeleteQuery = open({ expected_content_sha256: Type.Optional(sha256) });

/** The memories of a store. */
export function memoryRoutes(stores: HostStores): RouteDefinition[] {
  return [...readRoutes(stores), ...writeRoutes(stores)];
}

function readRoutes(stores: HostStores): RouteDefinition[] {
  const { files } = stores;
  return [
    storeRoute({
      method: 'GET',
      path: '/v1/memory_stores/:store/memories',
      summary: 'List the memories of a store',
      description: 'By path; with depth=1 what is deeper is rolled up into memory_prefix items.',
      querySchema: ListQuery,
      resultSchema: listAnswer(Type.Union([Memory, MemoryPrefix])),
      handle: (request) =>
        inStore(stores, request, 'memory_list', async ({ spaceId, call }) => {
          const query = request.query as Static<typeof ListQuery>;
          const { path_prefix: prefix = '/', depth = 0, view } = query;
          if (!prefix.startsWith('/') || !prefix.endsWith('/')) {
            throw invalidField('/path_prefix', 'must start and end with /', 'path_prefix');
          }
          const list = JSON.stringify([LIST, spaceId, prefix, depth]);
          const { items, next } = await files.list(
            spaceId,
            {
              prefix: prefix.slice(1),
              isFlat: depth === 1,
              hasContents: view === 'full',
              after: parsePage(query, list),
              limit: limitOf(query),
            },
            call,
          );
          const home = `spaces/${spaceId}`;
          return {
            data: items.map((item) =>
              'file' in item
                ? toMemory(spaceId, item.file, item.file.content)
                : { type: 'memory_prefix' as const, path: item.folder.path.slice(home.length) },
            ),
            next_page: toPage(list, next),
          };
        }),
    }),
    storeRoute({
      method: 'GET',
      path: '/v1/memory_stores/:store/memories/:memory',
      summary: 'Read a memory',
      querySchema: ViewQuery,
      resultSchema: Memory,
      handle: (request) =>
        inStore(stores, request, 'memory_read', async ({ spaceId, call }) => {
          const lineageId = requireId('memory', request.params['memory']);
          const file = await files.read({ spaceId, lineageId }, call);
          return toMemory(spaceId, file, viewOf(request) === 'basic' ? null : file.content);
        }),
    }),
  ];
}

function writeRoutes(stores: HostStores): RouteDefinition[] {
  const { files } = stores;
  return [
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores/:store/memories',
      summary: 'Create a memory',
      description: '409 where the path is taken, or is above or below that of another memory.',
      bodySchema: CreateBody,
      querySchema: ViewQuery,
      resultSchema: Memory,
      handle: (request) =>
        inStore(stores, request, 'memory_write', async ({ spaceId, call }) => {
          const body = request.body as Static<typeof CreateBody>;
          const content = body.content ?? '';
          const path = parsePath(body.path);
          return await withConflict(stores, spaceId, async () => {
            const stored = await files.create(spaceId, { path, content }, call);
            return await answer(stores, spaceId, stored, { view: viewOf(request), content }, call);
          });
        }),
    }),
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores/:store/memories/:memory',
      summary: 'Change a memory',
      description:
        'Its content, its path or both; with a precondition only while it has a content.',
      bodySchema: UpdateBody,
      querySchema: ViewQuery,
      resultSchema: Memory,
      handle(request) {
        const body = request.body as Static<typeof UpdateBody>;
        const [path, content] = [body.path ?? undefined, body.content ?? undefined];
        const tool = path !== undefined && content === undefined ? 'memory_move' : 'memory_write';
        return inStore(stores, request, tool, async ({ spaceId, call }) => {
          const change = {
            path: path === undefined ? undefined : parsePath(path),
            content,
            expectedHash: body.precondition?.content_sha256,
          };
          const lineageId = requireId('memory', request.params['memory']);
          return await withConflict(stores, spaceId, async () => {
            const stored = await files.update({ spaceId, lineageId }, change, call);
            return await answer(stores, spaceId, stored, { view: viewOf(request), content }, call);
          });
        });
      },
    }),
    storeRoute({
      method: 'DELETE',
      path: '/v1/memory_stores/:store/memories/:memory',
      summary: 'Delete a memory',
      description: 'With expected_content_sha256 only while it has that content.',
      querySchema: DeleteQuery,
      resultSchema: open({ id: Type.String(), type: Type.Literal('memory_deleted') }),
      handle: (request) =>
        inStore(stores, request, 'memory_delete', async ({ spaceId, call }) => {
          const query = request.query as Static<typeof DeleteQuery>;
          const lineageId = requireId('memory', request.params['memory']);
          const expectedHash = query.expected_content_sha256;
          await files.remove({ spaceId, lineageId }, { expectedHash }, call);
          return { id: toWireId('memory', lineageId), type: 'memory_deleted' as const };
        }),
    }),
  ];
}

/** The answer to a write, with the content where the full view is asked for. */
async function answer(
  { files }: Pick<HostStores, 'files'>,
  spaceId: string,
  stored: StoredFile,
  { view, content }: { view: 'basic' | 'full' | undefined; content: string | undefined },
  call: Parameters<HostStores['files']['read']>[1],
) {
  if (view !== 'full') return toMemory(spaceId, stored, null);
  // Screening may have masked a part of it.
  if (content !== undefined && hashText(content) === stored.hash) {
    return toMemory(spaceId, stored, content);
  }
  const file = await files.read({ spaceId, lineageId: lineageOf(stored) }, call);
  return toMemory(spaceId, file, file.content);
}

function viewOf(request: RouteRequest): 'basic' | 'full' | undefined {
  return (request.query as Static<typeof ViewQuery>).view;
}

/** The path inside the space. The rules of paths decide about the rest. */
function parsePath(path: string): string {
  if (!path.startsWith('/')) throw invalidField('/path', 'must start with /', 'path');
  if (Buffer.byteLength(path) > PATH_LIMITS.bytes) {
    throw invalidField('/path', `has at most ${PATH_LIMITS.bytes} bytes`, 'path');
  }
  return path.slice(1);
}

/** Names the memory that stands in the way. */
async function withConflict<R>(
  stores: HostStores,
  spaceId: string,
  work: () => Promise<R>,
): Promise<R> {
  try {
    return await work();
  } catch (error) {
    const path = error instanceof MemoryError ? error.details?.['conflictingPath'] : undefined;
    if (!(error instanceof MemoryError) || typeof path !== 'string') throw error;
    const storePath = path.slice(`spaces/${spaceId}`.length);
    const other = await stores.files.at(spaceId, storePath.slice(1));
    throw new MemoryError(error.code, error.message, {
      cause: error,
      details: {
        ...error.details,
        storePath,
        memoryId: other === null ? '' : toWireId('memory', lineageOf(other)),
      },
    });
  }
}
