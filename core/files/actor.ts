import { invalidField } from '../errors.ts';
import { INVISIBLE } from './paths.ts';
import { SERVICE_ACTORS } from './service-actors.ts';

const DEFAULT_ACTOR = 'agent';
const MAX_LENGTH = 64;
const DASH = /[\p{Dash_Punctuation}\u2043\u2212]/gu;

/**
 * Parses the actor that a caller names; `agent` if it names none. Throws `INVALID_REQUEST` for a
 * reserved one (in any case, in wide or styled letters, with any dash), one over 64 characters
 * (Unicode code points), or one with invisible characters or outer space.
 */
export function parseActor(value: string | undefined): string {
  if (value === undefined) return DEFAULT_ACTOR;
  const message = findNameFault(value) ?? findReserved(value);
  if (message === null) return value;
  throw invalidField('/context/actor', message, 'context.actor');
}

/** Like {@link parseActor}, for a plugin's actor, which may be reserved. */
export function parseHostActor(value: string): string {
  const message = findNameFault(value);
  if (message === null) return value;
  throw invalidField('/actor', message, 'actor');
}

/** What is wrong with a name that is shown beside rows; `null` for nothing. At most 64 characters. */
export function findNameFault(value: string): string | null {
  // Checked before splitting a huge name: a character has at most two UTF-16 units.
  const isBounded = typeof value === 'string' && value.length <= 2 * MAX_LENGTH;
  if (!isBounded || value === '' || [...value].length > MAX_LENGTH) {
    return `must have 1 to ${MAX_LENGTH} characters`;
  }
  if (!value.isWellFormed() || INVISIBLE.test(value) || value.trim() !== value) {
    return 'must have no invisible characters and no outer space';
  }
  return null;
}

function findReserved(value: string): string | null {
  if (SERVICE_ACTORS.has(value.normalize('NFKC').replace(DASH, '-').toLowerCase())) {
    return `must not be one of ${[...SERVICE_ACTORS].join(', ')}: those are the service's own`;
  }
  return null;
}
