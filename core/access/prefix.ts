import { invalidField } from '../errors.ts';
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

/** The start of the ids that a prefix of a request means. Throws `INVALID_REQUEST` for any other text. */
export function parseIdPrefix(value: string): string {
  if (isIdPrefix(value)) return value.slice(0, -1);
  const rule = 'must be the start of ids, ending in :*, .*, -* or _* after at least one character';
  throw invalidField('/prefix', rule, 'prefix');
}
