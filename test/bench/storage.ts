import { type Bench, CALLERS, type Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';
import { toSpread } from './support/statistics.ts';

/** The drivers bare, and what a long history takes on the disk. */
export const suite: Suite = {
  about: 'bare reads and writes of each SQLite driver; what 1,000 small patches take on the disk',
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 100 } : { users: 100, notes: 100 };
    await compareDrivers(bench, set);
    await weighPatches(bench, bench.isQuick ? 100 : 1_000);
  },
};

async function compareDrivers(bench: Bench, set: NoteSet): Promise<void> {
  const module = 'contestants/bare-store.ts';
  const sqlite3 = await bench.open('sqlite3', module, { set, driver: 'sqlite3' });
  const better = await bench.open('better-sqlite3', module, { set, driver: 'better-sqlite3' });
  const service = await bench.open('memory-service', 'contestants/service.ts', { set });
  bench.report.note('A write is a file, its revision and its access row; WAL, synchronous=FULL.');
  const alone = { ...better, name: 'better-sqlite3, a commit each' };
  await bench.compare({
    title: `Read, ${CALLERS} callers: 4 connections of sqlite3, 1 of better-sqlite3`,
    entrants: [
      bench.called('limit', sqlite3, 'read', CALLERS),
      bench.called('limit', better, 'read', CALLERS),
      bench.called('service', service, 'read', CALLERS),
    ],
    ratios: [
      { of: service.name, to: sqlite3.name },
      { of: better.name, to: sqlite3.name },
    ],
  });
  await bench.compare({
    title: `Write, ${CALLERS} callers, up to 64 in a commit`,
    entrants: [
      bench.called('limit', sqlite3, 'write', CALLERS),
      bench.called('limit', better, 'write', CALLERS),
      bench.called('limit', alone, 'write alone', CALLERS),
      bench.called('service', service, 'write', CALLERS),
    ],
    ratios: [
      { of: service.name, to: sqlite3.name },
      { of: better.name, to: sqlite3.name },
    ],
  });
}

async function weighPatches(bench: Bench, patches: number): Promise<void> {
  const name = `memory-service, ${patches} patches`;
  const { party } = await bench.open(name, 'contestants/patched-file.ts', { patches });
  if (party === null) return;
  const { fileBytes = 0, before = 0, after = 0 } = party.facts as Record<string, number>;
  const copies = fileBytes * patches;
  const grown = after - before;
  bench.report.row(`${patches} small patches of a file of ${toKb(fileBytes)}`, []);
  bench.report.note(
    `  ${toKb(before)} before, ${toKb(after)} after; as many copies would be ${toKb(copies)}.`,
  );
  bench.report.figure('store-size', toSpread([(100 * grown) / copies]));
}

function toKb(bytes: number): string {
  return `${Math.round(bytes / 1024).toLocaleString('en-US')} KB`;
}
