import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type KillOptions, type KillReport, killRepeatedly, summarise } from '../support/kills.ts';
import { emptyDatabase, freshDatabase } from '../support/mariadb.ts';
import { makeSecrets, startServer } from '../support/targets.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
/** By hand: node test/faults/kill.mjs --kills 500. */
const BY_HAND = process.env['MEMORY_TEST_KILLS'];

/** What an acknowledged write is said to be that is not there. */
const LOST = /(?:is|are) lost$/;

/**
 * What is served, and how often it is killed: 8 times in all, or 1,000. Each start of the service takes
 * a second, so kill-writer.test.ts kills the write path of many databases in one process.
 */
interface Served extends Pick<KillOptions, 'makeDatabase' | 'start'> {
  kills: number;
  /** Its `storage` in a config file that acknowledges early. */
  early: (database: string) => string;
}

const DATABASES: readonly [string, () => Promise<Served>][] = [
  [
    'SQLite',
    () =>
      Promise.resolve({
        kills: Number(BY_HAND ?? (isRelease ? 800 : 6)),
        makeDatabase: (directory) => path.join(directory, 'data', 'memory.db'),
        start: (cwd) => startServer({ cwd }),
        early: () => `sqlite({ filename: './data/memory.db' })`,
      }),
  ],
  [
    'MariaDB',
    async () => {
      const url = await freshDatabase();
      return {
        kills: Number(BY_HAND ?? (isRelease ? 200 : 2)),
        makeDatabase: async () => {
          await emptyDatabase(url);
          return url;
        },
        start: (cwd, databaseUrl) => startServer({ cwd, databaseUrl }),
        early: () => `mysql({ url: ${JSON.stringify(url)} })`,
      };
    },
  ],
];

describe.each(DATABASES)('the service on %s', (name, prepare) => {
  const LONG = { timeout: 20_000_000 };

  it(
    'loses nothing that it acknowledged when it is killed with kill -9, and leaves the rest whole or absent (F1)',
    LONG,
    async () => {
      const { kills, ...served } = await prepare();
      const report = await killRepeatedly({ ...served, kills, isSearchable: true, progress });
      console.log(summarise(report, `the service on ${name}, kill -9`));
      expect(report.problems).toEqual([]);
      expect(report.kills).toBe(kills);
      expect(report.inFlight).toBeGreaterThanOrEqual(kills * 0.8);
      expect(report.acknowledged).toBeGreaterThanOrEqual(kills);
      expect(report.replayed).toBeGreaterThan(0);
    },
  );

  it('is caught when it acknowledges before the commit (F1)', LONG, async () => {
    const { makeDatabase, early } = await prepare();
    const report = await killRepeatedly({
      kills: 20,
      makeDatabase,
      start: async (cwd, database) => {
        await writeFile(path.join(cwd, 'memory.config.mjs'), acknowledgingEarly(early(database)));
        return startServer({ cwd, env: makeSecrets() });
      },
      until: LOST,
    });
    expect(report.problems.filter((problem) => LOST.test(problem))).not.toEqual([]);
  });

  it(
    'ends with 0 on SIGTERM while it writes, and everything that it acknowledged is there (F14)',
    LONG,
    async () => {
      const { makeDatabase, start } = await prepare();
      const stops = isRelease ? 100 : 1;
      const report = await killRepeatedly({ kills: stops, makeDatabase, start, signal: 'SIGTERM' });
      console.log(summarise(report, `the service on ${name}, SIGTERM`));
      expect(report.problems).toEqual([]);
      expect([...report.codes]).toEqual([0]);
      expect(report.acknowledged).toBeGreaterThanOrEqual(stops);
    },
  );
});

const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
const acknowledgingEarly = (storage: string) => `
import { mysql } from ${url('../../dist/plugins/storage-mysql/index.js')};
import { sqlite } from ${url('../../dist/plugins/storage-sqlite/index.js')};
import { createStorage } from ${url('../../dist/core/storage/storage.js')};
import { acknowledgeEarly } from ${url('./acknowledge-early.mjs')};
export default { storage: acknowledgeEarly(createStorage(${storage})) };
`;

function progress(report: KillReport): void {
  if (report.kills % 100 === 0)
    console.log(`${report.kills} kills, ${report.problems.length} lost`);
}
