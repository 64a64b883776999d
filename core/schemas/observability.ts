import Type, { type Static } from 'typebox';
import { AdminAccess } from './access.ts';
import { rangeQuery } from './events.ts';
import { AdminRevision } from './revisions.ts';
import {
  count,
  filterText,
  flag,
  nextCursorSchema,
  nullable,
  ownerFields,
  pageQuery,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
  versionSchema,
} from './shapes.ts';

const rangeFields = { since: timeSchema, until: timeSchema };
const ms = Type.Number({ minimum: 0 });
const relativeError = Type.Number({
  description: 'Each percentile is within this share of the exact one.',
});
const callCounts = {
  calls: count(),
  failed: count(),
  refused: count(),
  reads: count(),
  writes: count(),
  finds: count(),
};

/** The figures at the top of the dashboard. */
export const ObservabilitySummary = strictObject({
  ...rangeFields,
  calls: count(),
  failed: count('5xx, and what models, embeddings and storage failed with.'),
  refused: count('4xx: input that was not accepted.'),
  errorRate: Type.Number({ minimum: 0, maximum: 1, description: 'failed / calls' }),
  latency: strictObject(
    { p50: nullable(ms), p95: nullable(ms), p99: nullable(ms), relativeError },
    { description: 'Milliseconds, of the calls that were not refused.' },
  ),
  activeScopes: count('Users with calls.'),
  reads: count('Calls of memory_read and memory_context.'),
  writes: count('Calls of the tools that write.'),
  finds: count('Calls of memory_find.'),
  readWriteRatio: nullable(Type.Number({ minimum: 0, description: 'null without writes.' })),
  sla: strictObject({
    state: Type.Enum(['ok', 'watch', 'breached']),
    reason: Type.String(),
    limits: strictObject({
      p95Ms: Type.Number(),
      errorRate: Type.Number(),
      slowCallMs: Type.Number({ description: 'A call that takes as long is listed as slow.' }),
      minCalls: Type.Number({ description: 'With fewer calls nothing is reported as breached.' }),
    }),
  }),
});
export type ObservabilitySummary = Static<typeof ObservabilitySummary>;
/** Whether the service keeps to its limits, and why not. */
export type SlaWatch = ObservabilitySummary['sla'];

/** A length of the buckets of a series. */
export const Bucket = Type.Enum(['1m', '5m', '1h', '1d']);
export type Bucket = Static<typeof Bucket>;

/** What a series takes. */
export const SeriesQuery = strictObject({
  ...rangeQuery,
  bucket: Type.Optional(Bucket),
  timeZone: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Days begin at midnight here, as in Europe/Berlin; default UTC.',
    }),
  ),
});
export type SeriesQuery = Static<typeof SeriesQuery>;

/** Tool calls over time. */
export const ActivitySeries = strictObject({
  ...rangeFields,
  bucket: Bucket,
  points: Type.Array(strictObject({ at: timeSchema, ...callCounts }), {
    description:
      'One for each bucket, also for those without calls. Calls that are none of reads, writes, finds, failed and refused are lists and calls of plugins’ tools.',
  }),
});
export type ActivitySeries = Static<typeof ActivitySeries>;
/** Tool calls of one bucket of time. */
export type ActivityPoint = ActivitySeries['points'][number];

/** How long calls took over time, a line for each tool. */
export const LatencySeries = strictObject({
  ...rangeFields,
  bucket: Bucket,
  relativeError,
  tools: Type.Array(
    strictObject({
      tool: nullable(text('null: unknown tools.')),
      points: Type.Array(
        strictObject({ at: timeSchema, calls: count(), p50: ms, p95: ms, p99: ms }),
        { description: 'Milliseconds, of buckets with calls that were not refused.' },
      ),
    }),
  ),
});
export type LatencySeries = Static<typeof LatencySeries>;

const countedQueryFields = {
  ...rangeQuery,
  complete: flag('Count all accesses of the range, however many: a million take some seconds.'),
};
/** What an answer takes that counts accesses. */
export const CountedQuery = strictObject(countedQueryFields);
export type CountedQuery = Static<typeof CountedQuery>;

const countedFields = {
  ...rangeFields,
  countedFrom: nullable(timeSchema, {
    description:
      'Accesses before this time were not counted: one answer looks at 4,000 rows, unless complete is asked for. null: all were.',
  }),
};

/** What the list of the most accessed files takes. */
export const TopFilesQuery = strictObject({
  ...countedQueryFields,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, description: 'Files; default 20.' }),
  ),
});
export type TopFilesQuery = Static<typeof TopFilesQuery>;

/** The files that were touched most. */
export const TopFiles = strictObject({
  ...countedFields,
  items: Type.Array(
    strictObject({
      path: physicalPathSchema,
      ...ownerFields,
      accesses: count(),
      reads: count(),
      writes: count(),
      finds: count('How often a search returned it.'),
      lastAt: timeSchema,
    }),
  ),
});
export type TopFiles = Static<typeof TopFiles>;
/** How often a file was touched. */
export type TopFile = TopFiles['items'][number];
/** From when on the accesses of a range were counted. */
export type CountedAccesses = Omit<TopFiles, 'items'>;

