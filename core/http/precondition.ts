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
  const tags = header.split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (!tags.includes(tag) && !tags.includes('*')) return false;
  request.setStatus(304);
  return true;
}

/**
 * The version that a write expects: from `If-Match: "<version>"`, 0 from `If-None-Match: *`, or
 * `undefined` without either. Throws `INVALID_REQUEST` for any other form, because ignoring a
 * malformed precondition would be unsafe.
 */
export function ifVersionOf(request: RouteRequest): number | undefined {
  const ifMatch = request.header('if-match');
  const ifNoneMatch = request.header('if-none-match');
  if (ifMatch === null) {
    if (ifNoneMatch === null) return undefined;
    if (ifNoneMatch === '*') return 0;
    throw refuse('If-None-Match', 'must be *');
  }
  if (ifNoneMatch !== null) throw refuse('If-None-Match', 'must not come with If-Match');
  const version = /^"(\d{1,15})"$/.exec(ifMatch)?.[1];
  if (version === undefined || Number(version) === 0) {
    throw refuse('If-Match', 'must be one version in quotes, as the ETag gave it');
  }
  return Number(version);
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
      const { message, details } = error;
      throw new MemoryError('VERSION_CONFLICT', message, { status: 412, cause: error, details });
    }
    throw error;
  }
}

function refuse(header: string, message: string): MemoryError {
  return invalidField(`/${header.toLowerCase()}`, message, header);
}
