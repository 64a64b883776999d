import { MemoryError } from '../errors.ts';

/** Actors that the service itself names. */
const RESERVED = new Set(['admin', 'dream-agent', 'import', 'playground']);

const DEFAULT_ACTOR = 'agent';
const MAX_LENGTH = 64;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Takes the actor that a caller names, `agent` when it names none. Throws `INVALID_REQUEST` for a
 * reserved one (in any case or look-alike form), one over 64 characters, or one with invisible
 * characters or outer space.
 */
export function parseActor(value: string | undefined): string {
  if (value === undefined) return DEFAULT_ACTOR;
  const message = findFault(value);
  if (message === null) return value;
  throw new MemoryError('INVALID_REQUEST', `context.actor ${message}.`, {
    details: { issues: [{ path: '/context/actor', message }] },
  });
}

function findFault(value: string): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MAX_LENGTH) {
    return `must have 1 to ${MAX_LENGTH} characters`;
  }
  if (!value.isWellFormed() || INVISIBLE.test(value) || value.trim() !== value) {
    return 'must have no invisible characters and no outer space';
  }
  if (RESERVED.has(value.normalize('NFKC').toLowerCase())) {
    return `must not be one of ${[...RESERVED].join(', ')}: those are the service's own`;
  }
  return null;
}
