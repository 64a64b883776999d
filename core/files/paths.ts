import type { FileKey, ScopeKey } from '../contracts/records.ts';
import { invalidField, MemoryError } from '../errors.ts';

/** Limits of a path below its root, in bytes of UTF-8 and in segments. */
export const PATH_LIMITS = { bytes: 1024, segments: 20, segmentBytes: 255 } as const;

/** A user id checked by {@link parseUserId}. */
export type UserId = string & { readonly brand: 'UserId' };

const USER_ID_RULE =
  'A user id has 1 to 128 of A-Z a-z 0-9 . _ @ | : + = ~ -, the first a letter or digit.';
const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._@|:+=~-]{0,127}$/;
// Most paths are plain ASCII: they pass this linear test and skip the Unicode checks.
const PLAIN_SEGMENT = /^[A-Za-z0-9_-](?:[A-Za-z0-9_. -]*[A-Za-z0-9_-])?$/;
const FORBIDDEN = /[\\:*?"<>|%]/;
/**
 * Controls, line separators, bidi and other format characters, and whatever shows as nothing
 * (zero-width, fillers, variation selectors). Unassigned characters stay allowed, because which
 * characters are unassigned depends on the runtime's Unicode version.
 */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const EDGE_SPACE = /^\p{White_Space}|\p{White_Space}$/u;
/** What no segment ends with, so that a prefix which does is cut short there. */
const OPEN_END = /[./]$|\p{White_Space}$/u;

// Not at either end of a segment: a space; and no dot at the end, which rules out . and .. too.
const ANYWHERE = String.raw`[^/\\:*?"<>|%\x00-\x1f\x7f-\x9f]`;
const FIRST = ANYWHERE.replace('[^', '[^ ');
const LAST = ANYWHERE.replace('[^', '[^ .');
const SEGMENT = `(?:${LAST}|${FIRST}${ANYWHERE}{0,253}${LAST})`;

/**
 * The rules of this file as far as a pattern can tell, for descriptions of the API. The parsers decide:
 * they also look at bytes and at Unicode.
 */
export const PATH_PATTERNS = {
  'user-id': { type: 'string', pattern: USER_ID.source },
  'space-id': { type: 'string', pattern: USER_ID.source },
  'physical-path': {
    type: 'string',
    pattern: `^(?:shared|(?:users|spaces)/${USER_ID.source.slice(1, -1)})(?:/${SEGMENT}){1,20}$`,
  },
} as const;

/**
 * Accepts a user id unchanged, or throws `INVALID_USER_ID`: 1 to 128 of `A-Z a-z 0-9 . _ @ | : + = ~ -`,
 * the first a letter or digit. Case counts.
 */
export function parseUserId(value: unknown): UserId {
  if (isUserId(value)) return value;
  throw new MemoryError('INVALID_USER_ID', USER_ID_RULE);
}

/** Whether a value is the id of a user. */
export function isUserId(value: unknown): value is UserId {
  return typeof value === 'string' && USER_ID.test(value);
}

/** A space id checked by {@link parseSpaceId}. */
export type SpaceId = string & { readonly brand: 'SpaceId' };

/**
 * Returns a valid space id as it is. Throws `INVALID_REQUEST` for others, with the name of the request's field. The rules
 * are those of user ids.
 */
export function parseSpaceId(value: unknown, field = 'spaceId'): SpaceId {
  if (isUserId(value)) return value as string as SpaceId;
  throw invalidField(
    `/${field}`,
    `is not valid. ${USER_ID_RULE.replace('user', 'space').replace(/\.$/, '')}`,
    field,
  );
}

/** The scope of shared memory. */
export const SHARED = 's';
/** What the scopes of users and of spaces start with. By byte order, scopes have the order of their paths. */
const USER = 'u:';
const SPACE = 's:';

/** Whose memory a scope is: a user's, a space's, or (both `null`) shared memory. */
export interface Owner {
  userId: string | null;
  spaceId: string | null;
}

/** A user or a space, by its id. */
export type OwnerId = { userId: unknown } | { spaceId: unknown };

/** The scope of a user or a space. Throws `INVALID_USER_ID`, or `INVALID_REQUEST` for a space id. */
export function toScope(owner: OwnerId): ScopeKey {
  return 'userId' in owner
    ? `${USER}${parseUserId(owner.userId)}`
    : `${SPACE}${parseSpaceId(owner.spaceId)}`;
}

/** Whose memory a scope is. */
export function toOwner(scope: ScopeKey): Owner {
  if (scope.startsWith(USER)) return { userId: scope.slice(USER.length), spaceId: null };
  return { userId: null, spaceId: scope === SHARED ? null : scope.slice(SPACE.length) };
}

/** The user of a scope; `null` for that of a space or of shared memory. */
export function toUserId(scope: ScopeKey): string | null {
  return toOwner(scope).userId;
}

/** The id of the user or the space of a scope. Throws `INTERNAL` for shared memory. */
export function ownerOf(scope: ScopeKey): string {
  const { userId, spaceId } = toOwner(scope);
  const id = userId ?? spaceId;
  if (id === null) throw new MemoryError('INTERNAL', 'Shared memory has no owner.');
  return id;
}

/** What audits call a memory: a user by the id, a space and shared memory by their folder. */
export function labelOf(scope: ScopeKey): string {
  return toUserId(scope) ?? homeOf(scope);
}

/** The scope of the {@link labelOf} of a user or a space. No user id has a slash. */
export function fromLabel(label: string): ScopeKey {
  return label.startsWith(SPACES)
    ? toScope({ spaceId: label.slice(SPACES.length, -1) })
    : toScope({ userId: label });
}

/**
 * The scope that a request is limited to by `userId`, `spaceId` or `shared`; `null` where it names none of
 * them. Throws `INVALID_REQUEST` where it names two.
 */
export function toFilteredScope({
  userId,
  spaceId,
  shared = false,
}: {
  userId?: string | null | undefined;
  spaceId?: string | null | undefined;
  shared?: boolean | undefined;
}): ScopeKey | null {
  if (shared) {
    const named = userId ?? spaceId ?? null;
    if (named !== null) throw invalidField('/shared', 'must come alone', 'shared');
    return SHARED;
  }
  const hasSpace = spaceId !== undefined && spaceId !== null;
  if (userId === undefined || userId === null) return hasSpace ? toScope({ spaceId }) : null;
  if (hasSpace) throw invalidField('/spaceId', 'must not come with userId', 'spaceId');
  return toScope({ userId });
}

/** The scopes of all users, or of all spaces, whose ids start with a text: from `from`, before `to`. */
export function scopesFrom(
  owners: 'users' | 'spaces',
  idPrefix = '',
): { from: string; to: string } {
  const from = `${owners === 'users' ? USER : SPACE}${idPrefix}`;
  // No id has a character above ~, and a prefix that ends in one has few ids.
  return { from, to: `${from}\u007f` };
}

/** {@link ownerOf} as SQL, of a column with scopes of users or spaces. */
export function ownerSql(scope: string): string {
  return `substr(${scope}, 3)`;
}

/** {@link toPhysicalPath} as SQL, of the columns of a scope and of a path in it. */
export function physicalPathSql(scope: string, path: string): string {
  const below = `concat(${ownerSql(scope)}, '/', ${path})`;
  return (
    `(case substr(${scope}, 1, 2) when '${USER}' then concat('${USERS}', ${below})` +
    ` when '${SPACE}' then concat('${SPACES}', ${below}) else concat('shared/', ${path}) end)`
  );
}

/** What a caller may use: its user's memory, shared memory, and the spaces that it names. */
export interface Reach {
  userId: string;
  /** Absent: none. */
  spaces?: readonly { id: string; access: 'read' | 'write' }[] | undefined;
}

/** The scopes that a caller may read: the user's own, those of its spaces, and shared memory. */
export function toScopes({ userId, spaces = [] }: Reach): ScopeKey[] {
  return [toScope({ userId }), ...spaces.map(({ id }) => toScope({ spaceId: id })), SHARED];
}

/**
 * Takes a tool's path (`user/<path>`, `spaces/<spaceId>/<path>`, `shared/<path>`; with exactly one
 * space also `space/<path>`). Throws `INVALID_PATH`, or `SPACE_NOT_ALLOWED` for a space that the caller
 * does not name. Nothing is decoded, normalised or repaired.
 */
export function parseVirtualPath(value: unknown, reach: Reach): FileKey {
  const text = asText(value);
  if (isUserPath(text)) {
    return { scope: toScope({ userId: reach.userId }), path: checkPath(belowUser(text)) };
  }
  if (text.startsWith('shared/')) return { scope: SHARED, path: checkPath(text.slice(7)) };
  if (text.startsWith(ONE_SPACE)) {
    return { scope: onlySpace(reach), path: checkPath(text.slice(ONE_SPACE.length)) };
  }
  const inSpace = splitSpace(text);
  if (inSpace !== null) {
    return { scope: namedSpace(inSpace.id, reach), path: checkPath(inSpace.path) };
  }
  throw invalidPath('A path starts with user/, spaces/<spaceId>/ or shared/.');
}

const SPACES = 'spaces/';
const ONE_SPACE = 'space/';

/** The space of a path, virtual or physical, and the path in it; `null` for another path. */
function splitSpace(text: string): { id: SpaceId; path: string } | null {
  if (!text.startsWith(SPACES)) return null;
  const slash = text.indexOf('/', SPACES.length);
  if (slash < 0) return null;
  const id = checkSpace(text.slice(SPACES.length, slash));
  return { id, path: text.slice(slash + 1) };
}

function namedSpace(id: SpaceId, { spaces = [] }: Reach): ScopeKey {
  if (!spaces.some((space) => space.id === id)) throw spaceNotAllowed(id);
  return toScope({ spaceId: id });
}

/** The same error whether or not there is such a space. */
export function spaceNotAllowed(spaceId: string): MemoryError {
  return new MemoryError('SPACE_NOT_ALLOWED', `This call may not use the space ${spaceId}.`, {
    details: { spaceId },
  });
}

function onlySpace({ spaces = [] }: Reach): ScopeKey {
  const [only, ...others] = spaces;
  if (only !== undefined && others.length === 0) return toScope({ spaceId: only.id });
  throw invalidPath('A path starts with space/ only where the call names exactly one space.');
}

/** Whether a path starts at a root, as `user/…` does, and is not relative to a folder. */
export function hasRoot(path: string): boolean {
  return isUserPath(path) || path.startsWith('shared/') || /^spaces\/[^/]+\//.test(path);
}

/**
 * Whether a text has the form of a virtual path, of any user or space. It does not say whether a caller
 * may use it.
 */
export function isVirtualPath(text: string): boolean {
  if (!hasRoot(text)) return false;
  try {
    const { id } = splitSpace(text) ?? { id: null };
    parseVirtualPath(text, {
      userId: 'anyone',
      ...(id === null ? {} : { spaces: [{ id, access: 'read' }] }),
    });
    return true;
  } catch {
    return false;
  }
}

/** Whether a virtual path is in memory that a caller may use, as far as its root says. */
export function isInReach(path: string, { spaces = [] }: Reach): boolean {
  if (!path.startsWith(SPACES)) return true;
  return spaces.some(({ id }) => path.startsWith(`${SPACES}${id}/`));
}

/** The root of a virtual path: `user`, `shared` or `spaces/<spaceId>`. */
export function rootOf(path: string): string {
  const parts = path.split('/', 2);
  return path.startsWith(SPACES) ? parts.join('/') : (parts[0] ?? '');
}

/** Takes an admin's path (`users/<userId>/<path>`, `spaces/<spaceId>/<path>`, `shared/<path>`) or throws `INVALID_PATH`. */
export function parsePhysicalPath(value: unknown): FileKey {
  const text = asText(value);
  if (text.startsWith('shared/')) return { scope: SHARED, path: checkPath(text.slice(7)) };
  const inSpace = splitSpace(text);
  if (inSpace !== null) {
    return { scope: toScope({ spaceId: inSpace.id }), path: checkPath(inSpace.path) };
  }
  if (text.startsWith(USERS)) {
    const slash = text.indexOf('/', USERS.length);
    if (slash > 0) {
      const scope = toScope({ userId: checkOwner(text.slice(USERS.length, slash)) });
      return { scope, path: checkPath(text.slice(slash + 1)) };
    }
  }
  throw invalidPath('A physical path starts with users/<userId>/, spaces/<spaceId>/ or shared/.');
}

const USERS = 'users/';

/** The filter of a list: the scopes that can match, each with a path prefix. */
export interface PathPrefix {
  scope: ScopeKey;
  prefix: string;
}

/**
 * Takes the start of a virtual path: nothing for all roots, `user/`, `user/pro`, `shared/x/`,
 * `spaces/` for all spaces of the call, `spaces/acme/pro`. A prefix is text: `user/pro` matches
 * `user/profile.md` and `user/projects/a.md`, and `spaces/ac` the spaces whose ids start with `ac`.
 * Throws `INVALID_PATH` if no path can start like this, and for a dot segment at the end, and
 * `SPACE_NOT_ALLOWED` where the caller names no such space.
 */
export function parseVirtualPrefix(value: unknown, reach: Reach): PathPrefix[] {
  const text = value === undefined || value === null ? '' : asText(value);
  if (text === '') return toScopes(reach).map((scope) => ({ scope, prefix: '' }));
  if (text === 'user' || isUserPath(text)) {
    return [{ scope: toScope({ userId: reach.userId }), prefix: checkPrefix(belowUser(text)) }];
  }
  if (text === 'shared' || text.startsWith('shared/')) {
    return [{ scope: SHARED, prefix: checkPrefix(text.slice(7)) }];
  }
  if (text === 'space' || text.startsWith(ONE_SPACE)) {
    return [{ scope: onlySpace(reach), prefix: checkPrefix(text.slice(ONE_SPACE.length)) }];
  }
  if (text === 'spaces' || text.startsWith(SPACES)) {
    const inSpace = splitSpace(text);
    if (inSpace === null) return listSpaces(text.slice(SPACES.length), reach);
    return [{ scope: namedSpace(inSpace.id, reach), prefix: checkPrefix(inSpace.path) }];
  }
  throw invalidPath('A prefix starts with user/, spaces/ or shared/.');
}

/** The spaces of a call whose ids start with a text. */
function listSpaces(idPrefix: string, { spaces = [] }: Reach): PathPrefix[] {
  if (idPrefix !== '') checkSpace(idPrefix);
  const named = spaces.filter(({ id }) => id.startsWith(idPrefix));
  if (named.length === 0) throw spaceNotAllowed(idPrefix);
  return named.map(({ id }) => ({ scope: toScope({ spaceId: id }), prefix: '' }));
}

/**
 * Takes the start of a physical path: any text that a physical path can start with (`use`,
 * `users/al`, `users/alice/pro`, `spaces/acme/`). Throws `INVALID_PATH` if no path can start like this,
 * and for a dot segment at the end.
 */
export function parsePhysicalPrefix(value: unknown): string {
  const text = asText(value);
  if (['shared/', SPACES, USERS].some((root) => root.startsWith(text))) return text;
  if (text.startsWith('shared/')) {
    checkPrefix(text.slice(7));
    return text;
  }
  for (const [root, check] of [
    [USERS, checkOwner],
    [SPACES, checkSpace],
  ] as const) {
    if (!text.startsWith(root)) continue;
    const slash = text.indexOf('/', root.length);
    check(slash < 0 ? text.slice(root.length) : text.slice(root.length, slash));
    if (slash > 0) checkPrefix(text.slice(slash + 1));
    return text;
  }
  throw invalidPath('A physical prefix starts with users/, spaces/ or shared/.');
}

/** The scopes and paths that a physical prefix selects. */
export type PrefixRange =
  | { kind: 'all' }
  /** One scope, and what paths in it start with. */
  | { kind: 'scope'; scope: ScopeKey; pathPrefix: string }
  /** The scopes from a text on, and before another: users, spaces, or all of shared memory and spaces. */
  | { kind: 'scopes'; from: string; to: string }
  | { kind: 'none' };

/** Splits a physical prefix. Takes any text, including text that no path starts with. */
export function toPrefixRange(prefix: string): PrefixRange {
  if (prefix === '') return { kind: 'all' };
  // `shared/` and `spaces/` start alike.
  if (prefix === 's') return { kind: 'scopes', from: SHARED, to: scopesFrom('spaces').to };
  if ('shared/'.startsWith(prefix)) return { kind: 'scope', scope: SHARED, pathPrefix: '' };
  if (prefix.startsWith('shared/')) {
    return { kind: 'scope', scope: SHARED, pathPrefix: prefix.slice('shared/'.length) };
  }
  for (const [root, owners, start] of [
    [USERS, 'users', USER],
    [SPACES, 'spaces', SPACE],
  ] as const) {
    if (root.startsWith(prefix)) return { kind: 'scopes', ...scopesFrom(owners) };
    if (!prefix.startsWith(root)) continue;
    const rest = prefix.slice(root.length);
    const slash = rest.indexOf('/');
    if (slash < 0) return { kind: 'scopes', ...scopesFrom(owners, rest) };
    const scope = `${start}${rest.slice(0, slash)}` as ScopeKey;
    return { kind: 'scope', scope, pathPrefix: rest.slice(slash + 1) };
  }
  return { kind: 'none' };
}

/** `users/<userId>/<path>`, `spaces/<spaceId>/<path>` or `shared/<path>`, as the admin sees it. */
export function toPhysicalPath({ scope, path }: FileKey): string {
  return `${homeOf(scope)}${path}`;
}

/** `users/<userId>/` of a user id that nobody has checked yet. */
export function userFolder(userId: string): string {
  return `${USERS}${userId}/`;
}

/** What all physical paths of a scope start with: `users/<userId>/`, `spaces/<spaceId>/`, `shared/`. */
export function homeOf(scope: ScopeKey): string {
  const { userId } = toOwner(scope);
  return userId === null ? sharedHomeOf(scope) : userFolder(userId);
}

/** `user/<path>`, `spaces/<spaceId>/<path>` or `shared/<path>`, as the tools see it. */
export function toVirtualPath({ scope, path }: FileKey): string {
  return `${virtualHomeOf(scope)}${path}`;
}

/** What all virtual paths of a scope start with: `user/`, `spaces/<spaceId>/`, `shared/`. */
export function virtualHomeOf(scope: ScopeKey): string {
  return scope.startsWith(USER) ? 'user/' : sharedHomeOf(scope);
}

/** The root of memory that several have in common: it is named alike for tools and for the admin. */
function sharedHomeOf(scope: ScopeKey): string {
  return scope === SHARED ? 'shared/' : `${SPACES}${scope.slice(SPACE.length)}/`;
}

/** Whether a virtual path is one of the user's own memory. */
export function isUserPath(path: string): boolean {
  return path.startsWith('user/');
}

/** The virtual path of a file of the user's own memory, by its path in there. */
export function toUserPath(path: string): string {
  return `user/${path}`;
}

/** The path within the user's own memory, of a virtual path that {@link isUserPath}. */
export function belowUser(path: string): string {
  return path.slice('user/'.length);
}

/**
 * The last check before the database, also for untyped callers. Throws `INVALID_USER_ID` or
 * `INVALID_PATH` unless the parsers would accept scope and path.
 */
export function assertFileKey({ scope, path }: FileKey): void {
  assertScope(scope);
  checkPath(asText(path));
}

/** Throws `INVALID_USER_ID` unless the scope is that of shared memory, of a user or of a space. */
export function assertScope(scope: ScopeKey): void {
  if (scope === SHARED) return;
  if (typeof scope === 'string' && (scope.startsWith(USER) || scope.startsWith(SPACE))) {
    parseUserId(scope.slice(2));
    return;
  }
  throw new MemoryError('INVALID_USER_ID');
}

/** The error for a path without a file; `path` is in the caller's form. */
export function fileNotFound(path: string): MemoryError {
  return new MemoryError('FILE_NOT_FOUND', `${path} does not exist.`, { details: { path } });
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalidPath('A path is text.');
}

/** Takes the path below a root. */
function checkPath(path: string): string {
  // Checked before splitting and normalising, so that a huge path costs only one comparison.
  if (path.length === 0) throw invalidPath('The path names no file.');
  if (path.length > PATH_LIMITS.bytes) throw tooLong();
  const segments = path.split('/');
  if (segments.length > PATH_LIMITS.segments) {
    throw invalidPath(`A path has at most ${PATH_LIMITS.segments} segments.`);
  }
  let isPlain = true;
  for (const segment of segments) {
    if (segment.length <= PATH_LIMITS.segmentBytes && PLAIN_SEGMENT.test(segment)) continue;
    isPlain = false;
    checkSegment(segment);
  }
  if (!isPlain) checkUnicode(path);
  return path;
}

/**
 * A prefix must be a path, or become one with one more letter. `.` and `..` are refused although `..a`
 * is a valid name, so that attempts to go up get the same error everywhere.
 */
function checkPrefix(prefix: string): string {
  if (prefix === '') return prefix;
  if (prefix.length > PATH_LIMITS.bytes) throw tooLong();
  const last = prefix.slice(prefix.lastIndexOf('/') + 1);
  if (isDotSegment(last.normalize('NFKC'))) throw invalidPath('A segment is not . or ..');
  checkPath(OPEN_END.test(prefix) ? `${prefix}x` : prefix);
  return prefix;
}

/** The user of a physical path; an invalid user id is reported as `INVALID_PATH`. */
function checkOwner(text: string): UserId {
  if (USER_ID.test(text)) return text as UserId;
  throw invalidPath('In a physical path users/ is followed by a user id.');
}

/** The space of a path; an invalid space id is reported as `INVALID_PATH`. */
function checkSpace(text: string): SpaceId {
  if (USER_ID.test(text)) return text as SpaceId;
  throw invalidPath('In a path spaces/ is followed by a space id.');
}

function isDotSegment(segment: string): boolean {
  return segment === '.' || segment === '..';
}

function checkSegment(segment: string): void {
  if (segment === '') throw invalidPath('A path has no empty segment.');
  if (isDotSegment(segment)) throw invalidPath('A segment is not . or ..');
  if (!segment.isWellFormed()) throw invalidPath('A path is well-formed Unicode.');
  if (Buffer.byteLength(segment) > PATH_LIMITS.segmentBytes) {
    throw invalidPath(`A segment has at most ${PATH_LIMITS.segmentBytes} bytes.`);
  }
  if (FORBIDDEN.test(segment)) throw invalidPath('A segment has none of \\ : * ? " < > | %');
  if (INVISIBLE.test(segment)) {
    throw invalidPath('A segment has no control or invisible character.');
  }
  if (EDGE_SPACE.test(segment)) throw invalidPath('A segment has no leading or trailing space.');
  if (segment.endsWith('.')) throw invalidPath('A segment has no trailing dot.');
}

function checkUnicode(path: string): void {
  if (Buffer.byteLength(path) > PATH_LIMITS.bytes) throw tooLong();
  if (path.normalize('NFC') !== path) throw invalidPath('A path is in Unicode form NFC.');
  const compatible = path.normalize('NFKC');
  if (compatible === path) return;
  const segments = compatible.split('/');
  if (
    segments.length !== path.split('/').length ||
    compatible.includes('\\') ||
    segments.some(isDotSegment)
  ) {
    throw invalidPath('A path brings in no separator or dot segment under NFKC.');
  }
}

function tooLong(): MemoryError {
  return invalidPath(`A path has at most ${PATH_LIMITS.bytes} bytes.`);
}

function invalidPath(message: string): MemoryError {
  return new MemoryError('INVALID_PATH', message);
}
