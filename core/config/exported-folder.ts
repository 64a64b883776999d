import { findExportFolder } from '../archive/export-marker.ts';
import { ConfigError } from './error.ts';

/**
 * Throws a `ConfigError` for settings or code in a folder that an export made: models choose its files
 * and their names.
 */
export function refuseExported(path: string): void {
  const folder = findExportFolder(path);
  if (folder === null) return;
  throw new ConfigError(
    null,
    `${path} is not loaded: memory was exported to ${folder}, and models write memory. Run the command in another folder, or move the file out of this one.`,
  );
}
