import { describe, expect, it } from 'vitest';
import { isAllowedBaseUrl } from '../../../core/config/base-url.ts';

/** Link-local, as IPv4, IPv6, in each way to write them, and hidden in the other family. */
const LINK_LOCAL = [
  '169.254.169.254',
  '169.254.0.0',
  '169.254.255.255',
  '169.254.170.2',
  '169.254.43518',
  '169.16689662',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '0xa9.0xfe.0xa9.0xfe',
  '１６９.２５４.１６９.２５４',
  '169。254。169。254',
  '169%2e254%2e169%2e254',
  '169.254.169.254.',
  '[fe80::1]',
  '[FE80::A9FE:A9FE]',
  '[fe80:0:0:0:0:0:0:1]',
  '[febf:ffff::1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[0:0:0:0:0:ffff:169.254.169.254]',
  '[::169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[2002:a9fe:a9fe::1]',
];

const PRIVATE = [
  'localhost',
  'LOCALHOST',
  'models.localhost',
  'localhost.',
  '127.0.0.1',
  '127.255.255.254',
  '127.1',
  '2130706433',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '[::1]',
  '[fc00::1]',
  '[fdff:ffff::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:10.1.2.3]',
  // Tailscale, and carriers.
  '100.64.0.1',
  '100.100.100.100',
  '100.127.255.255',
  '[::ffff:100.64.0.1]',
  '[64:ff9b::10.0.0.1]',
  '[fd7a:115c:a1e0::1]',
  '[fd00::1]',
];

/** Where clouds serve the machine's own credentials, beside link-local addresses. */
const METADATA = [
  '[fd00:ec2::254]',
  '[fd00:ec2::23]',
  '[FD00:0EC2:0:0::254]',
  '[fd20:ce::254]',
  '[fd00:c1::a9fe:a9fe]',
  '[fd00:42::42]',
  '[fd00:a9fe:a9fe::1]',
  '100.100.100.200',
  '0x646464c8',
  '[::ffff:100.100.100.200]',
  '[64:ff9b::100.100.100.200]',
  '[2002:6464:64c8::1]',
  '192.0.0.192',
  '168.63.129.16',
  '[::ffff:168.63.129.16]',
  '[::ffff:0:169.254.169.254]',
  // NAT64 with a prefix of 48, 56 and 64 bits (RFC 6052).
  '[64:ff9b:1:a9fe:a9:fe00::]',
  '[64:ff9b:1:a9:fe:a9fe::]',
  '[64:ff9b:1:0:a9:fea9:fe00:0]',
  // Teredo: the client, inverted, and the server.
  '[2001:0:808:808::5601:5601]',
  '[2001:0:a9fe:a9fe::f7f7:f7f7]',
  'metadata.google.internal',
  'METADATA.google.internal.',
  'x.metadata.google.internal',
  'metadata.goog',
  'metadata',
  'instance-data.ec2.internal',
];

const PUBLIC = [
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '[2001:db8::1]',
  '[64:ff9b::8.8.8.8]',
  '[2002:808:808::1]',
  '[::ffff:8.8.8.8]',
  '[fbff::1]',
  '[fec0::1]',
];

/** Nobody listens there, or everybody. */
const NOWHERE = ['0.0.0.0', '0', '[::]', '255.255.255.255', '224.0.0.1', '[ff02::1]', '240.0.0.1'];

describe('the base URL of a provider (T23)', () => {
  it('is tried on 60 addresses and more', () => {
    const all = [...LINK_LOCAL, ...METADATA, ...PRIVATE, ...PUBLIC, ...NOWHERE];
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(60);
  });

  it.each([...LINK_LOCAL, ...METADATA])('is never link-local, nor of metadata: %s', (host) => {
    for (const url of [`http://${host}/v1`, `https://${host}/v1`, `https://${host}:8443`]) {
      expect(isAllowedBaseUrl(url), url).toBe(false);
    }
  });

  it.each(PRIVATE)('may be plain HTTP on this machine and in a private network: %s', (host) => {
    expect(isAllowedBaseUrl(`http://${host}:11434/v1`)).toBe(true);
    expect(isAllowedBaseUrl(`https://${host}/v1`)).toBe(true);
  });

  it.each(PUBLIC)('is HTTPS at any other address: %s', (host) => {
    expect(isAllowedBaseUrl(`http://${host}/v1`)).toBe(false);
    expect(isAllowedBaseUrl(`https://${host}/v1`)).toBe(true);
  });

  it.each(NOWHERE)('is no address that is nobody’s or everybody’s: %s', (host) => {
    expect(isAllowedBaseUrl(`http://${host}/v1`)).toBe(false);
    expect(isAllowedBaseUrl(`https://${host}/v1`)).toBe(false);
  });

  it('may be a name, whose addresses are known when it is called', () => {
    expect(isAllowedBaseUrl('https://models.example/v1')).toBe(true);
    expect(isAllowedBaseUrl('http://ollama:11434')).toBe(true);
    expect(isAllowedBaseUrl('https://metadata.google.internal.example/v1')).toBe(true);
    expect(isAllowedBaseUrl('http://my-metadata:11434')).toBe(true);
  });

  it.each([
    'file:///etc/passwd',
    'ftp://models.example',
    'javascript:alert(1)',
    'http://',
    'models.example',
    'https://[fe80::1%25eth0]/',
    'https://key@models.example/v1',
    'https://user:password@models.example/v1',
    'https://models.example/v1#x',
    '',
  ])('is nothing but an address and a path: %s', (url) => {
    expect(isAllowedBaseUrl(url)).toBe(false);
  });
});
