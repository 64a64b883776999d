import { isUserId } from '../files/paths.ts';

/** The characters of an id after which a prefix can end. */
const ENDS = /[:._-]$/;

/**
 * Whether a text is a prefix of ids, as in `acme:*`: the start of an id that ends in `:`, `.`, `-` or
 * `_` after at least one character, and `*`.
 */
export function isIdPrefix(text: string): boolean {
  const start = text.slice(0, -1);
  return text.endsWith('*') && start.length > 1 && ENDS.test(start) && isUserId(start);
}

/** Whether an id is one that a pattern means: the id itself, a prefix as in `acme:*`, or `*` for all. */
export function matchesId(pattern: string, id: string): boolean {
  return pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : pattern === id;
}
