import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type KillReport, killRepeatedly, summarise } from '../support/kills.ts';
import { startServer } from '../support/targets.ts';

const SAMPLE = process.env['MEMORY_TEST_RELEASE'] === undefined ? 50 : 1_000;
/** By hand: node test/faults/kill.mjs --kills 500. */
const KILLS = Number(process.env['MEMORY_TEST_KILLS'] ?? SAMPLE);
const LONG = { timeout: KILLS * 20_000 };

const DATABASE = path.join('data', 'memory.db');

/** What an acknowledged write is said to be that is not there. */
const LOST = /(?:is|are) lost$/;

describe('the service, killed with kill -9 while it writes (F1)', () => {
  it('loses nothing that it acknowledged, and leaves the rest whole or absent', LONG, async () => {
    const report = await killRepeatedly({
      kills: KILLS,
      start: (cwd) => startServer({ cwd }),
      filename: DATABASE,
      isSearchable: true,
      progress,
    });
    console.log(summarise(report));
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(KILLS);
    expect(report.inFlight).toBeGreaterThanOrEqual(KILLS * 0.8);
    expect(report.acknowledged).toBeGreaterThanOrEqual(KILLS);
    expect(report.replayed).toBeGreaterThan(0);
  });

  it('is caught when it acknowledges before the commit', LONG, async () => {
    const report = await killRepeatedly({
      kills: 20,
      start: async (cwd) => {
        await writeFile(path.join(cwd, 'memory.config.mjs'), EARLY);
        return startServer({ cwd });
      },
      filename: DATABASE,
      until: LOST,
    });
    expect(report.problems.filter((problem) => LOST.test(problem))).not.toEqual([]);
  });
});

describe('the service, stopped with SIGTERM while it writes (F14)', () => {
  it('ends with 0, and everything that it acknowledged is there', LONG, async () => {
    const stops = SAMPLE / 10;
    const report = await killRepeatedly({
      kills: stops,
      start: (cwd) => startServer({ cwd }),
      filename: DATABASE,
      signal: 'SIGTERM',
    });
    expect(report.problems).toEqual([]);
    expect([...report.codes]).toEqual([0]);
    expect(report.acknowledged).toBeGreaterThanOrEqual(stops);
  });
});

const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
const EARLY = `
import { sqlite } from ${url('../../dist/plugins/storage-sqlite/index.js')};
import { acknowledgeEarly } from ${url('./acknowledge-early.mjs')};
export default { storage: acknowledgeEarly(sqlite({ filename: './data/memory.db' })) };
`;

function progress(report: KillReport): void {
  if (report.kills % 100 === 0)
    console.log(`${report.kills} kills, ${report.problems.length} lost`);
}
