import Type, { type Static } from 'typebox';
import type { RevisionRecord } from '../../core/contracts/records.ts';
import type { RouteDefinition } from '../../core/contracts/route.ts';
import type { HostStores, SpaceCall } from '../../core/contracts/stores.ts';
import { hasMovedAway, lineageOf } from '../../core/files/lineage.ts';
import { operationOf } from '../../core/files/space-files.ts';
import { parseTimeOrNull } from '../../core/time/time.ts';
import { checkManages } from '../../core/tools/run-space-call.ts';
import { inStore, keyOf, limitOf, parsePage, requireId, storeRoute, toPage } from './route.ts';
import { createdQuery, listAnswer, open, pageQuery, Version, viewQuery } from './schemas.ts';
import { toAuditCaller, toAuthor, toVersion } from './wire.ts';

/** Rows that are read at once for a filter that the database does not know. */
const ROWS = 500;

const filter = Type.Optional(Type.String({ maxLength: 200 }));

const ListQuery = open({
  ...pageQuery,
  ...viewQuery,
  ...createdQuery,
  memory_id: filter,
  operation: Type.Optional(Type.Enum(['created', 'modified', 'deleted'])),
  api_key_id: filter,
  session_id: filter,
  service_account_id: filter,
});
const ViewQuery = open(viewQuery);

/** The versions of the memories of a store. */
export function versionRoutes(stores: HostStores): RouteDefinition[] {
  return [
    storeRoute({
      method: 'GET',
      path: '/v1/memory_stores/:store/memory_versions',
      summary: 'List the versions of a store',
      description: 'Newest first. A move is one modified version, at its new path.',
      querySchema: ListQuery,
      resultSchema: listAnswer(Version),
      handle: (request) =>
        inStore(stores, request, 'memory_read', async ({ spaceId, call }) => {
          const query = request.query as Static<typeof ListQuery>;
          const { limit: _limit, page: _page, view, ...filters } = query;
          const list = JSON.stringify([spaceId, filters]);
          const after = parsePage(query, list);
          const { items, next } = await listVersions(stores, { spaceId, query, after, call });
          const data = [];
          for (const revision of items) {
            const content = view === 'full' ? await stores.files.contentOf(revision, call) : null;
            data.push(await toVersion(stores, { spaceId, revision, content }));
          }
          return { data, next_page: toPage(list, next) };
        }),
    }),
    storeRoute({
      method: 'GET',
      path: '/v1/memory_stores/:store/memory_versions/:version',
      summary: 'Read a version of a memory',
      querySchema: ViewQuery,
      resultSchema: Version,
      handle: (request) =>
        inStore(stores, request, 'memory_read', async ({ spaceId, call }) => {
          const revision = await stores.files.version(
            spaceId,
            requireId('version', request.params['version']),
            call,
          );
          const { view } = request.query as Static<typeof ViewQuery>;
          const content = view === 'basic' ? null : await stores.files.contentOf(revision, call);
          return await toVersion(stores, { spaceId, revision, content });
        }),
    }),
    storeRoute({
      method: 'POST',
      path: '/v1/memory_stores/:store/memory_versions/:version/redact',
      summary: 'Redact a version of a memory',
      description:
        'Takes its content out of the history for good, also where other versions have the same. 409 while the memory has that content. Needs a named key with manage: true.',
      querySchema: open({}),
      deadlineMs: null,
      resultSchema: Version,
      async handle(request) {
        checkManages(keyOf(request));
        return await inStore(stores, request, 'memory_write', async ({ spaceId, call }) => {
          const id = requireId('version', request.params['version']);
          await stores.files.version(spaceId, id, call);
          await stores.redact(id, toAuditCaller(request.caller, request.apiKey));
          const revision = await stores.files.version(spaceId, id, call);
          return await toVersion(stores, { spaceId, revision, content: null });
        });
      },
    }),
  ];
}

/** A page is never empty before the end: clients stop there. */
async function listVersions(
  stores: HostStores,
  {
    spaceId,
    query,
    after: start,
    call,
  }: { spaceId: string; query: Static<typeof ListQuery>; after: string | null; call: SpaceCall },
): Promise<{ items: RevisionRecord[]; next: string | null }> {
  const until = parseTimeOrNull(query['created_at[lte]'], 'created_at[lte]');
  const range = {
    lineageId: query.memory_id === undefined ? null : requireId('memory', query.memory_id),
    since: parseTimeOrNull(query['created_at[gte]'], 'created_at[gte]'),
    // Included, unlike in our lists.
    until: until === null ? null : until + 1,
  };
  const limit = limitOf(query);
  const items: RevisionRecord[] = [];
  // One more than is shown tells that there are more; a filter may leave most of them out.
  const rows = isFiltered(query) ? ROWS : limit + 1;
  for (let after = start; ;) {
    const page = await stores.files.versions(spaceId, { ...range, after, limit: rows }, call);
    for (const revision of page.items) {
      if (!isWanted(revision, query)) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.id ?? null };
      items.push(revision);
    }
    if (page.next === null) return { items, next: null };
    after = page.next;
  }
}

/** Whether a filter is set that the database does not know. */
function isFiltered({
  operation,
  api_key_id: key,
  session_id: session,
  service_account_id: account,
}: Static<typeof ListQuery>): boolean {
  return [operation, key, session, account].some((one) => one !== undefined);
}

function isWanted(revision: RevisionRecord, query: Static<typeof ListQuery>): boolean {
  // The other half of a move, which is one version.
  if (hasMovedAway(lineageOf(revision))) return false;
  if (query.operation !== undefined && operationOf(revision) !== query.operation) return false;
  if (query.service_account_id !== undefined) return false;
  const author = toAuthor(revision);
  const isBy = (type: string, id: string | undefined, field: 'api_key_id' | 'session_id') =>
    id === undefined || (author?.type === type && (author as Record<string, string>)[field] === id);
  return (
    isBy('api_actor', query.api_key_id, 'api_key_id') &&
    isBy('session_actor', query.session_id, 'session_id')
  );
}
