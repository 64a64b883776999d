import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { SpanAttributes } from '../../../core/contracts/records.ts';
import { sanitiseAttributes } from '../../../core/telemetry/sanitise.ts';

const SECRET = 'The user has told me in confidence that';

describe('sanitiseAttributes', () => {
  it('keeps counts, sizes, versions, model names and token counts', () => {
    const attributes = {
      files: 3,
      bytes: 262_144,
      version: 7,
      model: 'openai/gpt-x:latest',
      inputTokens: 0,
      outputTokens: 12,
      replayed: true,
      unchanged: false,
    };
    expect(sanitiseAttributes(attributes)).toEqual(attributes);
    expect(sanitiseAttributes({ mode: 'hybrid', degraded: 'EMBEDDING_FAILED' })).toEqual({
      mode: 'hybrid',
      degraded: 'EMBEDDING_FAILED',
    });
    expect(sanitiseAttributes({})).toEqual({});
    expect(sanitiseAttributes(undefined)).toEqual({});
  });

  it.each([
    ...['content', 'query', 'prompt', 'text', 'snippet', 'path', 'userId', 'reason', 'message'],
    ...['apiKey', 'secret', 'authorization', 'error', 'sql', 'Files', 'files ', 'constructor'],
    ...['__proto__', 'toString'],
  ])('drops what is not named: %s', (key) => {
    const attributes = JSON.parse(JSON.stringify({ [key]: 1, files: 2 })) as SpanAttributes;
    Object.defineProperty(attributes, key, { value: 7, enumerable: true });
    expect(sanitiseAttributes(attributes)).toEqual({ files: 2 });
  });

  it('keeps no text under the name of a count, where content would pass', () => {
    for (const key of ['files', 'size', 'results', 'terms', 'version', 'unchanged', 'queued']) {
      expect(sanitiseAttributes({ [key]: SECRET })).toEqual({});
    }
  });

  it.each<[string, unknown]>([
    ['not a number', Number.NaN],
    ['an infinite number', Number.POSITIVE_INFINITY],
    ['null', null],
    ['nothing', undefined],
    ['an object', { text: SECRET }],
    ['an array', [SECRET]],
    ['a boxed number', Object(7)],
    ['a bigint', 7n],
    ['a symbol', Symbol(SECRET)],
    ['a function', () => SECRET],
    ['a date', new Date(0)],
  ])('drops a value that is %s', (_, value) => {
    const attributes = { files: value, model: value } as unknown as SpanAttributes;
    expect(sanitiseAttributes(attributes)).toEqual({});
  });

  it('cuts texts at 100 characters, and none in two', () => {
    expect(sanitiseAttributes({ model: 'm'.repeat(500) })).toEqual({ model: 'm'.repeat(100) });
    const { model } = sanitiseAttributes({ model: `${'m'.repeat(99)}😀` }) as { model: string };
    expect(model.isWellFormed()).toBe(true);
    expect(model.startsWith('m'.repeat(99))).toBe(true);
  });

  it('leaves what it was given as it is', () => {
    const attributes = Object.freeze({ files: 1, content: SECRET }) as SpanAttributes;
    expect(sanitiseAttributes(attributes)).toEqual({ files: 1 });
    expect(attributes).toEqual({ files: 1, content: SECRET });
  });

  it('throws at nothing', () => {
    const hostile = [null, 7, SECRET, [SECRET], new Map([['files', 1]]), () => SECRET];
    for (const attributes of hostile) {
      expect(sanitiseAttributes(attributes as unknown as SpanAttributes)).toEqual({});
    }
    const throwing = Object.defineProperty({ files: 1 }, 'model', {
      enumerable: true,
      get: () => {
        throw new Error(SECRET);
      },
    });
    expect(sanitiseAttributes(throwing as unknown as SpanAttributes)).toEqual({ files: 1 });
  });

  it('lets through only finite numbers, booleans and short texts, whatever comes', () => {
    const keys = ['files', 'model', 'mode', 'degraded', 'unchanged', 'content', 'version'];
    const attributes = fc.dictionary(fc.constantFrom(...keys), fc.anything());
    fc.assert(
      fc.property(attributes, (given) => {
        const kept = sanitiseAttributes(given as SpanAttributes);
        expect(Object.keys(kept)).not.toContain('content');
        for (const value of Object.values(kept)) {
          expect(
            typeof value === 'boolean' ||
              Number.isFinite(value) ||
              (typeof value === 'string' && value.length <= 100),
          ).toBe(true);
        }
        expect(JSON.parse(JSON.stringify(kept))).toEqual(
          Object.fromEntries(Object.entries(kept).map(([key, value]) => [key, zero(value)])),
        );
      }),
    );
  });
});

/** JSON knows no minus zero. */
function zero(value: unknown): unknown {
  return value === 0 ? 0 : value;
}
