import type { FileKey, ScopeKey } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';

/** Limits of a path below its root, in bytes of UTF-8 and in segments. */
export const PATH_LIMITS = { bytes: 512, segments: 16, segmentBytes: 128 } as const;

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
const SEGMENT = `(?:${LAST}|${FIRST}${ANYWHERE}{0,126}${LAST})`;

/**
 * The rules of this file as far as a pattern can tell, for descriptions of the API. The parsers decide:
 * they also look at bytes and at Unicode.
 */
export const PATH_PATTERNS = {
  'user-id': { type: 'string', pattern: USER_ID.source },
  'physical-path': {
    type: 'string',
    pattern: `^(?:shared|users/${USER_ID.source.slice(1, -1)})(?:/${SEGMENT}){1,16}$`,
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

/** The scope of shared memory. */
export const SHARED = 's';

/** The scope of a user's memory. */
export function toScope(userId: UserId): ScopeKey {
  return `u:${userId}`;
}

/** The key of a user's scope, from a user id of the database; or the start of keys, from one of ids. */
export function scopeKeyOf(userId: string): ScopeKey {
  return `u:${userId}`;
}

/** Where the keys of users' scopes begin, and what comes after all of them. */
export const USER_SCOPES = { from: 'u:', to: 'u;' } as const;

/** The user of a scope; `null` for shared memory. */
export function toUserId(scope: ScopeKey): string | null {
  return scope === SHARED ? null : scope.slice(2);
}

/** The user of a scope that is known to be a user's. */
export function ownerOf(scope: ScopeKey): string {
  const userId = toUserId(scope);
  if (userId === null) throw new MemoryError('INTERNAL', 'Shared memory has no owner.');
  return userId;
}

/**
 * Takes a tool's path (`user/<path>`, `shared/<path>`) or throws `INVALID_PATH`. Nothing is
 * decoded, normalised or repaired.
 */
export function parseVirtualPath(value: unknown, userId: UserId): FileKey {
  const text = asText(value);
  if (isUserPath(text)) return { scope: toScope(userId), path: checkPath(belowUser(text)) };
  if (text.startsWith('shared/')) return { scope: SHARED, path: checkPath(text.slice(7)) };
  throw invalidPath('A path starts with user/ or shared/.');
}

/** Takes an admin's path (`users/<userId>/<path>`, `shared/<path>`) or throws `INVALID_PATH`. */
export function parsePhysicalPath(value: unknown): FileKey {
  const text = asText(value);
  if (text.startsWith('shared/')) return { scope: SHARED, path: checkPath(text.slice(7)) };
  if (text.startsWith('users/')) {
    const slash = text.indexOf('/', 6);
    if (slash > 0) {
      const scope = toScope(checkOwner(text.slice(6, slash)));
      return { scope, path: checkPath(text.slice(slash + 1)) };
    }
  }
  throw invalidPath('A physical path starts with users/<userId>/ or shared/.');
}

/** The filter of a list: the scopes that can match, each with a path prefix. */
export interface PathPrefix {
  scope: ScopeKey;
  prefix: string;
}

/**
 * Takes the start of a virtual path: nothing for both roots, `user/`, `user/pro`, `shared/x/`.
 * A prefix is text: `user/pro` matches `user/profile.md` and `user/projects/a.md`. Throws
 * `INVALID_PATH` if no path can start like this, and for a dot segment at the end.
 */
export function parseVirtualPrefix(value: unknown, userId: UserId): PathPrefix[] {
  const text = value === undefined || value === null ? '' : asText(value);
  if (text === '') {
    return [
      { scope: toScope(userId), prefix: '' },
      { scope: SHARED, prefix: '' },
    ];
  }
  if (text === 'user' || isUserPath(text)) {
    return [{ scope: toScope(userId), prefix: checkPrefix(belowUser(text)) }];
  }
  if (text === 'shared' || text.startsWith('shared/')) {
    return [{ scope: SHARED, prefix: checkPrefix(text.slice(7)) }];
  }
  throw invalidPath('A prefix starts with user/ or shared/.');
}

/**
 * Takes the start of a physical path: any text that a physical path can start with (`use`,
 * `users/al`, `users/alice/pro`). Throws `INVALID_PATH` if no path can start like this, and for a
 * dot segment at the end.
 */
export function parsePhysicalPrefix(value: unknown): string {
  const text = asText(value);
  if ('shared/'.startsWith(text) || 'users/'.startsWith(text)) return text;
  if (text.startsWith('shared/')) {
    checkPrefix(text.slice(7));
    return text;
  }
  if (text.startsWith('users/')) {
    const slash = text.indexOf('/', 6);
    checkOwner(slash < 0 ? text.slice(6) : text.slice(6, slash));
    if (slash > 0) checkPrefix(text.slice(slash + 1));
    return text;
  }
  throw invalidPath('A physical prefix starts with users/ or shared/.');
}

/** `users/<userId>/<path>` or `shared/<path>`, as the admin sees it. */
export function toPhysicalPath({ scope, path }: FileKey): string {
  return scope === SHARED ? `shared/${path}` : `${userFolder(scope.slice(2))}${path}`;
}

/** `user/<path>` or `shared/<path>`, as the tools see it. */
export function toVirtualPath({ scope, path }: FileKey): string {
  return scope === SHARED ? `shared/${path}` : toUserPath(path);
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

/** `users/<userId>/`, which is where all physical paths of the user start. */
export function userFolder(userId: string): string {
  return `users/${userId}/`;
}

/**
 * The last check before the database, also for untyped callers. Throws `INVALID_USER_ID` or
 * `INVALID_PATH` unless the parsers would accept scope and path.
 */
export function assertFileKey({ scope, path }: FileKey): void {
  assertScope(scope);
  checkPath(asText(path));
}

/** Throws `INVALID_USER_ID` unless the scope is `s` or `u:` and a user id. */
export function assertScope(scope: ScopeKey): void {
  if (scope === SHARED) return;
  if (typeof scope !== 'string' || !scope.startsWith('u:')) {
    throw new MemoryError('INVALID_USER_ID');
  }
  parseUserId(scope.slice(2));
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
