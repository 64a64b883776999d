import { CALLERS, caughtUp, type Suite } from './support/bench.ts';
import type { NoteSet } from './support/notes.ts';

/** What screening adds to a write: one service without it beside others with it, turn by turn. */
export const suite: Suite = {
  about: 'what screening costs a write, against the same service with screening off',
  isAlone: true,
  async run(bench) {
    const set: NoteSet = bench.isQuick ? { users: 10, notes: 20 } : { users: 50, notes: 100 };
    const open = (name: string, screen: object) =>
      bench.open(name, 'contestants/service.ts', { set, screen });
    const off = await open('off', { secrets: 'off' });
    const others = [
      await open('warn (the default)', { secrets: 'warn' }),
      await open('mask', { secrets: 'mask' }),
      await open('refuse, personal too', { secrets: 'refuse', personal: 'refuse' }),
    ];
    for (const callers of [1, CALLERS]) {
      const entrants = [off, ...others].map((opened) =>
        caughtUp(bench.called('service', opened, 'write', callers), opened),
      );
      await bench.compare({
        title: `Write, ${callers} caller${callers === 1 ? '' : 's'}`,
        entrants,
        ratios: others.map(({ name }) => ({ of: name, to: off.name })),
      });
    }
  },
};
