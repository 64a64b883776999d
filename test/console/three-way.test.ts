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

  it('keep the line ends of the other side', () => {
    const to = (text: string, lineEnd: string) => text.replaceAll('\n', lineEnd);
    const base = to(toText(BASE), '\r\n');
    const mine = to(toText(BASE.toSpliced(2, 1, 'a', 'b')), '\r\n');
    const both = toText(BASE.toSpliced(2, 1, 'a', 'b').with(10, 'theirs'));
    for (const lineEnd of ['\r\n', '\n', '\r']) {
      const theirs = to(withLine(9, 'theirs'), lineEnd);
      expect(mergeChanges(base, mine, theirs)).toBe(to(both, lineEnd));
    }
    const mixed = to(withLine(9, 'theirs'), '\r\n').replace('line 5\r', 'line 5');
    expect(mergeChanges(base, mine, mixed)).toBe(to(both, '\r\n').replace('line 5\r', 'line 5'));
    expect(mergeChanges(base, mine, toText(BASE))).toBe(to(mine, '\r\n').replaceAll('\r', ''));
  });
});
