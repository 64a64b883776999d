import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { RedactTextRequest } from '../../core/contracts/admin.ts';
import { verifyMemory } from '../../core/maintenance/verify.ts';
import type { Core } from '../../core/service.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { call, openCore, temporaryDatabase } from '../support/service.ts';
import { findCanary, openDatabase } from '../support/tables.ts';

const FILES = 12;
const CANARY = 'canary-51ab';
const operator = { address: null, traceId: null };
const reason = 'a key was written';

/** Made by the first test, for all of them. */
let filledFile: Promise<Buffer> | undefined;

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

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** Transactions: the first records the beginning, then each file has one, and the last is the receipt. */
const KILLED_AFTER = [1, 2, 7, 12, 13, 14];

describe.each(DATABASES)('a redaction on %s that is killed with kill -9', (name, make) => {
  it.each(isRelease ? KILLED_AFTER : name === 'SQLite' ? [1, 7, 13] : [7])(
    'after %i transactions leaves each file whole or redacted, and is ended by the same request',
    async (transactions) => {
      const database = await make();
      const request: RedactTextRequest = { text: CANARY, in: 'user', userId: 'alice', reason };
      await redactAndDie(database, transactions, request);

      const core = await openCore({ storage: openDatabase(database) });
      expect(await core.revisions.unfinishedRedactions()).toMatchObject([
        { in: 'user', userId: 'alice', path: null, reason },
      ]);
      for (let file = 0; file < FILES; file += 1) {
        const texts = await Promise.all([1, 2, 3].map((version) => contentOf(core, file, version)));
        const redacted = texts.filter((text) => text?.includes('[redacted]'));
        expect([0, 3]).toContain(redacted.length);
      }
      expect((await verifyMemory(core.storage)).findings).toEqual([]);
      await redact(core, request);
      expect(await core.revisions.unfinishedRedactions()).toEqual([]);
      await core.queue.flush();
      expect(await findCanary(database, CANARY)).toEqual([]);
      expect((await verifyMemory(core.storage)).findings).toEqual([]);
      expect(await contentOf(core, 3, 1)).toBe('one [redacted]\n3\n');
      await core.close();
    },
  );

  it('is ended by the same request for lines, which are redacted last', async () => {
    const database = await make();
    const before = await openCore({ storage: openDatabase(database) });
    const { items } = await before.revisions.list({ path: 'users/alice/3.md', order: 'asc' });
    await before.close();
    const lines = { revisionId: items[0]?.id ?? '', lines: '1', in: 'user', reason } as const;
    await redactAndDie(database, 7, lines);
    const core = await openCore({ storage: openDatabase(database) });
    expect(await contentOf(core, 3, 1)).toBe(`one ${CANARY}\n3\n`);
    await redact(core, lines);
    expect(await core.revisions.unfinishedRedactions()).toEqual([]);
    expect(await contentOf(core, 3, 1)).toBe('[redacted]\n3\n');
    expect(await findCanary(database, `one ${CANARY}`)).toEqual([]);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
    await core.close();
  });
});

async function contentOf(core: Core, file: number, version: number): Promise<string | null> {
  return (await core.fileLists.file(`users/alice/${file}.md`, { version })).file.content;
}

async function redact(core: Core, request: RedactTextRequest): Promise<void> {
  const { nextCursor } = await core.revisions.redactText(request, operator);
  if (nextCursor !== null) await redact(core, { ...request, cursor: nextCursor });
}

/** Makes files of a user, each with three versions that have the text. */
async function fill(database: string): Promise<void> {
  const core = await openCore({ storage: openDatabase(database) });
  for (const line of ['one', 'two', 'three']) {
    for (let file = 0; file < FILES; file += 1) {
      const content = `${line} ${CANARY}\n${file}\n`;
      await call(core, 'alice', 'memory_write', { path: `user/${file}.md`, content });
    }
  }
  await core.indexer.drain();
  await core.close();
}

async function redactAndDie(
  database: string,
  transactions: number,
  request: RedactTextRequest,
): Promise<void> {
  const script = fileURLToPath(new URL('redacter.mjs', import.meta.url));
  const args = [script, database, String(transactions), JSON.stringify(request)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}
