// The real parts that the tests run against, beside Node and npm's packages. Each is found or
// installed here before the first test, or the run ends with the command that would install it.
//
// A part that `isOptional` is one that a machine may not be able to have: where it is missing, the
// tests that need it are `not run`, with the command that would install it.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findChromium } from './chromium.mjs';
import { findPostgres } from './postgres-programs.mjs';

/** @type {{ name: string, find: () => boolean, debian: string[], isOptional?: boolean }[]} */
const PARTS = [
  {
    name: 'MariaDB',
    // Each run starts one of its own (mariadb.ts); /usr/sbin is not on everybody's path.
    find: () => {
      const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin` };
      return ['mariadbd', 'mariadb-install-db'].every(
        (command) => spawnSync(command, ['--help'], { stdio: 'ignore', env }).error === undefined,
      );
    },
    debian: ['mariadb-server-core', 'mariadb-client-core'],
  },
  {
    name: 'PostgreSQL',
    // Each run starts one of its own (postgres-server.ts).
    find: () => findPostgres() !== null,
    debian: ['postgresql'],
  },
  {
    name: 'PgBouncer',
    find: () => {
      const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin` };
      return spawnSync('pgbouncer', ['--version'], { stdio: 'ignore', env }).error === undefined;
    },
    debian: ['pgbouncer'],
  },
  {
    name: 'Chromium',
    find: () => findChromium() !== null,
    debian: ['chromium-headless-shell'],
  },
  {
    name: 'Chromium without a user interface',
    // Any other one will do, and takes longer.
    find: () => 'CHROMIUM_PATH' in process.env || /shell$/.test(findChromium() ?? ''),
    debian: ['chromium-headless-shell'],
    isOptional: true,
  },
  {
    name: 'strace',
    // Linux alone has it, and a container may forbid it.
    find: () => spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0,
    debian: ['strace'],
    isOptional: true,
  },
];

/**
 * What a cluster takes beside that; Galera's library stands in no path of commands.
 *
 * @type {typeof PARTS}
 */
const CLUSTER_PARTS = [
  {
    name: 'Galera',
    find: () => existsSync('/usr/lib/galera/libgalera_smm.so'),
    debian: ['mariadb-server', 'galera-4'],
  },
  {
    name: 'rsync',
    find: () => spawnSync('rsync', ['--version'], { stdio: 'ignore' }).status === 0,
    debian: ['rsync'],
  },
];

/**
 * Finds or installs every part, with `isCluster` those of a cluster too, and with `isRules` MariaDB
 * alone. Ends the process with the exact command where it cannot.
 *
 * @param {{ isCluster?: boolean, isRules?: boolean }} [options]
 */
export async function prepareParts({ isCluster = false, isRules = false } = {}) {
  const needed = isRules ? PARTS.filter(({ name }) => name === 'MariaDB') : PARTS;
  const parts = isCluster ? [...needed, ...CLUSTER_PARTS] : needed;
  const missing = parts.filter((part) => !part.find());
  const packages = [...new Set(missing.flatMap((part) => part.debian))];
  if (packages.length === 0) return;
  const install = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version');
  if (isRootOnDebian) {
    process.stderr.write(`Installing for the tests: ${packages.join(', ')}\n`);
    /** @type {import('node:child_process').SpawnSyncOptions} */
    const options = { shell: true, stdio: ['ignore', 'ignore', 'inherit'] };
    const isInstalled = () =>
      spawnSync(`DEBIAN_FRONTEND=noninteractive ${install}`, [], options).status === 0;
    // A fresh container has no package lists yet.
    if (isInstalled() || (spawnSync('apt-get update', [], options).status === 0 && isInstalled())) {
      if (parts.every((part) => part.find())) return;
    }
  }
  if (parts.every((part) => part.isOptional || part.find())) return;
  process.stderr.write(`The tests need ${packages.join(', ')}. Run: ${install}\n`);
  process.exit(1);
}
