import type * as Pg from 'pg';
import { importPeer } from '../../core/packages/import-peer.ts';

/** What is used of the package `pg`. */
export type PgModule = Pick<typeof Pg, 'Pool' | 'Client'>;

/** Loads `pg`, which is installed beside the service. Rejects with what to install without it. */
export function loadPg(): Promise<PgModule> {
  return importPeer('A postgres:// database', {
    packages: ['pg'],
    load: async (): Promise<PgModule> => (await import('pg')).default,
    parts: ['Pool', 'Client'],
  });
}
