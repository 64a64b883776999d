import type { LocationQuery, RouteLocationRaw } from 'vue-router';
import type { AdminAccess } from '../../core/contracts/admin.ts';

/**
 * Where an access is told in full: in the trace of its tool call, which opens beside the view that
 * `query` is of; else in its dream run, or its revision. What has none of them leads to the other
 * accesses of its file.
 */
export function placeOfAccess(
  { toolCallId, runId, revisionId, path }: AdminAccess,
  query: LocationQuery,
): RouteLocationRaw {
  if (toolCallId !== null) return { query: { ...query, call: toolCallId } };
  if (runId !== null) return { name: 'dreams', query: { run: runId } };
  if (revisionId !== null) return { name: 'revisions', query: { id: revisionId } };
  return { name: 'activity', query: { path } };
}
