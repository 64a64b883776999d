import Type, { type Static } from 'typebox';
import { count, nullable, strictObject, timeSchema } from './shapes.ts';

/**
 * Where a dream run is: `queued` → `running` → `awaiting_review` → `completed`, `failed` or
 * `canceled`.
 */
export const DreamState = Type.Enum([
  'queued',
  'running',
  'awaiting_review',
  'completed',
  'failed',
  'canceled',
]);
export type DreamState = Static<typeof DreamState>;

/** The outcome of a run that has ended. */
export const DreamOutcome = Type.Enum(['applied', 'no_op', 'partial', 'rejected', 'reverted']);
export type DreamOutcome = Static<typeof DreamOutcome>;

/** A run as lists show it. */
export const AdminDreamRun = strictObject({
  id: Type.String(),
  userId: Type.String(),
  origin: Type.Enum(['schedule', 'manual']),
  dryRun: Type.Boolean(),
  mode: Type.Enum(['auto', 'review']),
  state: DreamState,
  outcome: nullable(DreamOutcome),
  createdAt: timeSchema,
  startedAt: nullable(timeSchema),
  endedAt: nullable(timeSchema),
  filesRead: count(),
  filesTouched: count(),
  writes: count('With the entry of the log.'),
  operationsApplied: count(),
  operationsDropped: count(),
  inputTokens: count(),
  outputTokens: count(),
  model: nullable(Type.String()),
  promptVersion: nullable(Type.String()),
  error: nullable(strictObject({ code: Type.String(), message: Type.String() })),
});
export type AdminDreamRun = Static<typeof AdminDreamRun>;
