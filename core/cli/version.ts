import { existsSync, readFileSync } from 'node:fs';

/** The version in the package.json of this package. */
export function readVersion(): string {
  // Two folders up in the sources, three in dist.
  const candidates = ['../../package.json', '../../../package.json'];
  for (const candidate of candidates) {
    const url = new URL(candidate, import.meta.url);
    if (!existsSync(url)) continue;
    const { name, version } = JSON.parse(readFileSync(url, 'utf8')) as Record<string, unknown>;
    if (name === 'memory-service' && typeof version === 'string') return version;
  }
  return 'unknown';
}
