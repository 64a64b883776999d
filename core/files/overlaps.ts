import type { FileKey, FileState } from '../contracts/records.ts';
import type { Current } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { toOwner, toPhysicalPath } from './paths.ts';

/**
 * Throws `PATH_CONFLICT` if a new file of a space with `exclusivePaths` stands where a folder is, or in
 * what is a file. `files` are all files of a write, as it leaves them.
 */
export function checkOverlaps(
  current: Pick<Current, 'file' | 'space' | 'overlaps'>,
  files: readonly FileState[],
  toPath: (key: FileKey) => string,
): void {
  const inSpaces = files.filter(({ scope }) => toOwner(scope).spaceId !== null);
  if (inSpaces.length === 0) return;
  const own = new Map(files.map((file) => [toPhysicalPath(file), file]));
  for (const file of inSpaces) {
    if (file.content === null || (current.file(file)?.content ?? null) !== null) continue;
    if (current.space(file.scope)?.exclusivePaths !== true) continue;
    const others = current
      .overlaps(file)
      .filter((other) => !own.has(toPhysicalPath(other)))
      .concat(files.filter((other) => other.content !== null && isOverlap(file, other)));
    const [other] = others;
    if (other !== undefined) throw pathConflict(file, other, toPath);
  }
}

/** Whether one path is a folder of the other. */
export function isOverlap(one: FileKey, other: FileKey): boolean {
  if (one.scope !== other.scope) return false;
  return one.path.startsWith(`${other.path}/`) || other.path.startsWith(`${one.path}/`);
}

/** The folders of a path, the outermost first. */
export function foldersOf(path: string): string[] {
  const segments = path.split('/').slice(0, -1);
  return segments.map((_, at) => segments.slice(0, at + 1).join('/'));
}

/** Why a file cannot stand at its path beside another one. */
export function sayOverlap(key: FileKey, other: FileKey, toPath: (key: FileKey) => string): string {
  const what = key.path.startsWith(`${other.path}/`) ? 'is a file, not a folder' : 'stands in it';
  return `${toPath(key)} cannot be a file: ${toPath(other)} ${what}.`;
}

function pathConflict(key: FileKey, other: FileKey, toPath: (key: FileKey) => string): MemoryError {
  return new MemoryError('PATH_CONFLICT', sayOverlap(key, other, toPath), {
    details: { path: toPath(key), conflictingPath: toPath(other) },
  });
}
