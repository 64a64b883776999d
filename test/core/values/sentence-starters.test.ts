import { expect, it } from 'vitest';
import { isOpener } from '../../../core/values/sentence-starters.ts';

it.each(['came', 'stopped', 'watches', 'flights', 'motivation', 'went', 'met', 'trinkt', 'früher'])(
  'a line that begins with %s begins with no name',
  (word) => expect(isOpener(word)).toBe(true),
);

// Some are words too, or forms of words: of rise, draw, chase and art.
it.each(
  'ana bob rose drew chase art grace hope joy faith mark bill jack frank sue grant ray summer'.split(
    ' ',
  ),
)('%s may be a name', (name) => expect(isOpener(name)).toBe(false));
