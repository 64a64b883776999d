import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import type { Core } from '../../core/service.ts';
import { exportAll, importAll } from '../core/archive/archives.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { call, openCore, temporaryDirectory } from '../support/service.ts';
import { mysql, sqlite } from '../support/databases.ts';

const DATABASES: readonly [string, () => Promise<string>, (database: string) => Storage][] = [
  [
    'SQLite',
    async () => join(await temporaryDirectory(), 'memory.db'),
    (filename) => sqlite({ filename }),
  ],
  ['MariaDB', freshDatabase, (url) => mysql({ url })],
];
const FILES = 40;
/** More than a part of an archive has: the rest of its history is a transaction of its own. */
const VERSIONS = 300;

/** A memory of many files, one of them with a long history. */
async function makeArchive(): Promise<Buffer> {
  const core = await openCore();
  for (let file = 0; file < FILES; file += 1) {
    const args = { path: `user/${file}.md`, content: `# ${file}\n` };
    await call(core, `user${file % 2}`, 'memory_write', args);
  }
  for (let version = 0; version < VERSIONS; version += 1) {
    const content = `- ${version}\n`;
    await call(core, 'user0', 'memory_write', { path: 'user/long.md', content });
  }
  return await exportAll(core);
}

/** Made by the first test, for all of them. */
let made: Promise<Buffer> | undefined;

/** How many imports wrote something. */
async function countImports(core: Core): Promise<number> {
  const page = { limit: 100, order: 'asc', after: null } as const;
  const { items } = await core.storage.audit.list({}, page);
  return items.filter((row) => row.action === 'memory.import' && row.details['step'] === 'begin')
    .length;
}

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** How many transactions come before a kill. The last one is in the middle of the long history. */
const KILLED_AFTER = [0, 1, 7, 30, FILES + 1];

describe.each(DATABASES)('an import on %s that is killed with kill -9', (name, make, open) => {
  // Each transaction ends by itself on each database: on MariaDB, the last one stands for all.
  it.each(isRelease || name === 'SQLite' ? KILLED_AFTER : KILLED_AFTER.slice(-1))(
    'after %i transactions has whole files alone, and is completed by the same import',
    async (transactions) => {
      made ??= makeArchive();
      const archive = await made;
      const file = join(await temporaryDirectory(), 'memory.tar.gz');
      await writeFile(file, archive);
      const database = await make();
      const script = fileURLToPath(new URL('importer.mjs', import.meta.url));
      const args = [script, database, file, String(transactions)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      expect(signal).toBe('SIGKILL');

      const core = await openCore({ storage: open(database) });
      // Whoever wrote something, said so: the audit row is in the first transaction.
      const { items } = await core.storage.revisions.list(
        {},
        { limit: 1, order: 'asc', after: null },
      );
      expect(await countImports(core)).toBe(items.length);
      const { summary } = await importAll(core, archive, { onExisting: 'skip' });
      expect(summary).toMatchObject({ created: 0, updated: 0, skipped: 0 });
      expect(summary.restored + summary.unchanged).toBe(FILES + 1);
      // The same as an import that nothing cut off, with the same history.
      expect((await exportAll(core)).equals(archive)).toBe(true);
      await core.indexer.drain();
      await core.close();
      expect(toLines(await findViolations(database, { acknowledged: [] }))).toEqual([]);
    },
  );
});
