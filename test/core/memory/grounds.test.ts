import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  groundedShare,
  hasNegation,
  likeness,
  missingSpecifics,
} from '../../../core/memory/grounds.ts';

describe('grounds', () => {
  it.each([
    ['Lives in Madrid.', '- Lives in Berlin.', ['madrid']],
    ['Pays €500.', 'Pays $500.', ['€500']],
    ['Grew by 5%.', 'Grew by 5.', ['5%']],
    ['Meets at 10:30.', 'Meets at 10:00.', ['10:30']],
    ['Born in 1990.', 'Born on 1990-05-01.', []],
    ['Write to ana@example.com', 'Write to Ana at example.com', ['ana@example.com']],
    ['It is https://a.example/x.', 'It is at https://a.example/x', []],
    ['- Bob is a friend.', '- Ana is a friend.', ['bob']],
    ['- Prefers tea.', '- tea', []],
    ['They met Ana-Maria.', 'ana-maria came', []],
  ])('tell that %j says what %j does not: %j', (text, grounds, missing) => {
    expect(missingSpecifics(text, grounds).sort()).toEqual([...missing].sort());
  });

  it('lack nothing of a text that is a part of them', () => {
    const word = fc.constantFrom('Ana', 'tea', '500', '$7', '2026-01-02', 'x@y.z', 'Ünal', '茶');
    const line = fc.array(word, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(line, line, (text, more) => {
        expect(missingSpecifics(text, `${more}\n${text}`)).toEqual([]);
        expect(groundedShare(text, `${more}\n${text}`)).toBe(1);
        expect(likeness(text, text)).toBe(1);
      }),
    );
  });

  it('count the words that say something, not those that a fact is put in', () => {
    expect(groundedShare('The user has anxiety.', 'The user prefers coffee.')).toBe(0);
    expect(groundedShare('- Prefers coffee.', 'Switched from tea to coffee.')).toBe(1);
    expect(groundedShare('---', 'anything')).toBe(0);
  });

  it('see a denial in several languages', () => {
    for (const text of ['Does not eat meat.', 'Isn’t here.', 'Isst kein Fleisch.', '不吃肉。']) {
      expect(hasNegation(text), text).toBe(true);
    }
    for (const text of ['Eats meat.', 'A notable knot.', 'Isst Fleisch.']) {
      expect(hasNegation(text), text).toBe(false);
    }
  });
});
