import type { KeyRules } from '../contracts/access.ts';
import { invalidField } from '../errors.ts';
import { parseActor } from '../files/actor.ts';
import { isUserId } from '../files/paths.ts';
import type { KeyRequest } from '../schemas/keys.ts';
import { splitSpaceEntry } from './key-rules.ts';
import { isIdPrefix } from './prefix.ts';

const PATTERN_RULE = 'must be an id, a prefix that ends in :*, .*, -* or _*, or *';

/** What a new key may do. Throws `INVALID_REQUEST` for a rule that means nothing. */
export function parseKeyRules(
  request: Omit<KeyRequest, 'name' | 'expiresAt'>,
  toolNames: readonly string[],
): KeyRules {
  const users = request.users ?? null;
  users?.forEach((pattern, index) => {
    if (!isPattern(pattern)) throw invalidField(`/users/${index}`, PATTERN_RULE);
  });
  const spaces = request.spaces ?? [];
  spaces.forEach((entry, index) => {
    const { pattern, access } = splitSpaceEntry(entry);
    const place = `/spaces/${index}`;
    if (access !== 'read' && access !== 'write') {
      throw invalidField(place, 'must end in :read or :write');
    }
    if (!isPattern(pattern)) throw invalidField(place, PATTERN_RULE);
    if (spaces.slice(0, index).some((other) => splitSpaceEntry(other).pattern === pattern)) {
      throw invalidField(place, 'names a space that comes before');
    }
  });
  const tools = request.tools ?? null;
  const allowed = ['read', 'write', ...toolNames];
  tools?.forEach((tool, index) => {
    if (!allowed.includes(tool)) {
      throw invalidField(`/tools/${index}`, `must be one of ${allowed.join(', ')}`);
    }
  });
  for (const [name, list] of Object.entries({ users, tools })) {
    if (list?.length === 0)
      throw invalidField(`/${name}`, 'must not be empty: leave it out for all');
  }
  const { rateLimit = null, actor } = request;
  return {
    users,
    spaces,
    tools,
    rateLimit,
    actor: actor === null || actor === undefined ? null : parseActor(actor),
    manage: request.manage ?? false,
  };
}

function isPattern(text: string): boolean {
  return text === '*' || isUserId(text) || isIdPrefix(text);
}
