import type { ScopeKey } from '../../contracts/records.ts';
import { type PrefixRange, toPrefixRange } from '../../files/paths.ts';

/** The range for a scope and a prefix together. */
export function toScopedRange(scope: ScopeKey | null, prefix: string): PrefixRange {
  const range = toPrefixRange(prefix);
  if (scope === null || range.kind === 'none') return range;
  if (range.kind === 'all') return { kind: 'scope', scope, pathPrefix: '' };
  const isInside =
    range.kind === 'scope' ? range.scope === scope : scope >= range.from && scope < range.to;
  if (!isInside) return { kind: 'none' };
  return range.kind === 'scope' ? range : { kind: 'scope', scope, pathPrefix: '' };
}
