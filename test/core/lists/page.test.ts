import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MemoryError } from '../../../core/errors.ts';
import {
  type ListIdentity,
  PAGE_LIMITS,
  type PageQuery,
  parsePage,
  toCursor,
} from '../../../core/lists/page.ts';

const FILES: ListIdentity = {
  list: 'files',
  sort: 'path',
  defaultOrder: 'asc',
  filters: { userId: 'alice', prefix: 'users/alice/', depth: undefined },
};
const KEY = ['u:alice', 'profile.md'] as const;

describe('a page', () => {
  it('has 50 rows in the order of its list unless the request says otherwise', () => {
    expect(parsePage({}, FILES)).toEqual({ limit: 50, order: 'asc', after: null });
    expect(parsePage({ limit: 1, order: 'desc' }, FILES)).toEqual({
      limit: 1,
      order: 'desc',
      after: null,
    });
    expect(PAGE_LIMITS).toEqual({ default: 50, max: 500 });
  });

  it('has no cursor behind it at the end', () => {
    expect(toCursor(null, {}, FILES)).toBeNull();
  });

  it('begins behind the key of its cursor', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.maxSafeInteger(),
      fc.constantFrom('', '😀', 'a\0b', '"', '\\', 0, Number.MAX_SAFE_INTEGER),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (key) => {
        const cursor = toCursor(key, {}, FILES) as string;
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(parsePage({ cursor }, FILES).after).toEqual(key);
      }),
    );
  });

  it('begins behind the longest path, too', () => {
    const key = [Number.MAX_SAFE_INTEGER, `u:${'x'.repeat(128)}`, '日'.repeat(170)];
    const cursor = toCursor(key, {}, FILES) as string;
    expect(parsePage({ cursor }, FILES).after).toEqual(key);
  });
});

describe('a cursor', () => {
  const cursor = toCursor(KEY, {}, FILES) as string;

  it('serves pages of another size', () => {
    expect(parsePage({ cursor, limit: 500 }, FILES)).toEqual({
      limit: 500,
      order: 'asc',
      after: KEY,
    });
  });

  it('serves a request that spells out the default order, or an absent filter', () => {
    expect(parsePage({ cursor, order: 'asc' }, FILES).after).toEqual(KEY);
    const filters = { prefix: 'users/alice/', q: null, userId: 'alice' };
    expect(parsePage({ cursor }, { ...FILES, filters }).after).toEqual(KEY);
  });

  it.each<[string, Partial<ListIdentity>, PageQuery]>([
    ['list', { list: 'revisions' }, {}],
    ['sort', { sort: 'size' }, {}],
    ['order', {}, { order: 'desc' }],
    ['default order', { defaultOrder: 'desc' }, {}],
    ['user', { filters: { ...FILES.filters, userId: 'bob' } }, {}],
    ['user in another case', { filters: { ...FILES.filters, userId: 'Alice' } }, {}],
    ['filter', { filters: { ...FILES.filters, prefix: 'users/alice/a' } }, {}],
    ['filter more', { filters: { ...FILES.filters, q: 'x' } }, {}],
    ['empty filter more', { filters: { ...FILES.filters, q: '' } }, {}],
    ['filter less', { filters: { userId: 'alice' } }, {}],
    ['type of a filter', { filters: { ...FILES.filters, userId: ['alice'] } }, {}],
    ['filter of another name', { filters: { userId: 'alice', path: 'users/alice/' } }, {}],
  ])('is refused with another %s', (_, identity, query) => {
    expect(codeOf(() => parsePage({ cursor, ...query }, { ...FILES, ...identity }))).toBe(
      'INVALID_CURSOR',
    );
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['a space', ' '],
    ['no base64', '???'],
    ['no JSON', encode('profile.md')],
    ['an object', encode('{"0":"x"}')],
    ['null', encode('null')],
    ['a number', encode('7')],
    ['text', encode('"x"')],
    ['an empty array', encode('[]')],
    ['no tag', encode(JSON.stringify(KEY))],
    ['another tag', encode(JSON.stringify(['0'.repeat(12), ...KEY]))],
    ['arrays in arrays', encode('['.repeat(3_000))],
    ['bytes that are not UTF-8', Buffer.from([0xc0, 0xae, 0xff]).toString('base64url')],
    ['4 MB', 'A'.repeat(4 << 20)],
    ['an SQL text', "' OR 1=1 --"],
    ['its own first half', cursor.slice(0, cursor.length / 2)],
    ['itself twice', cursor + cursor],
    ['itself with more behind it', `${cursor}!!`],
    ['itself with a line end', `${cursor}\n`],
    ['itself with padding', `${cursor}==`],
    ['itself in another case', swapCase(cursor)],
    ['itself with space in its JSON', encode(` ${decode(cursor)}`)],
    ['itself with the key gone', withKey()],
    ['null in the key', withKey(null)],
    ['a boolean in the key', withKey(true)],
    ['an array in the key', withKey(['a'])],
    ['an object in the key', withKey({ a: 1 })],
    ['a fraction in the key', withKey(1.5)],
    ['a number in the key that is not exact', withKey(2 ** 53)],
    ['a number in the key beyond all numbers', encode(decode(withKey(7)).replace(/7]$/, '1e999]'))],
    ['minus zero in the key', encode(decode(withKey(7)).replace(/7]$/, '-0]'))],
    ['half of a surrogate pair in the key', withKey('\ud83d')],
  ])('that no list made is refused: %s', (_, garbage) => {
    expect(codeOf(() => parsePage({ cursor: garbage }, FILES))).toBe('INVALID_CURSOR');
  });

  it('throws nothing else, whatever it is', () => {
    const [tag] = JSON.parse(decode(cursor)) as [string];
    const garbage = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc.json().map(encode),
      fc.array(fc.jsonValue(), { maxLength: 4 }).map((key) => withKey(...key)),
      fc
        .tuple(fc.nat(cursor.length - 1), fc.string({ minLength: 1, maxLength: 1 }))
        .map(([at, char]) => cursor.slice(0, at) + char + cursor.slice(at + 1)),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        const code = codeOf(() => {
          const { after } = parsePage({ cursor: text }, FILES);
          // What is taken is what a list would have made of that key.
          expect(toCursor(after, {}, FILES)).toBe(text);
          expect(JSON.parse(decode(text))).toEqual([tag, ...(after ?? [])]);
        });
        expect(['ok', 'INVALID_CURSOR']).toContain(code);
      }),
      { numRuns: 3_000 },
    );
  });

  it('does not quote what it was given', () => {
    try {
      parsePage({ cursor: encode('my secret') }, FILES);
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).not.toContain('secret');
    }
  });

  function withKey(...key: unknown[]): string {
    const [tag] = JSON.parse(decode(toCursor(KEY, {}, FILES) as string)) as [string];
    return encode(JSON.stringify([tag, ...key]));
  }
});

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function decode(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString();
}

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (char) =>
    char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase(),
  );
}

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'ok';
  } catch (error) {
    if (error instanceof MemoryError) return error.code;
    throw error;
  }
}
