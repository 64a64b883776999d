import { isIP } from 'node:net';

/** The eight groups of an IPv6 address as numbers; a zone (`fe80::1%eth0`) is no part of it. */
export function toGroups(address: string): number[] {
  // The URL parser normalises all forms, such as one that ends in an IPv4 address.
  const [front = [], back = []] = new URL(`http://[${withoutZone(address)}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].map((group) => Number.parseInt(group, 16));
}

/** An IP address without the zone (`%eth0`), which names the network and is not part of it. */
export function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? '';
}

/**
 * The IPv4 addresses that an IPv6 address embeds, the usual one first; none if it embeds none. The
 * local range of RFC 8215 leaves the place open, so each place of RFC 6052 is read there.
 */
export function embeddedIpv4(address: string): string[] {
  if (isIP(address) !== 6) return [];
  const groups = toGroups(address);
  const [first = 0, second = 0, third = 0] = groups;
  const zeros = groups.findIndex((group) => group !== 0);
  const last = toIpv4(groups, 12);
  // Mapped (::ffff:192.0.2.1), compatible (::192.0.2.1, but not :: and ::1), SIIT (::ffff:0:192.0.2.1).
  if (zeros === 5 && groups[5] === 0xffff) return [last];
  if (zeros === 6) return [last];
  if (zeros === 4 && groups[4] === 0xffff && groups[5] === 0) return [last];
  // NAT64 (RFC 6052), and its local range (RFC 8215).
  if (first === 0x64 && second === 0xff9b) {
    if (third === 0) return groups.slice(2, 6).every((group) => group === 0) ? [last] : [];
    if (third === 1)
      return [
        last,
        ...[
          [6, 7, 9, 10],
          [7, 9, 10, 11],
          [9, 10, 11, 12],
        ].map(pick),
      ];
  }
  // 6to4 (RFC 3056).
  if (first === 0x2002) return [toIpv4(groups, 2)];
  // Teredo (RFC 4380): the client's address is inverted; the server's comes after the prefix.
  if (first === 0x2001 && second === 0) {
    const inverted = groups.map((group) => group ^ 0xffff);
    return [toIpv4(inverted, 12), toIpv4(groups, 4)];
  }
  return [];

  function pick(places: readonly number[]): string {
    return places.map((place) => byteAt(groups, place)).join('.');
  }
}

function toIpv4(groups: readonly number[], from: number): string {
  return [0, 1, 2, 3].map((offset) => byteAt(groups, from + offset)).join('.');
}

function byteAt(groups: readonly number[], place: number): number {
  const group = groups[place >> 1] ?? 0;
  return place % 2 === 0 ? group >> 8 : group & 255;
}
