import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listDates, MONTHS, toIsoDate } from '../../../core/values/dates.ts';

const date = fc.record({
  year: fc.integer({ min: 1000, max: 9999 }),
  month: fc.integer({ min: 1, max: 12 }),
  day: fc.integer({ min: 1, max: 31 }),
});

describe('the dates of a text', () => {
  it('are the same in every form', () => {
    fc.assert(
      fc.property(date, ({ year, month, day }) => {
        const name = MONTHS[month - 1] as string;
        const short = name.slice(0, 3);
        for (const text of [
          toIsoDate(year, month, day),
          `${day} ${name} ${year}`,
          `the ${day}th of ${name.toLowerCase()}, ${year}.`,
          `${name} ${day}, ${year}`,
          `${short}. ${day} ${year}`,
        ]) {
          expect(listDates(`On ${text} we met`), text).toContainEqual({ year, month, day });
        }
        expect(listDates(`${short} ${day}`)).toEqual([{ year: null, month, day }]);
        expect(listDates(`${name} ${year}`)).toContainEqual({ year, month, day: null });
      }),
    );
  });

  it.each([
    '2023-13-01',
    '2023-00-10',
    '1-2023-01-01-1',
    'March 45',
    'Marching 3',
    'summary 5',
    '',
  ])('are not in %j', (text) => expect(listDates(text)).toEqual([]));

  it('are found in any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void listDates(text)));
    for (const text of ['Mar '.repeat(50_000), '9'.repeat(90_000), '3 of '.repeat(50_000)]) {
      expect(listDates(text)).toEqual([]);
    }
  });
});
