import type { IdSkew } from '../write/id-skew.ts';
import type { Filter } from './page.ts';
import { leastIdBeyond, leastIdSince } from '../write/id-skew.ts';

/**
 * Limits a walk by id to a time range: the ids to those that such rows can have, and the rows to
 * the exact times.
 */
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
