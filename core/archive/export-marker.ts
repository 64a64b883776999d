import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Marks a folder that an export made. It lists the files that the export wrote. */
export const EXPORT_MARKER = '.memory-service.json';

/**
 * The folder that an export made and that a path is in, at any depth; `null` for a path elsewhere.
 * Models choose what is in such a folder: nothing there may be run, or read as settings.
 *
 * @param path a file or a folder, also one that does not exist.
 */
export function findExportFolder(path: string): string | null {
  // A link leads into another folder, and lies in one itself.
  for (const start of new Set([resolve(path), toRealPath(resolve(path))])) {
    for (const folder of withParents(start)) if (hasMarker(folder)) return folder;
  }
  return null;
}

function* withParents(path: string): Generator<string> {
  yield path;
  for (let at = path; dirname(at) !== at; at = dirname(at)) yield dirname(at);
}

function hasMarker(folder: string): boolean {
  try {
    return lstatSync(join(folder, EXPORT_MARKER), { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A file has no files below it.
    return false;
  }
}

function toRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
