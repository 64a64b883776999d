import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { missingSpecifics } from '../../../../core/subagents/evidence.ts';
import { timesOf } from '../../../../core/subagents/remember/times.ts';

/** A Thursday. */
const TODAY = '2023-05-25';

describe('what a fact means by words of time', () => {
  it.each([
    ['I ran a race last Saturday.', ['2023-05-20', 'May 2023'], ['2023-05-21', '2023-06-20']],
    ['We went there yesterday.', ['2023-05-24'], ['2023-05-23']],
    ['It is tomorrow.', ['2023-05-26'], ['2023-05-27']],
    ['I got hurt last month.', ['2023-04', 'April 2023'], ['2023-03', 'March 2023']],
    ['The show is next month.', ['2023-06', 'June 2023'], ['2023-07', 'July 2023']],
    ['He adopted last year.', ['2022'], ['2021']],
    ['They moved three years ago.', ['2020'], ['2019']],
    ['I met her 2 weeks ago.', ['2023-05-11'], ['2023-05-12']],
    ['The exam is in ten days.', ['2023-06-04'], ['2023-06-05']],
    ['We were away last weekend.', ['2023-05-20', '2023-05-21'], ['2023-05-22']],
    ['The meeting is next week.', ['2023-05-29', 'June 2023'], ['2023-05-24', '2023-06-12']],
    ['I joined a group last week.', ['2023-05-17'], ['2023-05-26', '2023-04']],
    ['I failed a test recently.', ['April 2023'], ['March 2023']],
    ['The election is on June 16.', ['2023-06-16', '2022-06-16'], ['2024-06-16', '2023-06-17']],
    ['My birthday is on the 3rd of March.', ['2023-03-03', '2024-03-03'], ['2022-03-03']],
    ['We meet at half past seven.', ['7:30', '19:30', '07:30'], ['7:00', '8:30', '18:30']],
    ['We meet at quarter to one.', ['12:45', '0:45'], ['13:45']],
    ['I have a cat.', ['2023-05-25', '2023-05', 'May 2023'], ['2023-05-24', '2022', 'June']],
  ])('%j', (fact, meant, others) => {
    const grounds = timesOf(fact, TODAY);
    for (const time of meant) expect(missingSpecifics(time, grounds), time).toEqual([]);
    for (const time of others) expect(missingSpecifics(time, grounds), time).not.toEqual([]);
  });

  it('goes over the ends of months and years', () => {
    expect(timesOf('yesterday', '2024-03-01')).toContain('2024-02-29');
    expect(timesOf('last month', '2024-01-31')).toContain('2023-12');
    expect(timesOf('next month', '2024-01-31')).toContain('2024-02');
  });

  it('takes any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(timesOf(text, TODAY)).toContain(TODAY);
      }),
    );
    for (const text of ['in '.repeat(50_000), '9'.repeat(90_000), '99 years ago '.repeat(5_000)]) {
      expect(timesOf(text, TODAY)).toContain(TODAY);
    }
    expect(timesOf('in 999 years and 999 months ago', TODAY)).toContain('3022');
  });
});
