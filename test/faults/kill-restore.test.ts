import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import type { Core } from '../../core/service.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore, temporaryDatabase } from '../support/service.ts';
import { openDatabase } from '../support/tables.ts';

/** Three batches: with the first and the last transaction of the hold, five. */
const FILES = 250;
/** Made by the first test, for all of them. */
let filledFile: Promise<{ at: string; file: Buffer }> | undefined;

/** A database with files that were good at the time `at`, and are bad now. */
interface Filled {
  database: string;
  at: string;
}

const DATABASES: readonly [string, () => Promise<Filled>][] = [
  [
    'SQLite',
    async () => {
      const database = await temporaryDatabase();
      filledFile ??= fill(database).then(async (at) => ({ at, file: await readFile(database) }));
      const { at, file } = await filledFile;
      await writeFile(database, file);
      return { database, at };
    },
  ],
  [
    'MariaDB',
    async () => {
      const database = await freshDatabase();
      return { database, at: await fill(database) };
    },
  ],
];
const CALLER = { address: null, traceId: null };

/** By this clock, no other instance is still at work. */
const later = () => Date.now() + 60_000;

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

describe.each(DATABASES)('a restore on %s that is killed with kill -9', (name, make) => {
  // The steps are the same on each database: on MariaDB, one in the middle stands for all.
  it.each(isRelease || name === 'SQLite' ? [1, 2, 4] : [2])(
    'after %i of its five transactions is completed by the next start, while writes wait',
    async (transactions) => {
      const { database, at } = await make();
      await restoreAndDie(database, at, transactions);

      const core = await openCore({ storage: openDatabase(database), now: later });
      const write = (content: string) =>
        call(core, 'alice', 'memory_write', { path: 'user/0.md', content });
      expect(await rejection(write('lost\n'))).toMatchObject({ code: 'MEMORY_HELD' });
      const another = core.restores.restore(
        { userId: 'alice' },
        { at: new Date().toISOString() },
        CALLER,
      );
      expect(await rejection(another)).toMatchObject({ code: 'MEMORY_HELD' });
      await core.start();
      await vi.waitFor(async () => expect(await core.storage.holds?.list(10)).toEqual([]), {
        timeout: 120_000,
        interval: 50,
      });
      expect(await contentsOf(core)).toEqual(new Set(['good\n']));
      await write('mine\n');
      await core.indexer.drain();
      await core.close();
      expect(toLines(await findViolations(database, { acknowledged: [] }))).toEqual([]);
    },
  );

  it('is completed when it is asked for again', async () => {
    const { database, at } = await make();
    await restoreAndDie(database, at, 2);
    const core = await openCore({ storage: openDatabase(database), now: later });
    const answer = await core.restores.restore({ userId: 'alice' }, { at }, CALLER);
    expect(answer).toMatchObject({ restored: FILES - 100, unchanged: 100, left: 0 });
    expect(await contentsOf(core)).toEqual(new Set(['good\n']));
    expect(await core.storage.holds?.list(10)).toEqual([]);
  });
});

/** Makes the files of a {@link Filled}, and returns its time. */
async function fill(database: string): Promise<string> {
  const core = await openCore({ storage: openDatabase(database) });
  const write = (content: string) =>
    Promise.all(
      Array.from({ length: FILES }, (_, index) =>
        call(core, 'alice', 'memory_write', { path: `user/${index}.md`, content }),
      ),
    );
  await write('good\n');
  const { items } = await core.revisions.list({ userId: 'alice', limit: 1 });
  const at = items[0]?.at ?? '';
  await vi.waitUntil(() => new Date().toISOString() > at, { interval: 1 });
  await write('bad\n');
  await core.close();
  return at;
}

async function restoreAndDie(database: string, at: string, transactions: number): Promise<void> {
  const script = fileURLToPath(new URL('restorer.mjs', import.meta.url));
  const args = [script, database, 'alice', at, String(transactions)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}

async function contentsOf(core: Core): Promise<Set<string>> {
  const contents = new Set<string>();
  for (let index = 0; index < FILES; index += 1) {
    contents.add((await core.fileLists.file(`users/alice/${index}.md`, {})).file.content);
  }
  return contents;
}
