import type { EventRecord } from '../../contracts/records.ts';
import { ERROR_CODES, type ErrorCode } from '../../errors.ts';

/**
 * How a call ended: `failed` is what the SLA counts as an error (5xx, and the codes of models,
 * embeddings and storage); `refused` is input that was not accepted (4xx).
 */
type Outcome = 'ok' | 'failed' | 'refused';

/** What a call of a built-in tool did with memory. */
type Activity = 'reads' | 'writes' | 'finds';

/** The codes of refused input. */
export const REFUSED_CODES: readonly string[] = Object.entries(ERROR_CODES)
  .filter(([, { status }]) => status < 500)
  .map(([code]) => code);

const ACTIVITIES: Readonly<Record<string, Activity>> = {
  memory_read: 'reads',
  memory_context: 'reads',
  memory_write: 'writes',
  memory_patch: 'writes',
  memory_remember: 'writes',
  memory_delete: 'writes',
  memory_move: 'writes',
  memory_find: 'finds',
};

/** How a call ended. An unknown code, for example of a later version, is a failure. */
export function outcomeOf({
  status,
  errorCode,
}: Pick<EventRecord, 'status' | 'errorCode'>): Outcome {
  if (status === 'ok') return 'ok';
  const entry = errorCode === null ? undefined : ERROR_CODES[errorCode as ErrorCode];
  return entry !== undefined && entry.status < 500 ? 'refused' : 'failed';
}

/** The activity that a tool's calls count as; `null` for lists and plugins' tools. */
export function activityOf(tool: string | null): Activity | null {
  return tool === null ? null : (ACTIVITIES[tool] ?? null);
}
