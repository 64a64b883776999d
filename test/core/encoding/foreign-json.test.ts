import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ForeignJsonError,
  foreignJsonSteps,
  type JsonLimits,
  parseForeignJson,
} from '../../../core/encoding/foreign-json.ts';

/** Small enough that short texts are long values. */
const PART = 16;

function parse(text: string, limits: Partial<JsonLimits> = {}): { value: unknown; steps: number } {
  const going = foreignJsonSteps(text, limits, PART);
  for (let steps = 0; ; steps += 1) {
    const step = going.next();
    if (step.done === true) return { value: step.value, steps };
  }
}

/** The value, or that it is refused. */
function outcome(work: () => unknown): { value: unknown } | 'refused' {
  try {
    return { value: work() };
  } catch (error) {
    if (!(error instanceof ForeignJsonError || error instanceof SyntaxError)) throw error;
    return 'refused';
  }
}

function reasonOf(text: string, limits: Partial<JsonLimits> = {}): string {
  try {
    parseForeignJson(text, limits);
    return 'parsed';
  } catch (error) {
    return (error as ForeignJsonError).reason;
  }
}

describe('foreign JSON', () => {
  it('is what JSON.parse makes of it, in parts of any length', () => {
    const spaced = fc.tuple(fc.json({ maxDepth: 6, noUnicodeString: false }), fc.boolean());
    fc.assert(
      fc.property(spaced, ([json, isSpaced]) => {
        const value: unknown = JSON.parse(json);
        const text = isSpaced ? ` \r\n${JSON.stringify(value, null, '\t')} ` : json;
        expect(parse(text).value).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is refused where JSON.parse refuses it', () => {
    const token = fc.constantFrom(
      ...['[', ']', '{', '}', ',', ':', '"', '\\', ' ', '1', 'null', '"a"', '"a":', '\\u0', '[1]'],
      ...['"aaaaaaaaaaaaaaaaaaaaaaaa"', '[1,2,3,4,5,6,7,8,9,10]', '{"a":1,"b":2,"c":3}', '\n'],
    );
    const damaged = fc
      .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat({ max: 4 }), token)
      .map(([json, at, cut, piece]) => {
        const place = at % (json.length + 1);
        return json.slice(0, place) + piece + json.slice(place + cut);
      });
    const anything = fc.array(token, { maxLength: 24 }).map((tokens) => tokens.join(''));
    fc.assert(
      fc.property(fc.oneof(damaged, anything), (text) => {
        const expected = outcome(() => JSON.parse(text) as unknown);
        expect(outcome(() => parse(text).value)).toStrictEqual(expected);
      }),
      { numRuns: 10_000 },
    );
  });

  it.each([
    ['a list with a comma at its end', `[${'1,'.repeat(16)}]`],
    ['a list without a member', `[${'1,'.repeat(16)},1]`],
    ['an object with a comma at its end', `{${'"a":1,'.repeat(16)}}`],
    ['a number before a long text', `{"a":1e1"${'b'.repeat(40)}"}`],
    ['two long texts without a comma', `["${'a'.repeat(40)}" "${'b'.repeat(40)}"]`],
    ['a long list for a key', `{[${'1,'.repeat(16)}1]:1}`],
    ['an escape that is not complete', `"${'\\u12 '.repeat(8).slice(1)}"`],
  ])('refuses %s', (_name, text) => {
    expect(outcome(() => JSON.parse(text) as unknown)).toBe('refused');
    expect(outcome(() => parse(text))).toBe('refused');
  });

  it('keeps long texts with escapes, and keys that a prototype has', () => {
    const long = '\\"\n日本\u2028😀\\\\'.repeat(40);
    const text =
      `{"__proto__": [${'1,'.repeat(30)}1], "constructor": {"prototype": [1]}, "a": 1,` +
      `"${'k'.repeat(40)}": ${JSON.stringify(long)}, "u": "${'\\u0041\\\\u0041'.repeat(30)}", "a": 2}`;
    const value = parse(text).value as Record<string, unknown>;
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toContain('__proto__');
  });

  it('has at most so many levels, lists and objects, keys, values and characters', () => {
    expect(reasonOf('[[[]]]', { depth: 3 })).toBe('parsed');
    expect(reasonOf('[[[]]]', { depth: 2 })).toBe('depth');
    expect(reasonOf('{"a":{"a":{}}}', { depth: 2 })).toBe('depth');
    expect(reasonOf('[{},[]]', { containers: 3 })).toBe('parsed');
    expect(reasonOf('[{},[]]', { containers: 2 })).toBe('containers');
    expect(reasonOf('{"a":1,"a":2}', { keys: 2 })).toBe('parsed');
    expect(reasonOf('{"a":1,"a":2}', { keys: 1 })).toBe('keys');
    expect(reasonOf('[1,2,3]', { values: 3 })).toBe('parsed');
    expect(reasonOf('[1,2,3]', { values: 2 })).toBe('values');
    expect(reasonOf('"aaaa"', { chars: 6 })).toBe('parsed');
    expect(reasonOf('"aaaa"', { chars: 5 })).toBe('chars');
  });

  it('counts nothing inside a text', () => {
    const text = JSON.stringify('[[[[{{{{::::,,,,"\\"'.repeat(20));
    expect(reasonOf(text, { depth: 1, containers: 1, keys: 1, values: 1 })).toBe('parsed');
  });

  it.each([
    ['nested lists', '['.repeat(4_000_000)],
    ['nested objects', '{"a":'.repeat(1_600_000)],
    ['lists', `[${'[],'.repeat(2_700_000)}1]`],
    ['objects', `[${'{},'.repeat(2_700_000)}1]`],
    ['lists without an end', '[],'.repeat(2_700_000)],
  ])('stops counting %s at the limit, before any of it is parsed', (_name, text) => {
    const steps = foreignJsonSteps(text);
    let count = 0;
    const read = () => {
      while (steps.next().done !== true) count += 1;
    };
    expect(read).toThrow(ForeignJsonError);
    // Each step is 32,768 characters: a small part of the 8 MB.
    expect(count).toBeLessThan(10);
  });

  it('goes in steps through whatever is long', () => {
    const step = 64;
    for (const text of [
      `"${'a'.repeat(step * PART)}"`,
      `"${'\\"'.repeat((step * PART) / 2)}"`,
      `"${'\\\\'.repeat((step * PART) / 2)}"`,
      `[${'1,'.repeat((step * PART) / 2)}1]`,
      `{"a":{"b":[${'"c",'.repeat((step * PART) / 4)}1]}}`,
      `{${'"c":1,'.repeat((step * PART) / 6)}"c":1}`,
    ]) {
      const { value, steps } = parse(text);
      expect(value).toStrictEqual(JSON.parse(text));
      expect(steps).toBeGreaterThanOrEqual(step);
    }
  });

  it('names the place of an error, or that the text is cut off', () => {
    const failure = (text: string) => {
      try {
        parse(text);
      } catch (error) {
        const { reason, position } = error as ForeignJsonError;
        return { reason, position };
      }
      return null;
    };
    const list = `[${'1,'.repeat(100)}`;
    expect(failure(list)).toStrictEqual({ reason: 'cut_off', position: list.length });
    expect(failure(`["${'a'.repeat(100)}`)).toStrictEqual({ reason: 'cut_off', position: 102 });
    expect(failure('')).toStrictEqual({ reason: 'cut_off', position: 0 });
    expect(failure(`${list}}`)).toStrictEqual({ reason: 'syntax', position: list.length });
    expect(failure(`${list}]x`)).toStrictEqual({ reason: 'syntax', position: list.length + 1 });
  });

  it('quotes nothing of the text in its message', () => {
    for (const text of ['secret', '["secret', '{"secret"}', `["${'secret'.repeat(20)}" secret]`]) {
      const failed = outcome(() => parse(text));
      expect(failed).toBe('refused');
      expect(() => parse(text)).toThrow(/^(?:It is not JSON|The JSON is cut off)\.$/);
    }
  });
});
