import type { IdSkew } from '../write/id-skew.ts';
import type { Filter } from './page.ts';
import { leastIdBeyond, leastIdSince } from '../write/id-skew.ts';

/** Narrows a walk by id to the ids that rows of a range of times can have, and the rows to it. */
export function withinTimes(
  alias: string,
  skew: IdSkew,
  { since, until }: { since?: number | null; until?: number | null },
): { walk: Filter; filters: Filter[] } {
  const filters: Filter[] = [];
  if (typeof since === 'number')
    filters.push((query) => void query.where(`${alias}.at`, '>=', since));
  if (typeof until === 'number')
    filters.push((query) => void query.where(`${alias}.at`, '<', until));
  return {
    walk: (query) => {
      if (typeof since === 'number') query.where(`${alias}.id`, '>=', leastIdSince(since, skew));
      if (typeof until === 'number') query.where(`${alias}.id`, '<', leastIdBeyond(until, skew));
    },
    filters,
  };
}
