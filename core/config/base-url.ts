import { BlockList, isIP } from 'node:net';
import { toGroups } from '../ipv6.ts';

/**
 * Whether a provider's base URL is allowed: `https:`, or `http:` to this machine, to a private
 * network (RFC 1918, RFC 4193) or to a host name. Link-local addresses are never allowed: clouds
 * serve the machine's own credentials there. Host names are not resolved here; `isAllowedAddress`
 * checks their addresses on connecting.
 */
export function isAllowedBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return false;
  // fetch refuses credentials in a URL, and they would be logged with it.
  if (username !== '' || password !== '' || hash !== '') return false;
  // The URL parser has already normalised hexadecimal, octal, short and wide forms.
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowedAddress(host, protocol);
}

/**
 * Whether a provider may be at this IP address: the second half of the check, for the addresses of
 * a host name. `protocol` is the base URL's, with its colon. Anything that is not an IP address is
 * refused.
 */
export function isAllowedAddress(text: string, protocol: string): boolean {
  // A zone (fe80::1%eth0) names the network and is not part of the address.
  const plain = text.split('%', 1)[0] ?? '';
  if (isIP(plain) === 0) return false;
  const address = isIP(plain) === 6 ? (embeddedIpv4(plain) ?? plain) : plain;
  const kind = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (REFUSED.check(address, kind)) return false;
  return protocol === 'https:' || PRIVATE.check(address, kind);
}

const PRIVATE = new BlockList();
PRIVATE.addSubnet('127.0.0.0', 8);
PRIVATE.addSubnet('10.0.0.0', 8);
PRIVATE.addSubnet('172.16.0.0', 12);
PRIVATE.addSubnet('192.168.0.0', 16);
PRIVATE.addAddress('::1', 'ipv6');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/** Link-local addresses, and those that don't belong to a single machine. */
const REFUSED = new BlockList();
REFUSED.addSubnet('169.254.0.0', 16);
REFUSED.addSubnet('0.0.0.0', 8);
REFUSED.addSubnet('224.0.0.0', 3);
REFUSED.addSubnet('fe80::', 10, 'ipv6');
REFUSED.addSubnet('ff00::', 8, 'ipv6');
REFUSED.addAddress('::', 'ipv6');

/**
 * IPv6 prefixes that embed an IPv4 address, and the group where it starts: translated (RFC 6052,
 * RFC 8215), 6to4 (RFC 3056) and the old compatible form. `BlockList` handles mapped ones
 * (`::ffff:…`) itself.
 */
const EMBEDDING: readonly { prefix: string; bits: number; at: number }[] = [
  { prefix: '64:ff9b::', bits: 96, at: 6 },
  { prefix: '64:ff9b:1::', bits: 48, at: 6 },
  { prefix: '2002::', bits: 16, at: 1 },
  { prefix: '::', bits: 96, at: 6 },
];

function embeddedIpv4(address: string): string | null {
  if (address === '::' || address === '::1') return null;
  const found = EMBEDDING.find(({ prefix, bits }) => {
    const list = new BlockList();
    list.addSubnet(prefix, bits, 'ipv6');
    return list.check(address, 'ipv6');
  });
  if (found === undefined) return null;
  const groups = toGroups(address);
  const [high = 0, low = 0] = groups.slice(found.at, found.at + 2);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
