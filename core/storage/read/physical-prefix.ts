import type { ScopeKey } from '../../contracts/records.ts';
import { SHARED, scopeKeyOf } from '../../files/paths.ts';

/** The scopes and paths that a physical prefix selects. */
export type PrefixRange =
  | { kind: 'all' }
  /** One scope, and what paths in it start with. */
  | { kind: 'scope'; scope: ScopeKey; pathPrefix: string }
  /** All users whose scope starts with this. */
  | { kind: 'users'; scopePrefix: string }
  | { kind: 'none' };

/** Splits a physical prefix. Takes any text, including text that no path starts with. */
export function toPrefixRange(prefix: string): PrefixRange {
  if (prefix === '') return { kind: 'all' };
  if ('shared/'.startsWith(prefix)) return { kind: 'scope', scope: SHARED, pathPrefix: '' };
  if ('users/'.startsWith(prefix)) return { kind: 'users', scopePrefix: scopeKeyOf('') };
  if (prefix.startsWith('shared/')) {
    return { kind: 'scope', scope: SHARED, pathPrefix: prefix.slice('shared/'.length) };
  }
  if (!prefix.startsWith('users/')) return { kind: 'none' };
  const rest = prefix.slice('users/'.length);
  const slash = rest.indexOf('/');
  return slash < 0
    ? { kind: 'users', scopePrefix: scopeKeyOf(rest) }
    : { kind: 'scope', scope: scopeKeyOf(rest.slice(0, slash)), pathPrefix: rest.slice(slash + 1) };
}

/** The range for a scope and a prefix together. */
export function toScopedRange(scope: ScopeKey | null, prefix: string): PrefixRange {
  const range = toPrefixRange(prefix);
  if (scope === null || range.kind === 'none') return range;
  if (range.kind === 'all') return { kind: 'scope', scope, pathPrefix: '' };
  const isInside =
    range.kind === 'scope'
      ? range.scope === scope
      : scope !== SHARED && scope.startsWith(range.scopePrefix);
  if (!isInside) return { kind: 'none' };
  return range.kind === 'scope' ? range : { kind: 'scope', scope, pathPrefix: '' };
}
