import { describe, expect, it } from 'vitest';
import {
  allowedAccess,
  checkKeyTool,
  checkKeyUser,
  isKeyTool,
  onlyUserOf,
} from '../../../core/access/key-rules.ts';
import { isIdPrefix } from '../../../core/access/prefix.ts';

describe('a prefix of ids', () => {
  it.each(['a:*', 'acme:*', 'acme.*', 'acme-*', 'acme_*', 'a:b:*', `${'a'.repeat(127)}:*`])(
    'takes %s',
    (text) => expect(isIdPrefix(text)).toBe(true),
  );

  it.each(['', '*', ':*', '_*', 'acme*', 'ac*me:*', 'acme:**', '*:*', 'acme:', '-a:*', 'a b:*'])(
    'refuses %j',
    (text) => expect(isIdPrefix(text)).toBe(false),
  );

  it('refuses one that is longer than an id', () => {
    expect(isIdPrefix(`${'a'.repeat(128)}:*`)).toBe(false);
  });
});

describe('the spaces of a key', () => {
  const key = { spaces: ['acme:write', 'docs:read', 'acme:*:read', 'acme:eu:*:write', 'a:b:read'] };

  it.each([
    ['acme', 'write'],
    ['docs', 'read'],
    ['acme:us', 'read'],
    ['acme:eu:1', 'write'],
    ['acme:', 'read'],
    ['a:b', 'read'],
    ['a', null],
    ['Acme', null],
    ['acmes', null],
    ['docs:1', null],
  ] as const)('allow %s: %s', (id, access) => {
    expect(allowedAccess(key, id)).toBe(access);
  });

  it('takes the exact entry before a longer access by prefix', () => {
    const mixed = { spaces: ['acme:*:write', 'acme:1:read', '*:write'] };
    expect(allowedAccess(mixed, 'acme:1')).toBe('read');
    expect(allowedAccess(mixed, 'acme:2')).toBe('write');
    expect(allowedAccess(mixed, 'other')).toBe('write');
  });

  it('takes the longest prefix, in any order', () => {
    const spaces = ['a:b:*:read', '*:write', 'a:*:write'];
    expect(allowedAccess({ spaces }, 'a:b:c')).toBe('read');
    expect(allowedAccess({ spaces: spaces.toReversed() }, 'a:b:c')).toBe('read');
  });

  it('are none where the key names none, and all without a key', () => {
    expect(allowedAccess({ spaces: [] }, 'acme')).toBe(null);
    expect(allowedAccess(undefined, 'acme')).toBe('write');
  });
});

describe('the users and tools of a key', () => {
  it('refuses a user that it does not name', () => {
    const key = { users: ['alice', 'acme:*'] };
    for (const user of ['alice', 'acme:1']) expect(() => checkKeyUser(key, user)).not.toThrow();
    for (const user of ['Alice', 'alice2', 'acme', 'bob']) {
      expect(() => checkKeyUser(key, user)).toThrow(
        expect.objectContaining({ code: 'USER_NOT_ALLOWED' }),
      );
    }
    expect(() => checkKeyUser({ users: ['*'] }, 'bob')).not.toThrow();
    expect(() => checkKeyUser({ users: null }, 'bob')).not.toThrow();
  });

  it('refuses a tool that it does not name, by itself or by what it does', () => {
    const read = { name: 'memory_read', readOnly: true };
    const write = { name: 'memory_write', readOnly: false };
    expect(isKeyTool({ tools: ['read'] }, read)).toBe(true);
    expect(isKeyTool({ tools: ['read', 'memory_write'] }, write)).toBe(true);
    expect(() => checkKeyTool({ tools: ['read'] }, write)).toThrow(
      expect.objectContaining({ code: 'TOOL_NOT_ALLOWED' }),
    );
    expect(() => checkKeyTool({ tools: [] }, read)).toThrow(
      expect.objectContaining({ code: 'TOOL_NOT_ALLOWED' }),
    );
  });

  it('tells the only user of a key', () => {
    expect(onlyUserOf({ users: ['alice'] })).toBe('alice');
    expect(onlyUserOf({ users: ['alice', 'bob'] })).toBe(null);
    expect(onlyUserOf({ users: ['acme:*'] })).toBe(null);
    expect(onlyUserOf({ users: null })).toBe(null);
    expect(onlyUserOf(undefined)).toBe(null);
  });
});
