import Type, { type Static } from 'typebox';
import { AdminHold, DatabaseFileStatus } from './erase.ts';
import { AdminFreeze } from './freezes.ts';
import { Reindexing } from './jobs.ts';
import { UnfinishedRedaction } from './revisions.ts';
import { count, nullable, strictObject, text, timeSchema } from './shapes.ts';

/** The progress of the vectors of passages. */
export const EmbeddingProgress = strictObject({
  state: Type.Enum(['starting', 'embedding', 'paused', 'idle'], {
    description: 'paused: the embedder fails, and is not called for a moment.',
  }),
  dimensions: count(),
  filesWaiting: count('Files whose passages have not been checked yet.'),
  textsWaiting: count('Texts that wait for their vector.'),
  textsEmbedded: count('By the instance that answers, since its start.'),
  failures: count(),
  lastFailure: nullable(text('null once the embedder works again.')),
  lastFailureReason: nullable(
    text('The same in words, as in "the provider answered 401; check the API key".'),
  ),
});
export type EmbeddingProgress = Static<typeof EmbeddingProgress>;

/** What became of the spans of an exporter: each span is in one of these. */
export const SpanCounters = strictObject(
  {
    queued: count('Waiting, or being sent.'),
    exported: count(),
    dropped: count('Found the queue full, or were left at the end.'),
    failed: count('Refused, or never acknowledged.'),
  },
  { description: 'Since the start; null for an exporter that does not count.' },
);
export type SpanCounters = Static<typeof SpanCounters>;

/** A storage: versions and settings. */
export const StorageDescription = strictObject({
  name: Type.String(),
  driver: Type.String(),
  version: Type.String(),
  schemaVersion: count(),
  settings: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
});
export type StorageDescription = Static<typeof StorageDescription>;

/** `hint` says how to configure the part; `null` where it is configured. */
const toggle = { configured: Type.Boolean(), hint: nullable(Type.String()) };
const part = {
  configured: Type.Boolean(),
  name: nullable(Type.String()),
  hint: nullable(text('How to configure it.')),
  answers: nullable(
    Type.Boolean({
      description: 'Whether it answered the latest call; null before the first one.',
    }),
  ),
  problem: nullable(text('Why it does not answer, and what to do.')),
  at: nullable(timeSchema, { description: 'When that was.' }),
};

/** The size of the access log. Bytes are estimates, with the indexes. */
export const AccessLogSize = strictObject({
  days: count('How long rows are kept; 0: for ever. SERVICE_RETENTION_ACCESS_LOG_DAYS sets it.'),
  recommendedDays: count('What we recommend: a year, and a month to look back from its end.'),
  rows: count('Up to 4,000,000 are counted.'),
  bytes: count('What these rows take.'),
  bytesAMonth: count('What the last 30 days added: the cost of a month.'),
});
export type AccessLogSize = Static<typeof AccessLogSize>;

/** The status of the service. */
export const AdminStatus = strictObject({
  version: Type.String(),
  node: Type.String(),
  state: Type.String(),
  startedAt: timeSchema,
  uptimeMs: Type.Number({ minimum: 0 }),
  storage: StorageDescription,
  writes: strictObject({
    status: Type.Enum(['ok', 'failing'], {
      description: 'Whether the database takes writes, by the latest of them.',
    }),
    code: nullable(text('The code that they get while they fail.')),
  }),
  model: strictObject(part),
  verifier: strictObject(part, {
    description: 'The model that judges proposed edits, where it is another one.',
  }),
  modelExam: strictObject(
    {
      files: nullable(Type.Boolean({ description: 'Whether the model passed at filing facts.' })),
      judges: nullable(
        Type.Boolean({ description: 'Whether the verifier passed at judging edits.' }),
      ),
      text: nullable(text('What that means; null without a model.')),
    },
    { description: 'What the exam says; null: not examined.' },
  ),
  embedder: strictObject({ ...part, progress: nullable(EmbeddingProgress) }),
  exporters: strictObject({
    configured: Type.Boolean(),
    names: Type.Array(Type.String()),
    hint: nullable(Type.String()),
    items: Type.Array(
      strictObject({
        name: Type.String(),
        problem: nullable(text('Why it does not run.')),
        spans: nullable(SpanCounters),
      }),
    ),
  }),
  scheduler: strictObject(toggle),
  dreaming: strictObject({
    operationsWaiting: count('Operations of dream runs that wait for a person.'),
    tokensToday: count(
      'Tokens of the model that runs have used today (UTC): dream_max_tokens_per_day limits them.',
    ),
  }),
  holds: Type.Array(AdminHold, {
    description: 'Work of operators for which the writes of a user wait.',
  }),
  freezes: Type.Array(AdminFreeze, { description: 'Writes that operators have stopped.' }),
  redactions: Type.Array(UnfinishedRedaction, {
    description:
      'Redactions that began and have not ended: ask for them again. Their text is stored nowhere.',
  }),
  databaseFile: nullable(DatabaseFileStatus, {
    description: 'null where the database is not a file.',
  }),
  toolsApi: strictObject(toggle),
  tools: Type.Array(strictObject({ name: Type.String(), available: Type.Boolean() })),
  limits: strictObject({ maxFileBytes: count(), maxBodyBytes: count(), maxFilesPerUser: count() }),
  sharedWrites: Type.Boolean(),
  rateLimit: count(),
  index: strictObject({
    filesBehind: count('Files to be indexed again.'),
    reindex: nullable(Reindexing),
  }),
  accessLog: AccessLogSize,
  queues: strictObject({
    accessQueued: count(),
    eventsQueued: count(),
    eventsDropped: count('Since the start.'),
  }),
});
export type AdminStatus = Static<typeof AdminStatus>;
