import { isBuiltin } from 'node:module';
import { MemoryError } from '../../../core/plugin.ts';
import { assertSafeSqlite } from '../dialect.ts';
import type { SqliteModule } from '../connection.ts';
import { openOnThread } from './threads.ts';

const ENTRY = 'node:sqlite';

/**
 * Node's own synchronous module, which needs nothing installed: each connection has a thread of its
 * own. Throws `STORAGE_UNAVAILABLE` for a Node without it, or one whose SQLite can lose writes.
 */
export function loadNodeSqlite(): SqliteModule {
  const { node, sqlite } = process.versions as { node: string; sqlite?: string };
  if (!isBuiltin(ENTRY) || sqlite === undefined) {
    throw new MemoryError('STORAGE_UNAVAILABLE', `Node ${node} has no SQLite of its own.`);
  }
  assertSafeSqlite(sqlite);
  return {
    name: `node:sqlite of Node ${node}`,
    open: (filename, options) => openOnThread({ entry: ENTRY, filename, ...options }),
  };
}
