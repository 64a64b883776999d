import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { FileKey, ScopeKey } from '../../../core/contracts/records.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  assertFileKey,
  assertScope,
  parsePhysicalPath,
  parsePhysicalPrefix,
  parseUserId,
  parseVirtualPath,
  parseVirtualPrefix,
  PATH_LIMITS,
  PATH_PATTERNS,
  fileNotFound,
  toPhysicalPath,
  toScope,
  toUserId,
  toVirtualPath,
  type UserId,
} from '../../../core/files/paths.ts';

const FUZZED = process.env['MEMORY_TEST_RELEASE'] === undefined ? 20_000 : 100_000;

const ALICE = { userId: 'alice' };

// A stack for each of 200,000 refusals would be most of the work.
const { stackTraceLimit } = Error;
beforeAll(() => void (Error.stackTraceLimit = 0));
afterAll(() => void (Error.stackTraceLimit = stackTraceLimit));

describe('user ids', () => {
  const ids = userIdCorpus();

  it('is tried on 200 ids and more', () => {
    expect(new Set(ids).size).toBeGreaterThanOrEqual(200);
  });

  it('takes an id as it is, or refuses it, as the grammar says', () => {
    const wrong = ids.filter((id) => outcome(() => parseUserId(id)) !== expectedOfUserId(id));
    expect(wrong).toEqual([]);
    expect(ids.filter((id) => isUserId(id)).length).toBeGreaterThan(60);
    expect(ids.filter((id) => !isUserId(id)).length).toBeGreaterThan(100);
  });

  it('agrees with the grammar on any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string({ unit: fc.constantFrom(...'aZ09._@|:+=~-/\\% é'), maxLength: 130 }),
    );
    fc.assert(
      fc.property(text, (id) => outcome(() => parseUserId(id)) === expectedOfUserId(id)),
      { numRuns: 5_000 },
    );
  });

  it.each<[string, unknown]>([
    ['a number', 0],
    ['a number that looks like an id', 42],
    ['not a number', Number.NaN],
    ['true', true],
    ['null', null],
    ['nothing', undefined],
    ['an empty array', []],
    ['an array of an id', ['alice']],
    ['an object', {}],
    ['an object that reads as an id', { toString: () => 'alice' }],
    ['a boxed text', Object('alice')],
    ['a bigint', 7n],
    ['a symbol', Symbol('alice')],
    ['a function', () => 'alice'],
  ])('is text: %s is refused', (_, value) => {
    expect(outcome(() => parseUserId(value))).toBe('INVALID_USER_ID');
    expect(outcome(() => assertScope(value as ScopeKey))).toBe('INVALID_USER_ID');
  });

  it('keeps users apart by case, and a user called shared apart from shared memory', () => {
    const scopes = ['alice', 'Alice', 'ALICE', 's', 'shared', 'users', 'u:s', 'u'].map((id) =>
      toScope({ userId: id }),
    );
    expect(new Set([...scopes, 's']).size).toBe(scopes.length + 1);
    expect(parsePhysicalPath('users/shared/a.md')).toEqual({ scope: 'u:shared', path: 'a.md' });
    expect(parsePhysicalPath('shared/a.md')).toEqual({ scope: 's', path: 'a.md' });
  });

  it('goes from a user to the scope and back', () => {
    for (const id of ids.filter(isUserId)) {
      expect(toUserId(toScope({ userId: id }))).toBe(id);
      expect(outcome(() => assertScope(`u:${id}`))).toBe('ok');
    }
    expect(toUserId('s')).toBeNull();
    for (const scope of ['', 'u', 'u:', 'S', 'alice', 'u:al/ice', 'x:alice', 's ']) {
      expect([scope, outcome(() => assertScope(scope as ScopeKey))]).toEqual([
        scope,
        'INVALID_USER_ID',
      ]);
    }
  });
});

