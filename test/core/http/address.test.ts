import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { addressKey, clientAddress } from '../../../core/http/address.ts';

describe('an address', () => {
  it('counts as the /64 of IPv6, and as itself otherwise', () => {
    expect(addressKey('192.0.2.1')).toBe('192.0.2.1');
    const key = addressKey('2001:db8:0:1:2:3:4:5');
    expect(addressKey('2001:0DB8::1:ffff:0:0:9')).toBe(key);
    expect(addressKey('2001:db8:0:2::1')).not.toBe(key);
    expect(addressKey('::1')).toBe('0:0:0:0::/64');
    expect(addressKey('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
    expect(addressKey('')).toBe('');
  });

  it('counts as the IPv4 address that it stands for', () => {
    // Mapped, compatible, NAT64 (two), 6to4, Teredo: each of these shares its /64 with others.
    for (const address of [
      '::ffff:192.0.2.1',
      '::FFFF:C000:201',
      '0:0:0:0:0:ffff:192.0.2.1',
      '::192.0.2.1',
      '64:ff9b::192.0.2.1',
      '64:ff9b:1::c000:201',
      '2002:c000:201::1',
      '2001:0:5ef5:79fd:0:59d:3fff:fdfe',
    ]) {
      expect(addressKey(address), address).toBe('192.0.2.1');
    }
  });

  it.each([
    // Azure and others add the port, which differs with each connection.
    ['192.0.2.8:4711', '192.0.2.8'],
    ['[2001:db8::8]:4711', '2001:db8::8'],
    ['[2001:db8::8]', '2001:db8::8'],
    ['2001:DB8::8', '2001:db8::8'],
    ['"[2001:db8::8]:4711"', '2001:db8::8'],
    ['"192.0.2.8"', '192.0.2.8'],
    ['fe80::8%eth0', 'fe80::8'],
    ['[fe80::8%any text]:80', 'fe80::8'],
    ['[::ffff:192.0.2.8]:80', '192.0.2.8'],
    ['::FFFF:C000:208', '192.0.2.8'],
    ['0:0:0:0:0:ffff:192.0.2.8', '192.0.2.8'],
    ['198.51.100.1, 192.0.2.8:80', '192.0.2.8'],
    ['198.51.100.1:1,[2001:db8::8]:80', '2001:db8::8'],
    ['192.0.2.8, ', '192.0.2.8'],
    ['192.0.2.8,,\t,', '192.0.2.8'],
    ['unknown, 192.0.2.8', '192.0.2.8'],
    ['a" , "[::1]:x, 192.0.2.8', '192.0.2.8'],
    // Whoever comes as something else counts as the proxy, each time.
    ['unknown', '10.0.0.1'],
    ['192.0.2.7, unknown', '10.0.0.1'],
    ['192.0.2.8:port', '10.0.0.1'],
    ['192.0.2.8:123456', '10.0.0.1'],
    ['[192.0.2.8', '10.0.0.1'],
    ['[2001:db8::8]80', '10.0.0.1'],
    ['192.0.2.256', '10.0.0.1'],
    ['_hidden', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6:4711', '2001:db8:1:2:3:4:5:6'],
    ['2001:db8::1:54711', '2001:db8::1'],
    ['::ffff:192.0.2.1:4711', '192.0.2.1'],
    ['', '10.0.0.1'],
    [', ,', '10.0.0.1'],
    [`${'9'.repeat(10_000)}`, '10.0.0.1'],
  ])('is read from X-Forwarded-For: %s', (forwarded, expected) => {
    const request = {
      socket: { remoteAddress: '10.0.0.1' },
      headers: { 'x-forwarded-for': forwarded },
    } as unknown as IncomingMessage;
    expect(clientAddress(request, true)).toBe(expected);
    expect(clientAddress(request, false)).toBe('10.0.0.1');
  });

  it('is one of at most a /64 or an IPv4 address, whatever port and zone a client comes with', () => {
    const keys = new Set(
      Array.from({ length: 1_000 }, (_, index) => {
        const forwarded =
          index % 2 === 0
            ? `[2001:db8::${index.toString(16)}%${index}]:${index}`
            : `198.51.100.${index % 256}, 192.0.2.8:${index}`;
        const request = {
          socket: { remoteAddress: '10.0.0.1' },
          headers: { 'x-forwarded-for': forwarded },
        } as unknown as IncomingMessage;
        return addressKey(clientAddress(request, true));
      }),
    );
    expect([...keys]).toEqual(['2001:db8:0:0::/64', '192.0.2.8']);
  });

  it('is that of the peer, or the last that a trusted proxy names', () => {
    const of = (peer: string | undefined, forwarded?: string | string[], trustProxy = true) =>
      clientAddress(
        {
          socket: { remoteAddress: peer },
          headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
        } as IncomingMessage,
        trustProxy,
      );
    expect(of('192.0.2.1')).toBe('192.0.2.1');
    expect(of('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(of('::ffff:c000:201')).toBe('192.0.2.1');
    expect(of('2001:db8::1')).toBe('2001:db8::1');
    expect(of('abcdefg192.0.2.1')).toBe('abcdefg192.0.2.1');
    expect(of(undefined)).toBe('');
    expect(of('10.0.0.1', '192.0.2.7, 192.0.2.8')).toBe('192.0.2.8');
    expect(of('10.0.0.1', '192.0.2.7, ::ffff:192.0.2.8')).toBe('192.0.2.8');
    expect(of('10.0.0.1', ['192.0.2.7', '192.0.2.8'])).toBe('192.0.2.8');
    expect(of('10.0.0.1', '192.0.2.7, unknown')).toBe('10.0.0.1');
    expect(of('10.0.0.1', '192.0.2.7', false)).toBe('10.0.0.1');
  });
});
