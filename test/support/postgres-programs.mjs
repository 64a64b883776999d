import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folder of PostgreSQL's programs, which Debian keeps off the path; empty where they are on it,
 * `null` where there are none.
 *
 * @returns {string | null}
 */
export function findPostgres() {
  const parent = '/usr/lib/postgresql';
  const versions = existsSync(parent) ? readdirSync(parent) : [];
  const newest = versions
    .filter((version) => existsSync(join(parent, version, 'bin/initdb')))
    .sort((a, b) => Number(b) - Number(a))[0];
  if (newest !== undefined) return join(parent, newest, 'bin');
  return spawnSync('initdb', ['--version'], { stdio: 'ignore' }).error === undefined ? '' : null;
}