describe('paths', () => {
  it.each([
    'profile.md',
    'a/b/c.md',
    '.hidden',
    '..a',
    '...a',
    'a..b',
    'a b.md',
    "it's (1) [x] {y} ~&#$!@^+=,;.md",
    'Résumé.md',
    '日本語/メモ.md',
    '한국어.md',
    'ملاحظات.md',
    '😀.md',
    'ﬁn.md',
    '½',
    'constructor',
    '__proto__',
    'CON',
    // Overlong UTF-8 of two dots, read as Latin-1: letters and signs, and no way up.
    'À®À®/bob',
    'a'.repeat(255),
    'é'.repeat(127),
    Array.from({ length: 20 }, () => 'a').join('/'),
    pathOfBytes(1024),
    pathOfBytes(1024, 'é'),
  ])('takes %j', (path) => {
    expect(parseVirtualPath(`user/${path}`, ALICE)).toEqual({ scope: 'u:alice', path });
    expect(parseVirtualPath(`shared/${path}`, ALICE)).toEqual({ scope: 's', path });
    expect(parsePhysicalPath(`users/alice/${path}`)).toEqual({ scope: 'u:alice', path });
    expect(isPath(path)).toBe(true);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['a dot segment', '.'],
    ['a double dot segment', '..'],
    ['a dot segment inside', 'a/./b'],
    ['a way up', '../bob/profile.md'],
    ['a way up inside', 'a/../../bob/profile.md'],
    ['a way up at the end', 'a/..'],
    ['encoded dots', '%2e%2e/bob/profile.md'],
    ['dots encoded twice', '%252e%252e/bob'],
    ['an encoded slash', '..%2fbob'],
    ['an encoded backslash', '..%5cbob'],
    ['an encoded NUL', 'a.md%00'],
    ['a backslash', '..\\bob'],
    ['a NUL', 'a\0.md'],
    ['a NUL at the end', 'a.md\0'],
    ['a line feed', 'a\n.md'],
    ['a carriage return at the end', 'a.md\r'],
    ['a tab', 'a\tb'],
    ['a delete character', 'a\x7fb'],
    ['a C1 control', 'a\u0085b'],
    ['overlong UTF-8 of a slash, decoded loosely', '..\ufffd\ufffdbob/..'],
    ['full-width dots', '．．/bob'],
    ['a full-width dot', 'a/．/b'],
    ['a full-width and a plain dot', '.．/bob'],
    ['one dot leaders', '․․/bob'],
    ['a two dot leader', '‥/bob'],
    ['a full-width slash', 'a／b'],
    ['a care-of sign, which holds a slash', 'a℅b'],
    ['a full-width backslash', 'a＼b'],
    ['a small backslash', 'a﹨b'],
    ['NFD', 'e\u0301.md'],
    ['a Kelvin sign', '\u212a.md'],
    ['Hangul apart', '\u1112\u1161\u11ab.md'],
    ['a leading space', ' a.md'],
    ['a trailing space', 'a.md '],
    ['a trailing space in a folder', 'a /b.md'],
    ['a trailing no-break space', 'a.md\u00a0'],
    ['a leading ideographic space', '\u3000a.md'],
    ['a trailing dot', 'a.md.'],
    ['a trailing dot in a folder', 'a./b.md'],
    ['three dots', '...'],
    ['a leading slash', '/a.md'],
    ['a trailing slash', 'a/'],
    ['two slashes', 'a//b'],
    ['a right-to-left override', 'a\u202egpj.md'],
    ['an isolate', 'a\u2066b'],
    ['an Arabic letter mark', 'a\u061cb'],
    ['a zero-width space', 'a\u200bb'],
    ['a zero-width joiner', 'a\u200db'],
    ['a word joiner', 'a\u2060b'],
    ['a byte order mark', '\ufeffa.md'],
    ['a soft hyphen', 'a\u00adb'],
    ['a variation selector', 'a\ufe0fb'],
    ['a tag character', 'a\u{e0041}b'],
    ['a Hangul filler', 'a\u3164b'],
    ['a line separator', 'a\u2028b'],
    ['a lone high surrogate', 'a\ud83d.md'],
    ['a lone low surrogate', 'a\ude00.md'],
    ['surrogates the wrong way round', '\ude00\ud83d'],
    ['a drive', 'C:a.md'],
    ['a wild card', '*.md'],
    ['a question mark', 'a?.md'],
    ['a quote', 'a".md'],
    ['angle brackets', '<a>.md'],
    ['a bar', 'a|b'],
    ['a percent sign', '100%'],
    ['a segment of 256 bytes', 'a'.repeat(256)],
    ['a segment of 256 bytes in 128 characters', 'é'.repeat(128)],
    ['21 segments', Array.from({ length: 21 }, () => 'a').join('/')],
    ['1,025 bytes', pathOfBytes(1025)],
    ['1,025 bytes in fewer characters', pathOfBytes(1025, 'é')],
    ['15 KB', 'a/'.repeat(7_500) + 'a'],
    ['15 KB of dots', '..'.repeat(5_000) + 'a'],
    ['15 KB of slashes', '/'.repeat(15_000)],
  ])('refuses %s', (_, path) => {
    for (const root of ['user/', 'shared/']) {
      expect(outcome(() => parseVirtualPath(root + path, ALICE))).toBe('INVALID_PATH');
    }
    for (const root of ['users/alice/', 'shared/']) {
      expect(outcome(() => parsePhysicalPath(root + path))).toBe('INVALID_PATH');
    }
    expect(isPath(path)).toBe(false);
  });

  it('refuses what has no root, another root, or a root in another case', () => {
    const virtual = ['', 'user', 'shared', 'a.md', '/user/a', 'User/a', 'users/bob/a', 'SHARED/a'];
    for (const path of [...virtual, ' user/a', 'user\\a', 'ｕser/a', './user/a', '../user/a']) {
      expect([path, outcome(() => parseVirtualPath(path, ALICE))]).toEqual([path, 'INVALID_PATH']);
    }
    const physical = [
      '',
      'users',
      'users/',
      'users/alice',
      'users/alice/',
      'users//a',
      'user/a.md',
    ];
    for (const path of [...physical, '/users/alice/a', 'Users/alice/a', 'shared', 'shared/']) {
      expect([path, outcome(() => parsePhysicalPath(path))]).toEqual([path, 'INVALID_PATH']);
    }
  });

  it.each<[string, string]>([
    ['', 'A path starts with user/, spaces/<spaceId>/ or shared/.'],
    ['user/', 'The path names no file.'],
    ['user/a//b', 'A path has no empty segment.'],
    ['user/a/../b', 'A segment is not . or ..'],
    ['user/\ud83d', 'A path is well-formed Unicode.'],
    [`user/${'é'.repeat(128)}`, 'A segment has at most 255 bytes.'],
    ['user/a:b', 'A segment has none of \\ : * ? " < > | %'],
    ['user/a\tb', 'A segment has no control or invisible character.'],
    ['user/a /b', 'A segment has no leading or trailing space.'],
    ['user/a.', 'A segment has no trailing dot.'],
    ['user/e\u0301', 'A path is in Unicode form NFC.'],
    ['user/a／b', 'A path brings in no separator or dot segment under NFKC.'],
    [`user/${'a/'.repeat(20)}a`, 'A path has at most 20 segments.'],
    [`user/${pathOfBytes(1025)}`, 'A path has at most 1024 bytes.'],
    [`user/${pathOfBytes(1025, 'é')}`, 'A path has at most 1024 bytes.'],
  ])('says what is wrong with %j', (path, message) => {
    expect(said(() => parseVirtualPath(path, ALICE))).toBe(message);
  });

  it('says what is wrong with a user id, a value that is no text, a physical path and a prefix', () => {
    expect(said(() => parseUserId('-'))).toBe(
      'A user id has 1 to 128 of A-Z a-z 0-9 . _ @ | : + = ~ -, the first a letter or digit.',
    );
    expect(said(() => parseVirtualPath(7, ALICE))).toBe('A path is text.');
    expect(said(() => parsePhysicalPath('user/a.md'))).toBe(
      'A physical path starts with users/<userId>/, spaces/<spaceId>/ or shared/.',
    );
    const noUser = 'In a physical path users/ is followed by a user id.';
    expect(said(() => parsePhysicalPath('users//a.md'))).toBe(noUser);
    expect(said(() => parsePhysicalPrefix('users/-'))).toBe(noUser);
    expect(said(() => parseVirtualPrefix('users', ALICE))).toBe(
      'A prefix starts with user/, spaces/ or shared/.',
    );
    expect(said(() => parsePhysicalPrefix('user/a'))).toBe(
      'A physical prefix starts with users/, spaces/ or shared/.',
    );
    expect(said(() => parseVirtualPrefix('user/．.', ALICE))).toBe('A segment is not . or ..');
    expect(said(() => parseVirtualPrefix(`user/${pathOfBytes(1025)}`, ALICE))).toBe(
      'A path has at most 1024 bytes.',
    );
  });

  it('says of a file that is not there which one', () => {
    expect(fileNotFound('user/a.md')).toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: 'user/a.md does not exist.',
      details: { path: 'user/a.md' },
    });
  });

  it('publishes patterns that take what the parsers take, and refuse what a pattern can refuse', () => {
    const [user, physical] = (['user-id', 'physical-path'] as const).map(
      (name) => new RegExp(PATH_PATTERNS[name].pattern, 'u'),
    );
    for (const id of userIdCorpus()) expect([id, user?.test(id)]).toEqual([id, isUserId(id)]);
    const most = Array.from({ length: 20 }, () => 'a').join('/');
    for (const path of [
      'a',
      'a.md',
      '.a',
      '..a',
      '[',
      '[a[',
      'a b/c.md',
      '日本語/メモ.md',
      'a'.repeat(255),
      most,
    ]) {
      expect([path, physical?.test(`shared/${path}`)]).toEqual([path, true]);
      expect([path, physical?.test(`users/alice/${path}`)]).toEqual([path, true]);
    }
    const none = ['', '.', '..', 'a//b', 'a/', '/a', 'a.', 'a ', ' a', ' ', 'a/../b', 'a\u0000b'];
    const signs = [...'\\:*?"<>|%\u007f\u0085'].map((sign) => `a${sign}b`);
    for (const path of [...none, ...signs, 'a'.repeat(256), `${most}/a`]) {
      expect([path, physical?.test(`shared/${path}`)]).toEqual([path, false]);
    }
    for (const path of ['users/a.md', 'users//a.md', 'user/a.md', 'x/shared/a.md', 'shareda.md']) {
      expect([path, physical?.test(path)]).toEqual([path, false]);
    }
  });

  it('refuses a physical path whose user is none', () => {
    for (const id of ['..', '.', ' ', '%2e%2e', 'al ice', '-a', 'álice', 'a'.repeat(129), 'a\0']) {
      expect([id, outcome(() => parsePhysicalPath(`users/${id}/a.md`))]).toEqual([
        id,
        'INVALID_PATH',
      ]);
      expect([id, outcome(() => parsePhysicalPrefix(`users/${id}/a`))]).toEqual([
        id,
        'INVALID_PATH',
      ]);
    }
  });

  it.each<[string, unknown]>([
    ['a number', 0],
    ['null', null],
    ['nothing', undefined],
    ['an array of a path', ['user/a.md']],
    ['an object that reads as a path', { toString: () => 'user/a.md' }],
    ['a boxed text', Object('user/a.md')],
    ['true', true],
  ])('is text: %s is refused', (_, value) => {
    expect(outcome(() => parseVirtualPath(value, ALICE))).toBe('INVALID_PATH');
    expect(outcome(() => parsePhysicalPath(value))).toBe('INVALID_PATH');
    expect(outcome(() => parsePhysicalPrefix(value))).toBe('INVALID_PATH');
    expect(outcome(() => assertFileKey({ scope: 's', path: value as string }))).toBe(
      'INVALID_PATH',
    );
  });

  it(`agrees with the grammar on ${FUZZED.toLocaleString('en-US')} fuzzed paths`, () => {
    const counts = { ok: 0, INVALID_PATH: 0 };
    const wrong = disagreements(FUZZED, 1, (path) => {
      const expected = isPath(path) ? 'ok' : 'INVALID_PATH';
      counts[expected] += 1;
      return (
        outcome(() => parseVirtualPath(`user/${path}`, ALICE)) === expected &&
        outcome(() => assertFileKey({ scope: 'u:alice', path })) === expected
      );
    });
    expect(wrong).toEqual([]);
    // Both sides are met often, so that neither answer alone would pass.
    expect(Math.min(counts.ok, counts.INVALID_PATH)).toBeGreaterThan(0.15 * FUZZED);
  });

  it('agrees with the grammar on each character of Unicode', () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const path = `a${String.fromCodePoint(code)}b`;
      const expected = isPath(path) ? 'ok' : 'INVALID_PATH';
      if (outcome(() => assertFileKey({ scope: 's', path })) !== expected) {
        wrong.push(code.toString(16));
      }
      if (code === 0x2ffff) code = 0xdffff;
      if (code === 0xe1fff) code = 0x10ffef;
    }
    expect(wrong).toEqual([]);
  });

  it("never turns one user's path into another's, whatever it holds", () => {
    const users = ['alice', 'bob', 'Alice', 'alice.', 'alice|bob', 'u:s', 'shared', '0'].map(
      parseUserId,
    );
    const wrong = disagreements(20_000, 2, (path, next) => {
      const user = users[next(users.length)] as UserId;
      const root = ['user/', 'shared/', '', 'users/bob/', 'user', '/user/'][next(6)] as string;
      const text = root + path;
      const parsed = attempt(() => parseVirtualPath(text, { userId: user }));
      if (parsed === null) return true;
      if (parsed.scope !== (text.startsWith('shared/') ? 's' : `u:${user}`)) return false;
      const physical = toPhysicalPath(parsed);
      const start = parsed.scope === 's' ? 'shared/' : `users/${user}/`;
      return physical.startsWith(start) && toVirtualPath(parsed) === text;
    });
    expect(wrong).toEqual([]);
  });

  it('goes from a physical path to the file and back', () => {
    let taken = 0;
    const wrong = disagreements(20_000, 3, (path) => {
      const text = `users/a|b:c@d.e/${path}`;
      const key = attempt(() => parsePhysicalPath(text));
      if (key === null) return true;
      taken += 1;
      return toPhysicalPath(key) === text && key.path === path && key.scope === 'u:a|b:c@d.e';
    });
    expect(wrong).toEqual([]);
    expect(taken).toBeGreaterThan(3_000);
    fc.assert(
      fc.property(fileKey(), (key) => {
        expect(parsePhysicalPath(toPhysicalPath(key))).toEqual(key);
        const userId = toUserId(key.scope) ?? 'anyone';
        expect(parseVirtualPath(toVirtualPath(key), { userId })).toEqual(key);
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives two files two physical paths', () => {
    fc.assert(
      fc.property(fileKey(), fileKey(), (a, b) => {
        const isSame = a.scope === b.scope && a.path === b.path;
        return (toPhysicalPath(a) === toPhysicalPath(b)) === isSame;
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('prefixes', () => {
  it('takes nothing for both roots, and a root with or without its slash', () => {
    const both = [
      { scope: 'u:alice', prefix: '' },
      { scope: 's', prefix: '' },
    ];
    for (const nothing of [undefined, null, '']) {
      expect(parseVirtualPrefix(nothing, ALICE)).toEqual(both);
    }
    for (const root of ['user', 'user/']) {
      expect(parseVirtualPrefix(root, ALICE)).toEqual([{ scope: 'u:alice', prefix: '' }]);
    }
    for (const root of ['shared', 'shared/']) {
      expect(parseVirtualPrefix(root, ALICE)).toEqual([{ scope: 's', prefix: '' }]);
    }
  });

  it('takes a path that is cut short anywhere', () => {
    for (const path of ['projects/été 1.x/notes.md', '.config/..a/日本.md', pathOfBytes(1024)]) {
      for (let end = 0; end <= path.length; end += 1) {
        const prefix = path.slice(0, end);
        if (/(?:^|\/)\.\.?$/.test(prefix)) continue;
        expect(parseVirtualPrefix(`user/${prefix}`, ALICE)).toEqual([{ scope: 'u:alice', prefix }]);
        expect(parseVirtualPrefix(`shared/${prefix}`, ALICE)).toEqual([{ scope: 's', prefix }]);
        expect(parsePhysicalPrefix(`users/alice/${prefix}`)).toBe(`users/alice/${prefix}`);
        expect(parsePhysicalPrefix(`shared/${prefix}`)).toBe(`shared/${prefix}`);
      }
    }
    for (let end = 0; end <= 'users/alice'.length; end += 1) {
      expect(outcome(() => parsePhysicalPrefix('users/alice'.slice(0, end)))).toBe('ok');
    }
    for (let end = 0; end <= 'shared/'.length; end += 1) {
      expect(outcome(() => parsePhysicalPrefix('shared/'.slice(0, end)))).toBe('ok');
    }
  });

  it.each<[string, string]>([
    ['dots', '..'],
    ['a dot', '.'],
    ['a way up', 'a/..'],
    ['a way up and on', '../bob'],
    ['full-width dots', '．．'],
    ['a full-width and a plain dot', '．.'],
    ['an empty segment', 'a//'],
    ['a slash alone', '/'],
    ['a leading space', ' a'],
    ['a full-width slash', 'a／b'],
    ['a full-width backslash', 'a＼'],
    ['a folder with a trailing dot', 'a./b'],
    ['a folder with a trailing space', 'a /'],
    ['half of a surrogate pair', 'a\ud83d'],
    ['NFD', 'e\u0301'],
    ['a last segment of 256 bytes', 'a'.repeat(256)],
    ['a last segment of 256 bytes in 128 characters', 'é'.repeat(128)],
    ['20 folders', 'a/'.repeat(20)],
    ['1,025 bytes', pathOfBytes(1025)],
    ['1,025 bytes in fewer characters', pathOfBytes(1025, 'é')],
    ['1,024 bytes that end in a slash', `${pathOfBytes(1023)}/`],
    ['a percent sign, as in LIKE', '%'],
  ])('refuses %s, with which no file starts', (_, prefix) => {
    expect(outcome(() => parseVirtualPrefix(`user/${prefix}`, ALICE))).toBe('INVALID_PATH');
    expect(outcome(() => parseVirtualPrefix(`shared/${prefix}`, ALICE))).toBe('INVALID_PATH');
    expect(outcome(() => parsePhysicalPrefix(`users/alice/${prefix}`))).toBe('INVALID_PATH');
    expect(outcome(() => parsePhysicalPrefix(`shared/${prefix}`))).toBe('INVALID_PATH');
  });

  it(`agrees with the grammar on ${FUZZED.toLocaleString('en-US')} fuzzed prefixes`, () => {
    const counts = { ok: 0, INVALID_PATH: 0 };
    const wrong = disagreements(FUZZED, 4, (prefix) => {
      const expected = isPrefix(prefix) ? 'ok' : 'INVALID_PATH';
      counts[expected] += 1;
      return (
        outcome(() => parseVirtualPrefix(`user/${prefix}`, ALICE)) === expected &&
        outcome(() => parsePhysicalPrefix(`users/alice/${prefix}`)) === expected
      );
    });
    expect(wrong).toEqual([]);
    expect(Math.min(counts.ok, counts.INVALID_PATH)).toBeGreaterThan(0.15 * FUZZED);
  });

  it("never reaches another user's scope", () => {
    const wrong = disagreements(20_000, 5, (path, next) => {
      const root = ['user/', 'user', 'shared/', '', 'users/bob/', 'users'][next(6)] as string;
      const scopes = attempt(() => parseVirtualPrefix(root + path, ALICE)) ?? [];
      return scopes.every(({ scope }) => scope === 's' || scope === 'u:alice');
    });
    expect(wrong).toEqual([]);
  });

  it('refuses other roots', () => {
    for (const root of [
      'us',
      'users',
      'users/alice/',
      'use',
      'sharedx',
      'xshared/',
      'user2/',
      'USER/',
      '/',
    ]) {
      expect([root, outcome(() => parseVirtualPrefix(root, ALICE))]).toEqual([
        root,
        'INVALID_PATH',
      ]);
    }
    for (const root of [
      'x',
      'user/a',
      'sharedx',
      'xshared/',
      'usersx',
      '/',
      'Users/',
      'users//',
      'users/-',
    ]) {
      expect([root, outcome(() => parsePhysicalPrefix(root))]).toEqual([root, 'INVALID_PATH']);
    }
  });
});

/*
 * The grammar once more, from the contract's table alone: code point by code point, by numbers.
 */

function isUserId(id: unknown): boolean {
  if (typeof id !== 'string' || id.length < 1 || id.length > 128) return false;
  const first = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return [...id].every((char, index) => (index === 0 ? first : `${first}._@|:+=~-`).includes(char));
}

function isPath(path: string): boolean {
  const codes = toCodePoints(path);
  if (codes === null || byteLength(codes) > PATH_BYTES) return false;
  if (path.normalize('NFC') !== path) return false;
  const segments = path.split('/');
  return segments.length <= 20 && segments.every(isSegment);
}

const PATH_BYTES = 1024;

function isSegment(segment: string): boolean {
  const codes = toCodePoints(segment);
  if (codes === null || codes.length === 0 || byteLength(codes) > 255) return false;
  const first = codes[0] as number;
  const last = codes.at(-1) as number;
  if (SPACES[first] === 1 || SPACES[last] === 1 || last === 0x2e) return false;
  if (codes.some((code) => INVISIBLE[code] === 1)) return false;
  if ([...'\\:*?"<>|%'].some((char) => segment.includes(char))) return false;
  const compatible = segment.normalize('NFKC');
  if (compatible.includes('/') || compatible.includes('\\')) return false;
  return !['.', '..'].includes(segment) && !['.', '..'].includes(compatible);
}

/** Some path starts with it; dot segments are refused as they stand, in plain or in wide form. */
function isPrefix(prefix: string): boolean {
  if (prefix === '') return true;
  const last = prefix.split('/').at(-1) as string;
  if (['.', '..'].includes(last.normalize('NFKC'))) return false;
  return isPath(prefix) || isPath(`${prefix}x`);
}

type Ranges = readonly (readonly [number, number])[];

/** White space of Unicode. */
const SPACES = toTable([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0x85, 0x85],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
]);

/** Control, format, bidi and zero-width characters: numbers of Unicode 15. */
const INVISIBLE = toTable([
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x0600, 0x0605],
  [0x061c, 0x061c],
  [0x06dd, 0x06dd],
  [0x070f, 0x070f],
  [0x0890, 0x0891],
  [0x08e2, 0x08e2],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
]);

/** One byte for each code point: millions of look-ups are made. */
function toTable(ranges: Ranges): Uint8Array {
  const table = new Uint8Array(0x110000);
  for (const [from, to] of ranges) table.fill(1, from, to + 1);
  return table;
}

/** `null` for half of a surrogate pair. Iterates, because `codePointAt` is wrong on Node 23 to 26. */
function toCodePoints(text: string): number[] | null {
  const codes = [...text].map((character) => character.codePointAt(0) as number);
  return codes.some((code) => code >= 0xd800 && code <= 0xdfff) ? null : codes;
}

function byteLength(codes: readonly number[]): number {
  let bytes = 0;
  for (const code of codes) bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  return bytes;
}

/*
 * Fuzzing.
 */

const PIECES = [
  ...['a', 'b.md', 'notes', 'x y', '.x', '..x', 'é', '日本', '😀', 'ﬁ', "'", '~', '0', '-', '_'],
  ...['projects', 'a.b', '½', '…', 'ａ', 'constructor', 'user', 'shared', 'users', 'bob'],
];
const ATTACKS = [
  ...['.', '..', '...', ' ', '  ', '\\', ':', '*', '?', '"', '<', '>', '|', '%', '%2e%2e', '%2f'],
  ...['%252e', '..%5c', '%00', '\0', '\n', '\r', '\t', '\x1b', '\x7f', '\u0085', '\u00a0'],
  ...['．', '．．', '․', '‥', '／', '＼', '﹨', '℀', '℅', 'e\u0301', '\u0301', '\u212b', '\u0344'],
  ...['\u200b', '\u200d', '\u202e', '\u2066', '\u061c', '\ufeff', '\u00ad', '\ufe0f', '\u2028'],
  ...['\u3000', '\u3164', '\u{e0041}', '\ud83d', '\ude00', '\ufffd', 'Ã®', '\u00c0\u00ae', '⁄'],
  ...['a'.repeat(253), 'a'.repeat(255), 'a'.repeat(256), 'é'.repeat(127), 'é'.repeat(128)],
  ...[
    '日'.repeat(85),
    '日'.repeat(86),
    '😀'.repeat(63),
    '😀'.repeat(64),
    '/',
    '//',
    '../memory',
    '..',
  ],
];

/**
 * Texts near the grammar: segments of plain pieces, now and then with an attack, sometimes long or
 * deep. Returns those on which `agrees` fails, at most ten.
 */
function disagreements(
  runs: number,
  seed: number,
  agrees: (path: string, next: (below: number) => number) => boolean,
): string[] {
  const next = randomSource(seed);
  const pick = (list: readonly string[]): string => list[next(list.length)] as string;
  const wrong: string[] = [];
  for (let run = 0; run < runs && wrong.length < 10; run += 1) {
    const path = fuzzedPath(next, pick);
    if (!agrees(path, next)) wrong.push(JSON.stringify(path.slice(0, 600)));
  }
  return wrong;
}

function fuzzedPath(next: (below: number) => number, pick: (list: readonly string[]) => string) {
  const shape = next(100);
  if (shape === 0) return (pick(PIECES) + pick(['/', '', ' '])).repeat(15_000 / 4).slice(0, 15_000);
  if (shape < 4) return pathOfBytes(509 + next(6), pick(['a', 'é', '日', '😀']));
  const depth = shape < 10 ? 14 + next(5) : 1 + next(4);
  // About half of the texts hold an attack at all.
  const hasAttack = next(2) === 0;
  const segments = Array.from({ length: depth }, () => {
    const pieces = Array.from({ length: 1 + next(3) }, () => pick(PIECES));
    if (hasAttack && next(depth) === 0) pieces.splice(next(pieces.length + 1), 0, pick(ATTACKS));
    if (hasAttack && next(6) === 0) return pick(ATTACKS);
    return pieces.join('');
  });
  const path = segments.join('/');
  return next(12) === 0 ? path.slice(0, next(path.length + 1)) : path;
}

/** A path of exactly so many bytes, in segments of at most 255, from a character of 1 to 4 bytes. */
function pathOfBytes(bytes: number, char = 'a'): string {
  const width = Buffer.byteLength(char);
  let path = '';
  let left = bytes;
  while (left > 0) {
    const size = Math.min(left, 250);
    const chars = Math.floor((size - 1) / width);
    path += char.repeat(chars) + 'a'.repeat(size - 1 - chars * width);
    path += left > 250 ? '/' : 'a';
    left -= size;
  }
  return path;
}

/** A small seeded generator (mulberry32): what fails once fails again. */
function randomSource(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function fileKey(): fc.Arbitrary<FileKey> {
  const segment = fc
    .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 })
    .map((pieces) => pieces.join(''));
  return fc.record({
    scope: fc.constantFrom<ScopeKey>('s', 'u:alice', 'u:Alice', 'u:shared', 'u:a|b', 'u:s'),
    path: fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')),
  });
}

function userIdCorpus(): string[] {
  const allowed = [...'._@|:+=~-'].flatMap((char) => [`a${char}`, `a${char}b`, `0${char}${char}`]);
  const leading = [...'._@|:+=~-'].map((char) => `${char}a`);
  const foreign = [...'/\\%*?"<>!#$&\'(),;[]^`{} \t\n\r\0\x7f'].flatMap((char) => [
    char,
    `a${char}`,
    `a${char}b`,
  ]);
  return [
    ...allowed,
    ...leading,
    ...foreign,
    ...['alice', 'Alice', 'ALICE', 'a', 'Z', '0', '9', '42', '007', '1e3', '0x10', 'null', 'true'],
    ...['undefined', 'NaN', 'constructor', 'prototype', 'toString', 'shared', 'users', 'user', 's'],
    ...['alice@example.com', 'auth0|5f7c8ec7c33c6c004bbafe82', 'did:web:example.com', 'user_1'],
    ...['userX1', 'a.', 'a..', 'a...b', 'a--', 'b=c', 'b~', 'x'.repeat(127), 'x'.repeat(128)],
    ...['019c1350-2d80-7001-9c12-0b7de1a45f3e', 'arn:aws:iam::123456789012:user|x', 'a+b'],
    ...['', 'x'.repeat(129), 'x'.repeat(15_000), '__proto__', '_', '.', '..', '...', '-', '~'],
    ...['alice/../bob', '../bob', 'alice/', '/alice', 'a%2fb', '%61lice', '%', '%25', 'a%00'],
    ...['álice', 'alicé', 'a\u0301lice', 'ａlice', 'аlice', 'алиса', '爱丽丝', 'أليس', '😀', 'ǅ'],
    ...['alice\u200b', '\ufeffalice', 'alice\u202e', 'a\u00adb', 'alice\u00a0', '\u3000alice'],
    ...['\ud83d', 'a\ude00', 'ⅷ', '١٢٣', '１２３', 'ſ', 'K', 'ı', 'İ', 'ﬁ', 'ª', '²'],
    ...["' OR 1=1 --", '"; DROP TABLE svc_file; --', '${7*7}', '{{7*7}}', '<script>', '$(id)'],
  ];
}

function expectedOfUserId(id: unknown): string {
  return isUserId(id) ? 'ok' : 'INVALID_USER_ID';
}

/** `ok`, the code of the `MemoryError`, or what else was thrown. */
function outcome(run: () => unknown): string {
  const error = thrownBy(run);
  if (error === undefined) return 'ok';
  return error instanceof MemoryError ? error.code : String(error);
}

/** What the refusal of a call tells its caller. */
function said(run: () => unknown): string | undefined {
  return (thrownBy(run) as Error | undefined)?.message;
}

function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof MemoryError) return null;
    throw error;
  }
}

it('publishes the limits of the grammar', () => {
  expect(PATH_LIMITS).toEqual({ bytes: 1024, segments: 20, segmentBytes: 255 });
});
