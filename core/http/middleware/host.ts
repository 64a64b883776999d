import { MemoryError } from '../../errors.ts';
import type { Check, RequestHead } from './check.ts';

/**
 * Refuses requests that a page of another site could make a browser send (DNS rebinding, forged
 * cross-site requests): the `Host`, the authority of an absolute request target, and the `Origin`
 * when there is one, must each name an allowed host. An entry without a port allows every port.
 * Throws `HOST_NOT_ALLOWED`.
 *
 * `null` allows all: the default when mounted, where the host app decides. Two `Host` headers, and a
 * target that is neither a path nor an absolute http address, are `INVALID_REQUEST` in any case.
 */
export function checkHost(allowedHosts: readonly string[] | null): Check {
  if (allowedHosts === null || allowedHosts.includes('*')) return (head) => void parseTarget(head);
  const allowed = new Set(allowedHosts.map((host) => bare(host.toLowerCase())));
  const isAllowed = (authority: string): boolean => {
    const host = authority.toLowerCase();
    return allowed.has(host) || allowed.has(withoutPort(host));
  };
  return (head) => {
    const target = parseTarget(head);
    const host = head.header('host');
    if (host === null || !isAllowed(host)) throw refused();
    // By RFC 9112, the target's host replaces the Host header. The service uses neither.
    if (target !== null && !isAllowed(target)) throw refused();
    const origin = head.header('origin');
    if (origin !== null) {
      const authority = authorityOf(origin);
      if (authority === null || !isAllowed(authority)) throw refused();
    }
  };
}

/** The authority of an absolute request target; `null` for a path. */
function parseTarget(head: RequestHead): string | null {
  // Node keeps the first; a proxy in front may have used the second.
  if (head.count('host') > 1) throw invalid('Only one Host header is allowed.');
  if (head.target.startsWith('/')) return null;
  const authority = authorityOf(head.target);
  if (authority === null) throw invalid('The request target must be a path or an http address.');
  return authority;
}

/** `http://host:port/…` → `host:port`; `null` for another scheme, or no host. */
function authorityOf(url: string): string | null {
  const match = /^https?:\/\/([^/?#]+)/i.exec(url);
  return match?.[1] ?? null;
}

function withoutPort(host: string): string {
  if (host.startsWith('[')) {
    const end = host.indexOf(']');
    const rest = host.slice(end + 1);
    return rest === '' || /^:\d+$/.test(rest) ? host.slice(1, end) : host;
  }
  const colon = host.indexOf(':');
  return colon >= 0 && /^\d+$/.test(host.slice(colon + 1)) ? host.slice(0, colon) : host;
}

/** `[::1]` and `::1` name the same host. */
function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function invalid(message: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', message);
}

function refused(): MemoryError {
  return new MemoryError('HOST_NOT_ALLOWED');
}
