import { describe, expect, it } from 'vitest';
import { readLanguages } from '../../../core/values/language.ts';
import { readValues } from '../../../core/values/values.ts';
import { VALUE_TEXTS } from '../../support/value-texts.ts';

const TIMES = ['clock', 'clock in words', 'part of the day'];

describe('the values of a text', () => {
  it.each(VALUE_TEXTS.map((one) => [one.language, one.kind, one.text, one] as const))(
    'are read in %s: %s in "%s"',
    (_language, _kind, text, { kind, value }) => {
      const keys = readValues(text, readLanguages(text)).values.flatMap((one) => one.keys);
      const wanted = TIMES.includes(kind)
        ? `t:${value}`
        : kind === 'date'
          ? `d:-${value}`
          : kind === 'weekday'
            ? `day:${value}`
            : `:${value}`;
      expect(keys.filter((key) => key.endsWith(wanted))).not.toEqual([]);
    },
  );
});
