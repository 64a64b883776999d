import type { FileKey } from '../contracts/records.ts';
import { type ErrorCode, MemoryError } from '../errors.ts';
import { toPhysicalPath } from '../files/paths.ts';
import type { SkippedItem } from '../schemas/archive.ts';
import { isPathRefused } from '../screening/screening.ts';

/** Why one file could not be written, where the others still can; `null` for any other error. */
export function toSkipped(key: FileKey, error: unknown): SkippedItem | null {
  if (!(error instanceof MemoryError) || !OF_ONE_FILE.has(error.code)) return null;
  const masked = isPathRefused(error) ? error.details?.['path'] : undefined;
  const item = typeof masked === 'string' ? masked : toPhysicalPath(key);
  return { item, reason: error.message };
}

const OF_ONE_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CONTENT_REFUSED',
  'INVALID_CONTENT',
  'INVALID_PATH',
  'PAYLOAD_TOO_LARGE',
  'QUOTA_EXCEEDED',
]);
