import { createRequire } from 'node:module';
import type * as Pg from 'pg';
import { MemoryError } from '../../core/plugin.ts';

/** What is used of the package `pg`. */
export type PgModule = Pick<typeof Pg, 'Pool' | 'Client'>;

/** Loads `pg`, which is installed beside the service. Throws `STORAGE_UNAVAILABLE` without it. */
export async function loadPg(): Promise<PgModule> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    throw new MemoryError(
      'STORAGE_UNAVAILABLE',
      'A postgres:// database needs a package that is not installed: npm install pg',
      { cause, retryAfterSeconds: 60 },
    );
  }
}

/** As in `pg 8.23.1`. */
export function describePg(): string {
  const require = createRequire(import.meta.url);
  const { version } = require('pg/package.json') as { version: string };
  return `pg ${version}`;
}
