import { MemoryError } from '../errors.ts';

/** The error of an archive that this service did not write, or that was changed or cut off. */
export function invalidArchive(message: string, cause?: unknown): MemoryError {
  return new MemoryError('INVALID_ARCHIVE', message, { cause });
}
