import { type Bench, CALLERS, type Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';
import { toSpread } from './support/statistics.ts';

/** The drivers bare, and what a long history takes on the disk. */
export const suite: Suite = {
  about:
    'bare reads and writes of each SQLite driver; SQLite and MariaDB; what 1,000 small patches take on the disk, and their blame',
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 100 } : { users: 100, notes: 100 };
    await compareDrivers(bench, set);
    await compareDatabases(bench, set);
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

/** The service in process, on each of the databases. */
async function compareDatabases(bench: Bench, set: NoteSet): Promise<void> {
  const module = 'contestants/service.ts';
  const open = (name: string, options: { set: NoteSet; isOnMariadb?: boolean }) =>
    bench.open(name, module, options);
  const lite = await open('on SQLite', { set });
  const maria = await open('on MariaDB', { set, isOnMariadb: true });
  const bare = await bench.open('bare transactions on MariaDB', 'limits/mariadb-write.ts', { set });
  bench.report.note('MariaDB on the same machine, over TCP, with 10 connections and its defaults.');
  for (const [title, operation] of [
    ['Read', 'read'],
    ['Write', 'write'],
  ] as const) {
    await bench.compare({
      title: `${title}, ${CALLERS} callers, ${set.users} users`,
      entrants: [
        bench.called('service', lite, operation, CALLERS),
        bench.called('service', maria, operation, CALLERS),
        ...(operation === 'write' ? [bench.called('limit', bare, operation, CALLERS)] : []),
      ],
      ratios: [
        { of: maria.name, to: lite.name },
        ...(operation === 'write' ? [{ of: maria.name, to: bare.name }] : []),
      ],
    });
  }
  const notes = bench.isQuick ? 100 : 1_000;
  const searched: NoteSet = { users: 10, notes };
  const liteFull = await open('search on SQLite', { set: searched });
  const mariaFull = await open('search on MariaDB', { set: searched, isOnMariadb: true });
  await bench.compare({
    title: `Search, ${notes} notes of the user, ${10 * notes} in all`,
    entrants: [
      bench.called('service', liteFull, 'search', 1),
      bench.called('service', mariaFull, 'search', 1),
    ],
    figures: [
      { of: mariaFull.name, figure: 'search-mysql', value: ({ latency }) => latency?.p50 ?? NaN },
    ],
  });
}

async function weighPatches(bench: Bench, patches: number): Promise<void> {
  const name = `memory-service, ${patches} patches`;
  const opened = await bench.open(name, 'contestants/patched-file.ts', { patches });
  const { party } = opened;
  if (party === null) return;
  const { fileBytes = 0, before = 0, after = 0 } = party.facts as Record<string, number>;
  const copies = fileBytes * patches;
  const grown = after - before;
  bench.report.row(`${patches} small patches of a file of ${toKb(fileBytes)}`, []);
  bench.report.note(
    `  ${toKb(before)} before, ${toKb(after)} after; as many copies would be ${toKb(copies)}.`,
  );
  bench.report.figure('store-size', toSpread([(100 * grown) / copies]));
  await bench.compare({
    title: `Who wrote each line of it, ${patches} revisions, whole answer over HTTP`,
    entrants: [bench.called('service', opened, 'blame', 1)],
    figures: [{ of: name, figure: 'blame', value: ({ latency }) => latency?.p50 ?? NaN }],
  });
}

function toKb(bytes: number): string {
  return `${Math.round(bytes / 1024).toLocaleString('en-US')} KB`;
}
