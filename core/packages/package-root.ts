import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The installed package: where its docs and console are, and which version it is. */
export interface PackageRoot {
  directory: string;
  version: string;
}

/** Finds the package from this file upwards, as source and as build alike. */
export function findPackageRoot(): PackageRoot {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(directory, 'package.json');
    if (existsSync(file)) {
      // eslint-disable-next-line no-restricted-syntax -- a file of this package
      const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
      if (name === 'memory-service') return { directory, version: String(version) };
    }
    const parent = dirname(directory);
    if (parent === directory) return { directory: '', version: 'unknown' };
    directory = parent;
  }
}
