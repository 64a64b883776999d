import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore, temporaryDatabase } from '../support/service.ts';
import { findCanary, openDatabase } from '../support/tables.ts';

const FILES = 250;
const CANARY = 'canary-2e77';

/** Made by the first test, for all of them. */
let filledFile: Promise<Buffer> | undefined;

/** Databases with the files of a user. */
const DATABASES: readonly [string, () => Promise<string>][] = [
  [
    'SQLite',
    async () => {
      const database = await temporaryDatabase();
      filledFile ??= fill(database).then(() => readFile(database));
      await writeFile(database, await filledFile);
      return database;
    },
  ],
  [
    'MariaDB',
    async () => {
      const database = await freshDatabase();
      await fill(database);
      return database;
    },
  ],
];

/** By this clock, no other instance is still at work. */
const later = () => Date.now() + 60_000;

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** Transactions: the first takes the hold, the second keeps the readers, and the last ends it. */
const KILLED_AFTER = [1, 2, 6, 12];

describe.each(DATABASES)('an erasure on %s that is killed with kill -9', (name, make) => {
  // The steps are the same on each database: on MariaDB, one in the middle stands for all.
  it.each(isRelease || name === 'SQLite' ? KILLED_AFTER : [6])(
    'after %i transactions is completed by the next start, while calls for the user wait',
    async (transactions) => {
      const database = await make();
      await eraseAndDie(database, transactions);

      const core = await openCore(
        { storage: openDatabase(database), now: later },
        { erasureLookMs: 1 },
      );
      const read = call(core, 'alice', 'memory_read', { path: 'user/0.md' });
      expect(await rejection(read)).toMatchObject({ code: 'MEMORY_HELD' });
      await core.start();
      await vi.waitFor(
        async () => {
          expect(await core.storage.holds?.list(10)).toEqual([]);
          expect(await core.storage.erasure?.count('u:alice')).toEqual({});
        },
        { timeout: 120_000, interval: 50 },
      );
      expect(await core.storage.erasure?.count('u:alice')).toEqual({});
      await core.queue.flush();
      expect(await findCanary(database, CANARY)).toEqual([]);
      const { result } = await call(core, 'alice', 'memory_write', {
        path: 'user/0.md',
        content: 'new\n',
      });
      expect(result['version']).toBe(1);
      const bob = await call(core, 'bob', 'memory_read', { path: 'user/a.md' });
      expect(bob.result).toMatchObject({ content: 'tea\n', version: 1 });
      await core.indexer.drain();
      await core.close();
      expect(toLines(await findViolations(database, { acknowledged: [] }))).toEqual([]);
    },
  );
});

/** Makes files of a user, and a file of another one. */
async function fill(database: string): Promise<void> {
  const core = await openCore({ storage: openDatabase(database) });
  await call(core, 'bob', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
  await Promise.all(
    Array.from({ length: FILES }, (_, index) =>
      call(core, 'alice', 'memory_write', { path: `user/${index}.md`, content: `${CANARY}\n` }),
    ),
  );
  await core.indexer.drain();
  await core.close();
}

async function eraseAndDie(database: string, transactions: number): Promise<void> {
  const script = fileURLToPath(new URL('eraser.mjs', import.meta.url));
  const args = [script, database, 'alice', String(transactions)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}
