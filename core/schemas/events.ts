import Type, { type Static } from 'typebox';
import { AccessAction, AdminAccess } from './access.ts';
import { AdminRevision } from './revisions.ts';
import {
  filterText,
  flag,
  LineRange,
  nullable,
  ownerFields,
  pageQuery,
  physicalPathSchema,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
  versionSchema,
} from './shapes.ts';

/** The kinds of events and spans, with what each stands for. `tool`, `dream.run` and `check.run` are roots. */
export const SPAN_KINDS = {
  tool: 'The root of a tool call.',
  'db.read': 'Reading from the database; in a write, locking and reading what it is decided on.',
  'db.write': 'Applying a write and committing it.',
  'search.bm25': 'Full-text search.',
  'search.vector': 'Vector search.',
  'search.hybrid': 'Bringing the two together.',
  embedding: 'A call of the embedder.',
  llm: 'A call of the model.',
  'revision.write': 'Making up the revision of a write.',
  'access_log.write': 'Making up or queueing access rows.',
  'dream.run':
    'The root of a dream run, or of what was done with one: dream.apply, dream.revert, dream.recover.',
  'dream.check': 'Checking what the model proposed.',
  'check.run': 'The root of a run of the stored checks.',
} as const;

/** The kind of an event or span. */
export type SpanKind = keyof typeof SPAN_KINDS;

const statusSchema = Type.Enum(['ok', 'error']);

/** An observation event: the root of a call, or a span of it. */
export const AdminEvent = strictObject({
  id: Type.String(),
  traceId: Type.String(),
  spanId: Type.String(),
  parentSpanId: nullable(Type.String()),
  toolCallId: Type.String(),
  callerToolCallId: nullable(text('The framework’s own id of the call.')),
  kind: Type.Enum(Object.keys(SPAN_KINDS) as SpanKind[]),
  name: Type.String(),
  ...ownerFields,
  tool: nullable(Type.String()),
  actor: Type.String(),
  key: nullable(text('The name of the API key that the call came with.')),
  status: statusSchema,
  errorCode: nullable(Type.String()),
  startedAt: timeSchema,
  durationMs: Type.Number({ minimum: 0 }),
  attributes: Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
    {
      description:
        'Counts, sizes, versions, model names, and in reason why a provider failed: never content.',
    },
  ),
});
export type AdminEvent = Static<typeof AdminEvent>;

/** Counts, sizes, versions, model names and token counts: never content, queries or secrets. */
export type SpanAttributes = AdminEvent['attributes'];

/** A tool call with its spans, and the files that it touched. */
export const AdminToolCall = strictObject({
  traceId: Type.String(),
  toolCallId: Type.String(),
  root: AdminEvent,
  spans: Type.Array(AdminEvent),
  accesses: Type.Array(AdminAccess, { description: 'Files read, listed, found and written.' }),
  revisions: Type.Array(AdminRevision, { description: 'Revisions written.' }),
});
export type AdminToolCall = Static<typeof AdminToolCall>;

/** What an access of a tool call showed. */
export const ShownContent = strictObject({
  accessId: Type.String(),
  path: physicalPathSchema,
  action: AccessAction,
  revisionId: nullable(Type.String()),
  version: nullable(versionSchema),
  lines: nullable(
    Type.Array(
      strictObject({
        ...LineRange.properties,
        content: nullable(text('The lines as they were; null: pruned, redacted or too much.')),
      }),
    ),
    { description: 'null where the lines are unknown, as in older rows.' },
  ),
});
export type ShownContent = Static<typeof ShownContent>;

/** A tool call with the content that it was shown. */
export const AdminToolCallDetail = strictObject({
  ...AdminToolCall.properties,
  shown: Type.Array(ShownContent, {
    description: 'What it was shown, file by file; the contents of at most 2 MB.',
  }),
});
export type AdminToolCallDetail = Static<typeof AdminToolCallDetail>;

/** A trace: one tool call, or several of one caller's trace. */
export const AdminTrace = strictObject({
  traceId: Type.String(),
  calls: Type.Array(AdminToolCall),
});
export type AdminTrace = Static<typeof AdminTrace>;

/** An event with its spans where they are asked for. */
export const AdminListedEvent = strictObject({
  ...AdminEvent.properties,
  spans: Type.Optional(Type.Array(AdminEvent)),
});
export type AdminListedEvent = Static<typeof AdminListedEvent>;

/** What narrows every answer on many calls. */
export const rangeQuery = {
  ...sinceQuery,
  userId: filterText('Calls for this user.'),
  spaceId: filterText('Calls that used the memory of this space.'),
  tool: filterText('Calls of this tool.'),
};
/** What narrows every answer on many calls. */
export const RangeQuery = strictObject(rangeQuery);
export type RangeQuery = Static<typeof RangeQuery>;

/** What the values of the filters of events are counted with. */
export const EventValuesQuery = strictObject({
  ...rangeQuery,
  kind: Type.Optional(Type.Enum(['tool', 'dream.run', 'check.run'])),
  status: Type.Optional(statusSchema),
  actor: filterText('Who called.'),
  errorCode: filterText('Failed with this code.'),
});
export type EventValuesQuery = Static<typeof EventValuesQuery>;

/** What the list of events takes. */
export const EventListQuery = strictObject({
  ...EventValuesQuery.properties,
  spans: flag('Each with its spans; default false.'),
  ...pageQuery,
});
export type EventListQuery = Static<typeof EventListQuery>;

const reasonSchema = Type.Enum(['failed', 'refused', 'slow']);

/** A call that failed or was slow, and which of the two. */
export const AdminFailure = strictObject({
  ...AdminEvent.properties,
  reasons: Type.Array(reasonSchema),
});
export type AdminFailure = Static<typeof AdminFailure>;

/** What the list of failures takes. */
export const FailureListQuery = strictObject({
  ...rangeQuery,
  reason: Type.Optional(reasonSchema),
  ...pageQuery,
});
export type FailureListQuery = Static<typeof FailureListQuery>;
