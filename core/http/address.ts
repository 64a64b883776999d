import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { toGroups } from '../ipv6.ts';

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
  const last = plain(list.slice(list.lastIndexOf(',') + 1).trim());
  return isIP(last) === 0 ? peer : last;
}

/**
 * The key for limits by address: an IPv4 address, or the /64 of an IPv6 address, because one
 * subscriber owns a whole /64.
 */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = toGroups(address).slice(0, 4);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/** A dual-stack socket shows an IPv4 client as `::ffff:192.0.2.1`. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
