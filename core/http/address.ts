import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { embeddedIpv4, toGroups, withoutZone } from '../network/ip.ts';

/**
 * The client's address. Behind a trusted proxy, this is the last address in `X-Forwarded-For`,
 * which the proxy itself added. Clients can forge the earlier ones to evade limits by address.
 */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string {
  const peer = plain(request.socket.remoteAddress ?? '');
  if (!trustProxy) return peer;
  const forwarded = request.headers['x-forwarded-for'];
  if (forwarded === undefined) return peer;
  const list = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  return parseForwarded(findLast(list)) ?? peer;
}

/**
 * The key for limits by address: an IPv4 address, or the /64 of an IPv6 address, because one
 * subscriber owns a whole /64. An IPv6 address that stands for an IPv4 one counts as that: all of
 * them share a /64.
 */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [ipv4] = embeddedIpv4(address);
  if (ipv4 !== undefined) return ipv4;
  const groups = toGroups(address).slice(0, 4);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/** The last item that is not empty: lists in headers may have empty items. */
function findLast(list: string): string {
  let end = list.length;
  while (end > 0 && /[\s,]/.test(list[end - 1] ?? '')) end -= 1;
  return list.slice(list.lastIndexOf(',', end - 1) + 1, end).trim();
}

/**
 * Reads an address in the forms that proxies write: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`,
 * `[2001:db8::1]`, `[2001:db8::1]:4711`, each also in quotes, and of proxies that know no brackets
 * `2001:db8:0:0:0:0:0:1:4711`. `null` for anything else, such as `unknown`. The port is left out,
 * because each connection has another one.
 */
function parseForwarded(item: string): string | null {
  const text = /^"(.*)"$/.exec(item)?.[1] ?? item;
  const host = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text;
  for (const form of [host, host.replace(/:\d{1,5}$/, '')]) {
    // A zone is the proxy's own name of a network, and may be any text.
    const address = withoutZone(form).toLowerCase();
    if (isIP(address) !== 0) return plain(address);
  }
  return null;
}

/** A dual-stack socket shows an IPv4 client as `::ffff:192.0.2.1`. */
function plain(address: string): string {
  const isMapped = isIP(address) === 6 && /^(?:0{0,4}:){2,5}ffff:/i.test(address);
  return (isMapped ? embeddedIpv4(address)[0] : undefined) ?? address;
}
