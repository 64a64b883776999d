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
    expect(of('::ffff:c000:201')).toBe('::ffff:c000:201');
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
