import { invalidField, type MemoryError } from '../errors.ts';
import type { ScopeKey, SpaceRecord } from '../contracts/records.ts';
import { isUserId } from '../files/paths.ts';
import { MAX_SPACES, type NamedSpace } from '../schemas/tools.ts';

/**
 * Takes the spaces that a caller names for a call, and returns them by id. Throws `INVALID_REQUEST` for
 * more than 16, for one without an access, and for one that is named twice. `null` is no space.
 */
export function parseSpaces(value: unknown): readonly NamedSpace[] {
  if (value === undefined || value === null) return NONE;
  if (!Array.isArray(value)) throw invalid('', 'must be a list of { id, access }');
  if (value.length > MAX_SPACES) throw invalid('', `must have at most ${MAX_SPACES} spaces`);
  const spaces = value.map((one, at) => parseSpace(one, `/${at}`));
  const seen = new Set<string>();
  for (const [at, { id }] of spaces.entries()) {
    if (seen.has(id)) throw invalid(`/${at}/id`, 'names a space a second time');
    seen.add(id);
  }
  return spaces.sort((one, other) => (one.id < other.id ? -1 : 1));
}

const NONE: readonly NamedSpace[] = [];

function parseSpace(value: unknown, path: string): NamedSpace {
  const { id, access, ...others } = Object(value) as Record<string, unknown>;
  if (!isUserId(id)) throw invalid(`${path}/id`, 'must be a space id');
  if (access !== 'read' && access !== 'write') {
    throw invalid(`${path}/access`, 'must be read or write');
  }
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalid(`${path}/${unknown}`, 'is not known');
  return { id, access };
}

function invalid(path: string, message: string): MemoryError {
  return invalidField(`/context/spaces${path}`, message, 'context.spaces');
}

/**
 * Takes spaces as one line, as a header or an option has them: `acme:write, docs:read`. The access follows
 * the last colon, since ids may have colons. Throws `INVALID_REQUEST` as {@link parseSpaces} does.
 */
export function parseSpaceLine(line: string): readonly NamedSpace[] {
  if (line.trim() === '') return NONE;
  return parseSpaces(
    line.split(',').map((part) => {
      const text = part.trim();
      const colon = text.lastIndexOf(':');
      return colon < 0 ? { id: text } : { id: text.slice(0, colon), access: text.slice(colon + 1) };
    }),
  );
}

/** A space that nobody has said anything of. */
export function newSpace(scope: ScopeKey, createdAt: number): SpaceRecord {
  return {
    scope,
    name: null,
    description: null,
    metadata: {},
    dream: false,
    exclusivePaths: false,
    createdAt,
    updatedAt: null,
    version: 1,
  };
}
