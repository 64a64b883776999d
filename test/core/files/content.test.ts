import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MemoryError } from '../../../core/errors.ts';
import {
  checkContent,
  checkLineRange,
  checkReason,
  countLines,
  hashText,
  NO_CONTENT,
  sliceLines,
} from '../../../core/files/content.ts';

describe('checkContent', () => {
  it.each<[string, number, number]>([
    ['', 0, 0],
    ['a', 1, 1],
    ['a\n', 2, 1],
    ['é\r\n日本\n😀', 15, 3],
    ['\ufeff\u2028\u0085\x01', 9, 1],
  ])('takes %j as it is, with its bytes and lines', (content, size, lines) => {
    const hash = createHash('sha256').update(Buffer.from(content, 'utf8')).digest('hex');
    expect(checkContent(content, 100)).toEqual({ size, lines, hash });
  });

  it('says of nothing what it says of a file that does not exist', () => {
    expect(checkContent('', 0)).toEqual(NO_CONTENT);
  });

  it.each([
    ['one byte below the limit', 'a'.repeat(9), 'ok'],
    ['the limit', 'a'.repeat(10), 'ok'],
    ['one byte above the limit', 'a'.repeat(11), 'PAYLOAD_TOO_LARGE'],
    ['the limit in fewer characters', 'é'.repeat(5), 'ok'],
    ['one byte above the limit in fewer characters', `${'é'.repeat(5)}a`, 'PAYLOAD_TOO_LARGE'],
    ['above the limit by characters of four bytes', '😀😀😀', 'PAYLOAD_TOO_LARGE'],
  ])('counts bytes of UTF-8: %s', (_, content, expected) => {
    expect(codeOf(() => checkContent(content, 10))).toBe(expected);
  });

  it('says how large a content is, and how large it may be', () => {
    try {
      checkContent('é'.repeat(6), 10);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        status: 413,
        message: 'The content has 12 bytes; a file has at most 10.',
        details: { size: 12, limit: 10 },
      });
    }
  });

  it.each([
    ['a\0b', 'The content has a NUL character.'],
    ['a\ud83d', 'The content has half of a surrogate pair.'],
  ])('says what is wrong with %j', (content, message) => {
    expect(() => checkContent(content, 100)).toThrow(message);
  });

  it.each([
    ['a NUL', '\0'],
    ['a NUL inside', 'a\0b'],
    ['a high surrogate alone', 'a\ud83d'],
    ['a low surrogate alone', '\ude00a'],
    ['surrogates the wrong way round', '\ude00\ud83d'],
  ])('refuses %s', (_, content) => {
    expect(codeOf(() => checkContent(content, 100))).toBe('INVALID_CONTENT');
  });

  it('takes exactly the texts that come back from UTF-8 and hold no NUL', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\0', '\ud83d', '\ude00', '\ufffd', 'é') });
    fc.assert(
      fc.property(text, (content) => {
        const isText = Buffer.from(content).toString() === content && !content.includes('\0');
        expect(codeOf(() => checkContent(content, 1_000))).toBe(isText ? 'ok' : 'INVALID_CONTENT');
      }),
    );
  });
});

describe('a reason', () => {
  it('is taken as it is; without one there is null', () => {
    expect(checkReason('tidied up 😀')).toBe('tidied up 😀');
    expect(checkReason('')).toBe('');
    expect(checkReason(undefined)).toBeNull();
  });

  it.each(['a\0b', 'a\ud83d', '\0\ude00'])(
    'that cannot be stored exactly is refused: %j',
    (reason) => {
      try {
        checkReason(reason);
        expect.unreachable();
      } catch (error) {
        const message = 'must be well-formed text without a NUL character';
        expect(error).toMatchObject({
          code: 'INVALID_REQUEST',
          message: `reason ${message}.`,
          details: { issues: [{ path: '/reason', message }] },
        });
      }
    },
  );
});

describe('a range of lines', () => {
  it('may be one line, or go on to the end', () => {
    expect(() => checkLineRange(3, 3)).not.toThrow();
    expect(() => checkLineRange(1, Number.MAX_SAFE_INTEGER)).not.toThrow();
  });

  it('is refused when it ends before it starts', () => {
    try {
      checkLineRange(3, 2);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'INVALID_REQUEST',
        message: 'endLine is before startLine.',
        details: { issues: [{ path: '/endLine', message: 'must not be before startLine' }] },
      });
    }
  });
});

describe('lines', () => {
  it.each([
    ['', 0],
    ['\n', 1],
    ['a', 1],
    ['a\n', 1],
    ['a\nb', 2],
    ['a\n\n', 2],
    ['a\r\nb\r\n', 2],
    ['a\rb\u2028c', 1],
  ])('of %j are %i', (text, lines) => {
    expect(countLines(text)).toBe(lines);
  });

  it.each<[number, number, string]>([
    [1, 1, 'a\n'],
    [2, 3, 'b\r\n\n'],
    [1, 4, 'a\nb\r\n\nd'],
    [4, 4, 'd'],
    [4, 9, 'd'],
    [5, 9, ''],
    [3, 2, ''],
    [1, Number.MAX_SAFE_INTEGER, 'a\nb\r\n\nd'],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, ''],
  ])('from %i to %i are taken with their ends', (start, end, expected) => {
    expect(sliceLines('a\nb\r\n\nd', start, end)).toBe(expected);
  });

  it('are the file again when they are taken one by one', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r') }), (text) => {
        const lines = Array.from({ length: countLines(text) }, (_, index) =>
          sliceLines(text, index + 1, index + 1),
        );
        expect(lines.join('')).toBe(text);
        expect(lines).not.toContain('');
        expect(sliceLines(text, lines.length + 1, lines.length + 1)).toBe('');
      }),
    );
  });
});

it('hashes a text as SHA-256 of its UTF-8', () => {
  // FIPS 180-2, B.1.
  expect(hashText('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(hashText('é')).not.toBe(hashText('e\u0301'));
});

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'ok';
  } catch (error) {
    if (error instanceof MemoryError) return error.code;
    throw error;
  }
}
