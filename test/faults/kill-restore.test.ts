import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import type { Core } from '../../core/service.ts';
import { mysql } from '../../plugins/storage-mysql/index.ts';
import { sqlite } from '../../plugins/storage-sqlite/index.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../support/service.ts';

const DATABASES: readonly [string, () => Promise<string>, (database: string) => Storage][] = [
  [
    'SQLite',
    async () => join(await temporaryDirectory(), 'memory.db'),
    (filename) => sqlite({ filename }),
  ],
  ['MariaDB', freshDatabase, (url) => mysql({ url })],
];
/** Three batches: with the first and the last transaction of the hold, five. */
const FILES = 250;
const CALLER = { address: null, traceId: null };

/** By this clock, no other instance is still at work. */
const later = () => Date.now() + 60_000;

describe.each(DATABASES)('a restore on %s that is killed with kill -9', (_, make, open) => {
  it.each([1, 2, 4])(
    'after %i of its five transactions is completed by the next start, while writes wait',
    async (transactions) => {
      const database = await make();
      const at = await fill(await openCore({ storage: open(database) }));
      await restoreAndDie(database, at, transactions);

      const core = await openCore({ storage: open(database), now: later });
      const write = (content: string) =>
        call(core, 'alice', 'memory_write', { path: 'user/0.md', content });
      expect(await rejection(write('lost\n'))).toMatchObject({ code: 'MEMORY_HELD' });
      const another = core.restores.restore('alice', { at: new Date().toISOString() }, CALLER);
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
    const database = await make();
    const at = await fill(await openCore({ storage: open(database) }));
    await restoreAndDie(database, at, 2);
    const core = await openCore({ storage: open(database), now: later });
    const answer = await core.restores.restore('alice', { at }, CALLER);
    expect(answer).toMatchObject({ restored: FILES - 100, unchanged: 100, left: 0 });
    expect(await contentsOf(core)).toEqual(new Set(['good\n']));
    expect(await core.storage.holds?.list(10)).toEqual([]);
  });
});

/** Makes files that were good at the time that it returns, and are bad now. */
async function fill(core: Core): Promise<string> {
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
