import type { LocationQuery, RouteLocationRaw } from 'vue-router';
import type { AdminAccess } from '../../core/contracts/admin.ts';

/**
 * The page with the details of an access: the trace of its tool call, which opens beside the view
 * of `query`; else its dream run, its revision, or the other accesses of its file.
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
