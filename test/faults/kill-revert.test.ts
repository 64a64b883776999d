import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Host, Plugin } from '../../core/contracts/plugin.ts';
import { verifyMemory } from '../../core/maintenance/verify.ts';
import type { Core } from '../../core/service.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { freshPostgres } from '../support/postgres.ts';
import { call, openCore, temporaryDatabase } from '../support/service.ts';
import { openDatabase } from '../support/tables.ts';

const CALLER = { address: null, traceId: null };
const SINCE = '1970-01-02T00:00:00.000Z';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

/** Each has two files that a call carried a line between: 204 files are three batches. */
const PAIRS = 102;
/** Two batches: the kill is in the second one. */
const FEW_PAIRS = 52;
/** Made by the first test, for all of them. */
let filledFile: Promise<Buffer> | undefined;

const DATABASES: [string, () => Promise<string>][] = [
  [
    'SQLite',
    async () => {
      const database = await temporaryDatabase();
      filledFile ??= fill(database, PAIRS).then(() => readFile(database));
      await writeFile(database, await filledFile);
      return database;
    },
  ],
  ['MariaDB', () => make(freshDatabase)],
];
// All faults are tried on it for the release.
if (isRelease) DATABASES.push(['PostgreSQL', () => make(freshPostgres)]);

/** Transactions before the kill, and milliseconds into the next one; more for the release. */
const KILLS: readonly [number, number][] = [
  [1, 7],
  [0, 1],
  [2, 3],
  [3, 0],
  [1, 0],
  [2, 40],
];

describe.each(DATABASES)('a revert on %s that is killed with kill -9', (name, makeDatabase) => {
  it.each(isRelease ? KILLS : KILLS.slice(0, name === 'SQLite' ? 4 : 1))(
    'after %i transactions and %i ms leaves each file whole or reverted, and goes on when asked again',
    async (transactions, delay) => {
      const database = await makeDatabase();
      await revertAndDie(database, transactions, delay);

      const core = await openCore({ storage: openDatabase(database) });
      const pairs = isRelease || name === 'SQLite' ? PAIRS : FEW_PAIRS;
      const reverted = await countReverted(core, pairs);
      const selection = { actor: 'mover', since: SINCE };
      const { files } = await core.revisions.revertWrites(selection, CALLER);
      const counts = { unchanged: 0, merged: 0 };
      for (const { outcome } of files) counts[outcome as keyof typeof counts] += 1;
      expect(counts).toEqual({ unchanged: 2 * reverted, merged: 2 * (pairs - reverted) });
      const again = await core.revisions.revertWrites(selection, CALLER);
      expect(again.files.every(({ outcome }) => outcome === 'unchanged')).toBe(true);
      expect(await countReverted(core, pairs)).toBe(pairs);
      expect((await verifyMemory(core.storage)).findings).toEqual([]);
      await core.indexer.drain();
      await core.close();
      expect(toLines(await findViolations(database, { acknowledged: [] }))).toEqual([]);
    },
  );
});

/** How many pairs are reverted; each of the others has to be as the mover left it. */
async function countReverted(core: Core, pairs: number): Promise<number> {
  let count = 0;
  for (let at = 0; at < pairs; at += 1) {
    const [from, to] = await Promise.all(
      ['from', 'to'].map(async (side) => {
        const { file } = await core.fileLists.file(`users/alice/${side}/${at}.md`, {});
        return file.content;
      }),
    );
    const isReverted = from === `- tea\n- nuts ${at}\n- later\n`;
    expect([from, to]).toEqual(
      isReverted
        ? [from, '- rice\n- later\n']
        : ['- tea\n- later\n', `- rice\n- nuts ${at}\n- later\n`],
    );
    count += Number(isReverted);
  }
  return count;
}

async function make(createDatabase: () => Promise<string>): Promise<string> {
  const database = await createDatabase();
  await fill(database, isRelease ? PAIRS : FEW_PAIRS);
  return database;
}

/** Makes pairs of files; a call carries a line from one to the other, and somebody writes to both since. */
async function fill(database: string, pairs: number): Promise<void> {
  const hosts: Host[] = [];
  const plugin: Plugin = { name: 'carrier', apiVersion: 2, setup: (host) => void hosts.push(host) };
  const core = await openCore({ storage: openDatabase(database), plugins: [plugin] });
  const [host] = hosts as [Host];
  const write = (path: string, content: string) =>
    call(core, 'alice', 'memory_write', { path: `user/${path}.md`, content }, { actor: 'ann' });
  for (let at = 0; at < pairs; at += 1) {
    await write(`from/${at}`, `- tea\n- nuts ${at}\n`);
    await write(`to/${at}`, '- rice\n');
    const changes = [
      { path: `user/from/${at}.md`, content: '- tea\n' },
      { path: `user/to/${at}.md`, content: `- rice\n- nuts ${at}\n` },
    ];
    await host.write(
      changes.map((change) => ({
        ...change,
        scope: 'u:alice' as const,
        reason: 'Carries a line.',
      })),
      { actor: 'mover', runId: randomUUID() },
    );
    await write(`from/${at}`, '- tea\n- later\n');
    await write(`to/${at}`, `- rice\n- nuts ${at}\n- later\n`);
  }
  await core.indexer.drain();
  await core.close();
}

async function revertAndDie(database: string, transactions: number, delay: number): Promise<void> {
  const script = fileURLToPath(new URL('reverter.mjs', import.meta.url));
  const args = [script, database, 'mover', String(transactions), String(delay)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}
