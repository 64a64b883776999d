import path from 'node:path';
import type { ServiceOptions } from './contestants/service.ts';
import { CALLERS, caughtUp, type Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';

const OPERATIONS = [
  ['Write', 'write', CALLERS],
  ['Read', 'read', CALLERS],
  ['List', 'list', CALLERS],
  ['Find', 'search', 1],
] as const;

/** This build beside an earlier one, turn by turn, so that the machine's mood falls on both. */
export const suite: Suite = {
  about: 'this build beside another checkout: write, read, list and find on SQLite and MariaDB',
  isAlone: true,
  options: { checkout: 'the root of the other checkout, which is built already' },
  async run(bench) {
    const { checkout } = bench.options;
    if (checkout === undefined) throw new Error('Name the other checkout: --checkout <root>.');
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 20 } : { users: 50, notes: 100 };
    for (const [database, isOnMariadb] of [
      ['SQLite', false],
      ['MariaDB', true],
    ] as const) {
      const open = (name: string, more: Partial<ServiceOptions>) =>
        bench.open(name, 'contestants/service.ts', { set, isOnMariadb, ...more });
      const now = await open(`now, ${database}`, {});
      const before = await open(`before, ${database}`, { checkout: path.resolve(checkout) });
      for (const [title, operation, callers] of OPERATIONS) {
        const called = [before, now].map((opened) =>
          caughtUp(bench.called('service', opened, operation, callers), opened),
        );
        await bench.compare({
          title: `${title} on ${database}, ${callers} caller${callers === 1 ? '' : 's'}`,
          entrants: called,
          ratios: [{ of: now.name, to: before.name }],
        });
      }
    }
  },
};