/** Who touches what, by which tool. */
export const Topology = strictObject({
  ...countedFields,
  nodes: Type.Array(
    strictObject({
      id: text('The kind and the name: tool:memory_read.'),
      kind: Type.Enum(['scope', 'actor', 'tool', 'file']),
      label: text('users/<userId>, spaces/<spaceId>, shared, or a name or physical path.'),
      weight: count(),
    }),
  ),
  edges: Type.Array(strictObject({ from: Type.String(), to: Type.String(), weight: count() }), {
    description: 'From scopes to actors, from actors to tools, from tools to files.',
  }),
  omitted: count('Nodes that were left out, the least used ones.'),
});
export type Topology = Static<typeof Topology>;
/** A part of the topology. */
export type TopologyNode = Topology['nodes'][number];

/** Which content, or which line of it, was shown. */
export const InfluenceQuery = strictObject({
  revisionId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The revision that made the content. Required without path.',
    }),
  ),
  path: filterText('The file, as a physical path, in place of revisionId.'),
  version: Type.Optional(
    Type.Integer({ minimum: 1, description: 'With path: its version; default the current one.' }),
  ),
  line: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'One line of that version: also where it stood in other versions, unchanged.',
    }),
  ),
  ...rangeQuery,
  ...pageQuery,
});
export type InfluenceQuery = Static<typeof InfluenceQuery>;

/** Who was shown the content of a revision, which is `null` when it is pruned, or one of its lines. */
export const Influence = strictObject({
  revision: nullable(AdminRevision),
  line: nullable(
    strictObject({
      path: physicalPathSchema,
      version: versionSchema,
      line: Type.Integer({ minimum: 1 }),
      text: text('The line, without its end.'),
      complete: Type.Boolean({
        description:
          'false: history is pruned, or longer than is followed, so more calls may have been shown the line.',
      }),
    }),
    { description: 'The line that was asked for; null without one.' },
  ),
  items: Type.Array(
    strictObject({
      ...AdminAccess.properties,
      line: nullable(Type.Integer({ minimum: 1 }), {
        description: 'Where the line stood in the version shown; null if no line was asked for.',
      }),
    }),
    {
      description:
        'Reads, contexts and finds that were given this content. Of a line, also those with lines: null, which may have shown it.',
    },
  ),
  nextCursor: nextCursorSchema,
});
export type Influence = Static<typeof Influence>;
/** One call that was shown it. */
export type InfluencedAccess = Influence['items'][number];

/** Whose memory to check. */
export const HygieneQuery = strictObject({
  ...rangeQuery,
  userId: filterText('Whose memory; or spaceId.'),
  spaceId: filterText('The memory of this space.'),
  tool: filterText('Files whose last write was a call of this tool.'),
});
export type HygieneQuery = Static<typeof HygieneQuery>;

/** What may be wrong with a memory. */
export const HygieneKind = Type.Enum([
  'stale_catalog',
  'missing_from_catalog',
  'broken_link',
  'duplicate_line',
  'similar_line',
  'contradiction',
  'oversized',
  'never_read',
  'secret',
  'personal',
  'forget_requested',
  'expired',
  'unreadable_end',
]);
export type HygieneKind = Static<typeof HygieneKind>;

/** The findings in the memory of one user or space. */
export const HygieneReport = strictObject({
  ...ownerFields,
  at: timeSchema,
  filesChecked: count(),
  files: count(),
  counts: Type.Record(Type.String(), count(), { description: 'Findings by kind.' }),
  severities: strictObject({ high: count(), medium: count(), low: count() }),
  findings: Type.Array(
    strictObject({
      kind: HygieneKind,
      severity: Type.Enum(['low', 'medium', 'high']),
      message: Type.String(),
      places: Type.Array(
        strictObject({
          path: physicalPathSchema,
          lines: Type.Array(Type.Integer({ minimum: 1 }), {
            description: 'From 1; empty for the whole file.',
          }),
        }),
      ),
      mend: text('How to fix it.'),
      request: Type.Optional(
        strictObject(
          {
            toolCallId: text('The call of memory_remember.'),
            revisions: Type.Array(
              strictObject({
                id: text('The revision that took the lines away.'),
                lines: Type.Array(Type.Integer({ minimum: 1 }), {
                  description: 'Their numbers in the version before.',
                }),
              }),
            ),
          },
          { description: 'Of forget_requested.' },
        ),
      ),
    }),
    { description: 'The most severe first, at most 500.' },
  ),
  omitted: count('Findings beyond those.'),
});
export type HygieneReport = Static<typeof HygieneReport>;
/** How many findings there are in the memory of a user or a space. */
export const UserHygiene = strictObject({
  ...ownerFields,
  filesChecked: count(),
  files: count(),
  counts: HygieneReport.properties.counts,
  severities: HygieneReport.properties.severities,
});
export type UserHygiene = Static<typeof UserHygiene>;

const { order: _order, ...pages } = pageQuery;

/** Whose memory to check, of all users or spaces. */
export const UserHygieneQuery = strictObject({
  q: filterText('Text that the id contains, without regard to ASCII case.'),
  ...pages,
});
export type UserHygieneQuery = Static<typeof UserHygieneQuery>;

/** One finding: where it is, and how to fix it. */
export type HygieneFinding = HygieneReport['findings'][number];
