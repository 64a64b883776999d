import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminFailure,
  AdminListedEvent,
  EventListQuery,
  EventValuesQuery,
  FailureListQuery,
  RangeQuery,
} from '../../schemas/events.ts';
import {
  ActivitySeries,
  CountedQuery,
  HygieneQuery,
  HygieneReport,
  Influence,
  InfluenceQuery,
  LatencySeries,
  ObservabilitySummary,
  SeriesQuery,
  TopFiles,
  TopFilesQuery,
  Topology,
  UserHygiene,
  UserHygieneQuery,
} from '../../schemas/observability.ts';
import { homeOf, SHARED, toFilteredScope } from '../../files/paths.ts';
import { listOf } from '../../schemas/shapes.ts';
import { Usage, UsageQuery } from '../../schemas/usage.ts';
import { ValueCounts } from '../../schemas/value-counts.ts';
import { STREAM_HEADERS } from '../middleware/security-headers.ts';
import type { Core } from '../../service.ts';

/** The reads of the dashboard, and the observation events as a list and live. */
export function observabilityRoutes(
  core: Pick<Core, 'observability' | 'eventStreams' | 'access'>,
): RouteDefinition[] {
  return [...figureRoutes(core), ...hygieneRoutes(core), ...eventRoutes(core)];
}

function figureRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  return [
    adminRoute('Observability', {
      tagDescription: 'Tool calls with their traces, figures and metrics.',
      method: 'GET',
      path: '/v1/admin/observability/summary',
      role: 'viewer',
      summary: 'Read the summary of tool calls',
      description:
        'Without since, of the last 24 hours, from the beginning of an hour. A call counts at the time of its end.',
      querySchema: RangeQuery,
      resultSchema: ObservabilitySummary,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.summary(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/activity',
      role: 'viewer',
      summary: 'Read the activity over time',
      description:
        'Reads, writes, finds and errors by bucket. The bucket suits the range when it is left out; at most 2,000 points.',
      querySchema: SeriesQuery,
      resultSchema: ActivitySeries,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.activity(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/latency',
      role: 'viewer',
      summary: 'Read the latency over time',
      description: 'Percentiles by tool and bucket, from sketches that are merged.',
      querySchema: SeriesQuery,
      resultSchema: LatencySeries,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.latency(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/topology',
      role: 'viewer',
      summary: 'Read the topology of memory',
      description: 'Scopes, actors, tools and files, and how many accesses lie between them.',
      querySchema: CountedQuery,
      resultSchema: Topology,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.topology(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/top-files',
      role: 'viewer',
      summary: 'List the most accessed files',
      description:
        'By the accesses that went well, under the path that the file had then; without since, of the last 24 hours.',
      querySchema: TopFilesQuery,
      resultSchema: TopFiles,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.topFiles(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/usage',
      role: 'viewer',
      summary: 'Count who used memory, and the tokens that it took',
      description:
        'By user and space, API key, actor and model; without since, of the last 24 hours. It counts the newest 10,000 calls and as many writes, and says from when on.',
      querySchema: UsageQuery,
      resultSchema: Usage,
      deadlineMs: 60_000,
      handle: ({ query }) => core.observability.usage(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/failures',
      role: 'viewer',
      summary: 'List failed and slow calls',
      description:
        'Newest first. Slow is what took SERVICE_SLOW_CALL_MS or longer. Refused input is listed only with reason=refused.',
      querySchema: FailureListQuery,
      resultSchema: listOf(AdminFailure),
      errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => core.observability.failures(query),
    }),
  ];
}

function hygieneRoutes(core: Pick<Core, 'observability'>): RouteDefinition[] {
  return [
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/hygiene',
      role: 'contents',
      summary: 'Check the memory of a user or a space',
      description:
        'Stale catalog entries, broken links, lines that repeat or contradict each other, oversized files, files that nobody reads, and what looks like a secret; each with its place and how to fix it. It calls no model. since, until and tool select files by their last write: its time, and the tool that made it. It checks at most 2,000 files and 16 MB.',
      querySchema: HygieneQuery,
      resultSchema: HygieneReport,
      errorCodes: ['INVALID_USER_ID'],
      shows: (report) => [homeOf(toFilteredScope(report) ?? SHARED)],
      handle: ({ query }) => core.observability.hygiene(query),
    }),
    ...(['users', 'spaces'] as const).map((owners) =>
      adminRoute('Observability', {
        method: 'GET',
        path: `/v1/admin/observability/hygiene/${owners}`,
        role: 'viewer',
        summary: `Count the findings in the memory of each ${owners.slice(0, -1)}`,
        description:
          'By id, what the check of one finds, in numbers. A page ends after 16 MB of memory, so it may be short: only nextCursor null is the end.',
        querySchema: UserHygieneQuery,
        resultSchema: listOf(UserHygiene),
        errorCodes: ['INVALID_CURSOR'],
        handle: ({ query }) => core.observability.hygieneOf(owners, query),
      }),
    ),
  ];
}

function eventRoutes(
  core: Pick<Core, 'observability' | 'eventStreams' | 'access'>,
): RouteDefinition[] {
  const { known } = core.access;
  /** Whether a token is valid. Without the database nobody knows, and the stream ends, too. */
  const isToken = async (presented: string): Promise<boolean> => {
    try {
      return (await known.find('admin', presented)) !== null;
    } catch {
      return false;
    }
  };
  return [
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/events',
      role: 'viewer',
      summary: 'List observation events',
      description:
        'Tool calls and dream runs, newest first, by the time at which they ended. They hold no content.',
      querySchema: EventListQuery,
      resultSchema: listOf(AdminListedEvent),
      errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => core.observability.events(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/events/values',
      role: 'viewer',
      summary: 'Count the values that events can be filtered by',
      description:
        'How often each value is in the newest events, up to 5,000, with the filters of the list. No content.',
      querySchema: EventValuesQuery,
      resultSchema: ValueCounts,
      errorCodes: ['INVALID_USER_ID'],
      handle: ({ query }) => core.observability.eventValues(query),
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/events/stream',
      role: 'viewer',
      summary: 'Watch observation events',
      description:
        'Server-sent events, of all instances: id is the id of the event, data the event with its spans as JSON. With Last-Event-ID, or since, it starts with the events recorded from there on, also after a restart. A client that does not keep up is disconnected, and so is an operator whose token is revoked. Read it with fetch: the secret is a header.',
      querySchema: RangeQuery,
      resultSchema: null,
      contentType: 'text/event-stream; charset=utf-8',
      errorCodes: ['INVALID_USER_ID', 'RATE_LIMITED', 'SHUTTING_DOWN'],
      async handle(request) {
        for (const [name, value] of STREAM_HEADERS) request.setHeader(name, value);
        const presented = request.header('x-admin-secret') ?? '';
        // The secrets of the configuration are valid as long as the process.
        const isNamed = await isToken(presented);
        return core.eventStreams.open({
          ...request.query,
          lastEventId: request.header('last-event-id'),
          mayWatch: isNamed ? () => isToken(presented) : undefined,
        });
      },
    }),
    adminRoute('Observability', {
      method: 'GET',
      path: '/v1/admin/observability/influence',
      role: 'viewer',
      summary: 'List who read a content',
      description:
        'Tool calls that were shown the content of a revision, newest first; also for a pruned revision (revision is null then). With line, those that were shown this line, in whatever version: it is followed through edits above and below it, moves of the file and reverts. revisionId, or path with version, says which content is meant.',
      querySchema: InfluenceQuery,
      resultSchema: Influence,
      errorCodes: [
        'INVALID_USER_ID',
        'INVALID_PATH',
        'INVALID_CURSOR',
        'FILE_NOT_FOUND',
        'REVISION_NOT_FOUND',
      ],
      handle: ({ query }) => core.observability.influence(query),
    }),
  ];
}
