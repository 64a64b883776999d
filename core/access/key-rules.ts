import type { ApiKey, SpaceAccess } from '../contracts/access.ts';
import { MemoryError } from '../errors.ts';
import { spaceNotAllowed } from '../files/paths.ts';
import { matchesId } from './prefix.ts';

/**
 * The most that a call with this key may ask for in a space: the entry with the space's id counts, or
 * else the longest prefix. `null` for nothing. Without a key, everything is allowed.
 */
export function allowedAccess(
  key: Pick<ApiKey, 'spaces'> | undefined,
  spaceId: string,
): SpaceAccess | null {
  if (key === undefined) return 'write';
  let best: { pattern: string; access: SpaceAccess } | null = null;
  for (const entry of key.spaces) {
    const { pattern, access } = splitSpaceEntry(entry);
    if (pattern === spaceId) return access;
    const isLonger = best === null || pattern.length > best.pattern.length;
    if (isLonger && matchesId(pattern, spaceId)) best = { pattern, access };
  }
  return best === null ? null : best.access;
}

/** `acme:write` and `acme:*:read` by their last colon. */
export function splitSpaceEntry(entry: string): { pattern: string; access: SpaceAccess } {
  const colon = entry.lastIndexOf(':');
  return { pattern: entry.slice(0, colon), access: entry.slice(colon + 1) as SpaceAccess };
}

/** Throws `USER_NOT_ALLOWED` for a user that a key is not for. */
export function checkKeyUser(key: Pick<ApiKey, 'users'> | undefined, userId: string): void {
  const users = key?.users ?? null;
  if (users === null || users.some((pattern) => matchesId(pattern, userId))) return;
  throw new MemoryError('USER_NOT_ALLOWED');
}

/** Throws `SPACE_NOT_ALLOWED` for a space, or an access in it, that a key is not for. */
export function checkKeySpaces(
  key: Pick<ApiKey, 'spaces'> | undefined,
  spaces: readonly { id: string; access: SpaceAccess }[],
): void {
  for (const { id, access } of spaces) {
    const allowed = allowedAccess(key, id);
    if (allowed === null || (access === 'write' && allowed === 'read')) throw spaceNotAllowed(id);
  }
}

/** Throws `TOOL_NOT_ALLOWED` for a tool that a key is not for. */
export function checkKeyTool(
  key: Pick<ApiKey, 'tools'> | undefined,
  tool: { name: string; readOnly: boolean },
): void {
  if (isKeyTool(key, tool)) return;
  throw new MemoryError('TOOL_NOT_ALLOWED');
}

/** Whether a key is for a tool: by its name, or by whether it reads or writes. */
export function isKeyTool(
  key: Pick<ApiKey, 'tools'> | undefined,
  { name, readOnly }: { name: string; readOnly: boolean },
): boolean {
  const tools = key?.tools ?? null;
  return tools === null || tools.includes(name) || tools.includes(readOnly ? 'read' : 'write');
}

/** The only user that a key is for; `null` for a key of several. */
export function onlyUserOf(key: Pick<ApiKey, 'users'> | undefined): string | null {
  const [user, ...others] = key?.users ?? [];
  return user === undefined || others.length > 0 || user.endsWith('*') ? null : user;
}
