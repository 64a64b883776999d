import type { RouteRequest } from '../contracts/route.ts';
import { invalidField, MemoryError } from '../errors.ts';

/** A version as an entity tag: `"7"`. */
export function toVersionTag(version: number): string {
  return `"${version}"`;
}

/** Whether `If-None-Match` contains this entity tag, so that the answer is a 304 without a body. */
export function matchesTag(request: RouteRequest, tag: string): boolean {
  const header = request.header('if-none-match');
  if (header === null) return false;
  const tags = header.split(',').map((one) => toOwnTag(one.trim()));
  if (!tags.includes(tag) && !tags.includes('*')) return false;
  request.setStatus(304);
  return true;
}

/**
 * The version that a write expects: from `If-Match: "<version>"`, 0 from `If-None-Match: *`, or
 * `undefined` without either. Of a list of versions it is the present one, if it is among them, and
 * with `If-Match: *` any version. `present` reads it for these two forms; 0 means that there is no
 * file. Throws `INVALID_REQUEST` for any other form, because ignoring a malformed precondition would
 * be unsafe.
 */
export async function ifVersionOf(
  request: RouteRequest,
  present: () => Promise<number>,
): Promise<number | undefined> {
  const ifMatch = request.header('if-match');
  const ifNoneMatch = request.header('if-none-match');
  if (ifMatch === null) {
    if (ifNoneMatch === null) return undefined;
    if (ifNoneMatch.trim() === '*') return 0;
    throw refuse('If-None-Match', 'must be *');
  }
  if (ifNoneMatch !== null) throw refuse('If-None-Match', 'must not come with If-Match');
  if (ifMatch.trim() === '*') {
    const version = await present();
    if (version > 0) return version;
    throw new MemoryError('VERSION_CONFLICT', 'There is no such file, and If-Match: * needs one.', {
      status: 412,
      details: { actual: 0 },
    });
  }
  const versions = ifMatch.split(',').flatMap((one) => {
    const tag = one.trim();
    // Lists in headers may have empty items.
    return tag === '' ? [] : [parseVersionTag(tag)];
  });
  const [first] = versions;
  if (first === undefined) throw refuseIfMatch();
  if (versions.length === 1) return first;
  const version = await present();
  return versions.includes(version) ? version : first;
}

function parseVersionTag(tag: string): number {
  const version = /^"(\d{1,15})"$/.exec(toOwnTag(tag))?.[1];
  if (version === undefined || Number(version) === 0) throw refuseIfMatch();
  return Number(version);
}

/**
 * An entity tag as the service gave it. What compresses an answer on its way changes its tag: nginx
 * makes it weak (`W/"7"`), Apache and others add the encoding (`"7-gzip"`, `"7;br"`, `"7--gzip"`).
 */
function toOwnTag(tag: string): string {
  return tag.replace(/^W\//, '').replace(/(?:--?|;)(?:gzip|br|deflate|zstd)"$/, '"');
}

/** Runs a write. If it conflicts with a precondition header, the status is 412 instead of 409. */
export async function withPrecondition<T>(
  ifVersion: number | undefined,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (
      ifVersion !== undefined &&
      error instanceof MemoryError &&
      error.code === 'VERSION_CONFLICT'
    ) {
      throw error.withStatus(412);
    }
    throw error;
  }
}

function refuseIfMatch(): MemoryError {
  return refuse('If-Match', 'must be one version in quotes, as the ETag gave it');
}

function refuse(header: string, message: string): MemoryError {
  return invalidField(`/${header.toLowerCase()}`, message, header);
}
