import { BlockList, isIP } from 'node:net';
import { embeddedIpv4, withoutZone } from '../network/ip.ts';

/**
 * Whether a provider's base URL is allowed: `https:`, or `http:` to this machine, to a private
 * network or to a host name. Link-local addresses, and those and the names where clouds serve the
 * machine's own credentials, are never allowed. Host names are not resolved here;
 * `isAllowedAddress` checks their addresses on connecting.
 */
export function isAllowedBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return false;
  // fetch refuses credentials in a URL, and they would be logged with it.
  if (username !== '' || password !== '' || hash !== '') return false;
  // The URL parser has already normalised hexadecimal, octal, short and wide forms.
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? isAllowedName(host) : isAllowedAddress(host, protocol);
}

/**
 * Whether a host name may be asked for. Clouds give their metadata servers names, too, which a proxy
 * would resolve out of sight.
 */
function isAllowedName(host: string): boolean {
  // A dot at the end marks a name as complete.
  const name = host.toLowerCase().replace(/\.$/, '');
  return !METADATA_NAMES.some((refused) => name === refused || name.endsWith(`.${refused}`));
}

/**
 * Whether a provider may be at this IP address: the second half of the check, for the addresses of
 * a host name. `protocol` is the base URL's, with its colon. Anything that is not an IP address is
 * refused. An IPv6 address that embeds an IPv4 address is judged by both.
 */
export function isAllowedAddress(text: string, protocol: string): boolean {
  const address = withoutZone(text);
  if (isIP(address) === 0) return false;
  const embedded = embeddedIpv4(address);
  const [meant = address] = embedded;
  if ([address, ...embedded].some((one) => isIn(METADATA, one))) return false;
  if (isIn(NOWHERE, meant)) return false;
  return protocol === 'https:' || isIn(PRIVATE, meant);
}

/** An address range, and why it is in its list. */
type Range = readonly [prefix: string, bits: number, why: string];

/** Where plain HTTP is allowed. */
const PRIVATE = toBlockList([
  ['127.0.0.0', 8, 'this machine'],
  ['::1', 128, 'this machine'],
  ['10.0.0.0', 8, 'RFC 1918'],
  ['172.16.0.0', 12, 'RFC 1918'],
  ['192.168.0.0', 16, 'RFC 1918'],
  ['fc00::', 7, 'RFC 4193'],
  ['100.64.0.0', 10, 'RFC 6598: Tailscale, networks of carriers'],
]);

/** Where clouds serve the credentials and the settings of the machine. */
const METADATA = toBlockList([
  ['169.254.0.0', 16, 'link-local: nearly every cloud, and containers on AWS'],
  ['fe80::', 10, 'link-local: OpenStack'],
  ['fd00:ec2::', 32, 'AWS: metadata ::254, credentials of pods ::23'],
  ['fd20:ce::254', 128, 'Google Cloud'],
  ['fd00:c1::a9fe:a9fe', 128, 'Oracle Cloud'],
  ['fd00:42::42', 128, 'Scaleway'],
  ['fd00:a9fe:a9fe::1', 128, 'Akamai (Linode)'],
  ['100.100.100.200', 32, 'Alibaba Cloud'],
  ['192.0.0.192', 32, 'Oracle Cloud'],
  ['168.63.129.16', 32, 'Azure: the wire server'],
]);

/** Names of such servers, which each cloud resolves to an address of the list above. */
const METADATA_NAMES = [
  'metadata.google.internal',
  'metadata.goog',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
  // Short forms, completed by the search list of the machine's resolver.
  'instance-data',
  'metadata',
] as const;

/** Addresses that don't belong to a single machine. */
const NOWHERE = toBlockList([
  ['0.0.0.0', 8, 'no machine'],
  ['::', 128, 'no machine'],
  ['224.0.0.0', 3, 'multicast, reserved, broadcast'],
  ['ff00::', 8, 'multicast'],
]);

function toBlockList(ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [prefix, bits] of ranges) list.addSubnet(prefix, bits, familyOf(prefix));
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
