import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MemoryError } from '../../../core/errors.ts';
import {
  parseTime,
  parseTimeOrNull,
  toTime,
  toTimeOrNull,
  toLocalDay,
} from '../../../core/time/time.ts';

const AT = Date.UTC(2026, 0, 31, 9, 30);

describe('a time', () => {
  it('is written in UTC with milliseconds', () => {
    expect(toTime(AT)).toBe('2026-01-31T09:30:00.000Z');
    expect(toTimeOrNull(AT + 7)).toBe('2026-01-31T09:30:00.007Z');
    expect(toTimeOrNull(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(toTimeOrNull(null)).toBeNull();
  });

  it('is read back to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(0, 0), max: Date.UTC(9999, 11, 31) }), (ms) => {
        expect(parseTime(toTime(ms), 'since')).toBe(ms);
      }),
    );
  });

  it.each([
    ['2026-01-31T09:30:00Z', AT],
    ['2026-01-31t09:30:00z', AT],
    ['2026-01-31T10:30:00+01:00', AT],
    ['2026-01-31T00:00:00-09:30', AT],
    ['2026-02-01T09:29:00+23:59', AT],
    ['2026-01-31T09:30:00-00:00', AT],
    ['2026-01-31T09:30:00.5Z', AT + 500],
    ['2026-01-31T09:30:00.123456789Z', AT + 123],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29)],
    ['0001-01-01T00:00:00Z', Date.parse('0001-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59.999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ])('is read in the forms of RFC 3339: %s', (text, ms) => {
    expect(parseTime(text, 'since')).toBe(ms);
    expect(parseTimeOrNull(text, 'since')).toBe(ms);
  });

  it.each([
    ...['', ' ', '2026', '2026-01-31', '2026-01-31T09:30:00', '2026-01-31 09:30:00Z', 'now', '0'],
    ...['1769851800000', '2026-01-31T09:30Z', '2026-01-31T09:30:00.Z', '2026-1-31T09:30:00Z'],
    ...['2026-01-31T09:30:00+0100', '2026-01-31T09:30:00+01', '+002026-01-31T09:30:00Z'],
    ...['2026-01-31T09:30:00Z ', ' 2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z (UTC)'],
    ...[
      '２026-01-31T09:30:00Z',
      '2026-01-31T09:30:00.0000000001Z',
      'Sat, 31 Jan 2026 09:30:00 GMT',
    ],
    ...['2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-32T00:00:00Z'],
    ...['2026-01-00T00:00:00Z', '2026-01-01T25:00:00Z', '2026-01-01T00:60:00Z'],
    ...['2026-01-01T23:59:60Z', '2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00+00:60'],
  ])('is refused, with the name of its field: %j', (text) => {
    expectRefused(text);
  });

  it.each([
    ...['2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-04-31T00:00:00Z'],
    ...['2100-02-29T00:00:00Z', '2026-06-31t00:00:00.5+02:00', '2026-01-01T24:00:00Z'],
  ])('is refused where no calendar or clock has it, and not moved to the next day: %s', (text) => {
    expectRefused(text);
  });

  it('may be absent in a filter', () => {
    expect(parseTimeOrNull(undefined, 'since')).toBeNull();
  });
});

it('takes the day of a moment from the time zone', () => {
  const moment = Date.parse('2026-01-01T02:00:00Z');
  expect(toLocalDay(moment, 'UTC')).toBe('2026-01-01');
  expect(toLocalDay(moment, 'America/New_York')).toBe('2025-12-31');
});

function expectRefused(text: string): void {
  let refused: unknown = null;
  try {
    parseTime(text, 'until');
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(MemoryError);
  expect(refused).toMatchObject({
    code: 'INVALID_REQUEST',
    details: {
      issues: [{ path: '/until', message: 'must be a time like 2026-01-31T09:30:00.000Z' }],
    },
  });
}
