import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeChanges } from '../../console/src/three-way.ts';

const BASE = Array.from({ length: 12 }, (_, line) => `line ${line}`);
const toText = (lines: readonly string[]) => `${lines.join('\n')}\n`;
const withLine = (at: number, text: string) => toText(BASE.with(at, text));

describe('two changes of one text', () => {
  it('are put together when they touch different lines, whichever came first', () => {
    const places = fc
      .tuple(fc.nat(11), fc.nat(11))
      .filter(([mine, theirs]) => Math.abs(mine - theirs) > 2);
    fc.assert(
      fc.property(places, ([mine, theirs]) => {
        const merged = toText(BASE.with(mine, 'mine').with(theirs, 'theirs'));
        const [a, b] = [withLine(mine, 'mine'), withLine(theirs, 'theirs')];
        expect(mergeChanges(toText(BASE), a, b)).toBe(merged);
        expect(mergeChanges(toText(BASE), b, a)).toBe(merged);
      }),
    );
  });

  it('are left to a person when they touch the same line', () => {
    fc.assert(
      fc.property(fc.nat(11), (at) => {
        expect(mergeChanges(toText(BASE), withLine(at, 'mine'), withLine(at, 'theirs'))).toBeNull();
      }),
    );
  });

  it('are the one change where the other side changed nothing, or the same', () => {
    const base = toText(BASE);
    const changed = withLine(3, 'changed');
    expect(mergeChanges(base, changed, base)).toBe(changed);
    expect(mergeChanges(base, base, changed)).toBe(changed);
    expect(mergeChanges(base, changed, changed)).toBe(changed);
  });
});
