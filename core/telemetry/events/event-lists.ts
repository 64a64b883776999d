import type {
  AdminFailure,
  AdminListedEvent,
  EventListQuery,
  EventValuesQuery,
  FailureListQuery,
  ListAnswer,
  RangeQuery,
  ValueCounts,
} from '../../contracts/admin.ts';
import type { EventRecord } from '../../contracts/records.ts';
import type { EventFilter, ObservationStore, PageResult } from '../../contracts/storage.ts';
import { countValues } from '../../lists/count-values.ts';
import { answerList } from '../../lists/page.ts';
import { toFilteredScope, toOwner } from '../../files/paths.ts';
import { parseTimeOrNull } from '../../time/time.ts';
import { toAdminEvents } from '../traces.ts';
import { outcomeOf, REFUSED_CODES } from './outcome.ts';

/** Lists events, newest first. */
export async function listEvents(
  store: ObservationStore,
  query: EventListQuery,
): Promise<ListAnswer<AdminListedEvent>> {
  const { spans, ...narrowed } = query;
  const filter = toListFilter(query);
  return await answerList(narrowed, {
    list: 'events',
    read: (page) => store.listEvents(filter, page),
    toItem: (event) => toListedEvent(event, spans === true),
  });
}

/** Counts the values that events can be filtered by. */
export async function countEventValues(
  store: ObservationStore,
  query: EventValuesQuery,
): Promise<ValueCounts> {
  return await countValues(query, {
    read: (narrowed, page) => store.listEvents(toListFilter(narrowed), page),
    timeOf: ({ startedAt }) => startedAt,
    fields: {
      userId: ({ scope, userId }) => userId ?? toOwner(scope).userId,
      spaceId: ({ scope }) => toOwner(scope).spaceId,
      tool: ({ tool }) => tool,
      actor: ({ actor }) => actor,
      kind: ({ kind }) => kind,
      status: ({ status }) => status,
      errorCode: ({ errorCode }) => errorCode,
    },
  });
}

function toListFilter(query: EventValuesQuery): EventFilter {
  return {
    ...toEventFilter(query),
    kind: query.kind ?? null,
    status: query.status ?? null,
    actor: query.actor ?? null,
    errorCodes: query.errorCode === undefined ? null : [query.errorCode],
  };
}

/** Lists calls that failed, were refused or were slow, newest first. */
export async function listFailures(
  store: ObservationStore,
  query: FailureListQuery,
  { slowCallMs }: { slowCallMs: number },
): Promise<ListAnswer<AdminFailure>> {
  const base: EventFilter = { ...toEventFilter(query), kind: 'tool' };
  const failed: EventFilter = { ...base, status: 'error', exceptErrorCodes: REFUSED_CODES };
  const refused: EventFilter = { ...base, status: 'error', errorCodes: REFUSED_CODES };
  const slow: EventFilter = { ...base, minDurationMs: slowCallMs };
  const wanted = { failed: [failed], refused: [refused], slow: [slow], any: [failed, slow] };
  const filters = wanted[query.reason ?? 'any'];
  return await answerList(query, {
    list: 'failures',
    async read(page) {
      const lists = await Promise.all(filters.map((filter) => store.listEvents(filter, page)));
      return mergeEvents(lists, page);
    },
    toItem: (event) => ({
      ...toAdminEvents(event).root,
      reasons: reasonsOf(event, slowCallMs),
    }),
  });
}

/** An event as lists and the stream show it. */
export function toListedEvent(event: EventRecord, isWithSpans: boolean): AdminListedEvent {
  const { root, spans } = toAdminEvents(event);
  return isWithSpans ? { ...root, spans } : root;
}

/** The filters that all lists of events share. */
export function toEventFilter(query: RangeQuery): EventFilter {
  return {
    scope: toFilteredScope(query),
    tool: query.tool ?? null,
    since: parseTimeOrNull(query.since, 'since'),
    until: parseTimeOrNull(query.until, 'until'),
  };
}

function reasonsOf(event: EventRecord, slowCallMs: number): AdminFailure['reasons'] {
  const outcome = outcomeOf(event);
  return [
    ...(outcome === 'ok' ? [] : [outcome]),
    ...(event.durationMs >= slowCallMs ? ['slow' as const] : []),
  ];
}

/** Merges lists with the same order, up to where the first one ends. */
function mergeEvents(
  lists: readonly PageResult<EventRecord>[],
  { limit, order }: { limit: number; order: 'asc' | 'desc' },
): PageResult<EventRecord> {
  const isBefore = (one: string, other: string) => (order === 'asc' ? one < other : one > other);
  const ends = lists.flatMap(({ next }) => (next === null ? [] : [String(next[0])]));
  const end = ends.reduce<string | null>(
    (nearest, each) => (nearest === null || isBefore(each, nearest) ? each : nearest),
    null,
  );
  const all = new Map(lists.flatMap(({ items }) => items.map((event) => [event.id, event])));
  const known = [...all.values()]
    .filter(({ id }) => end === null || !isBefore(end, id))
    .sort((one, other) => (isBefore(one.id, other.id) ? -1 : 1));
  const items = known.slice(0, limit);
  const last = items.at(-1);
  if (known.length > items.length && last !== undefined) return { items, next: [last.id] };
  return { items, next: end === null ? null : [end] };
}
