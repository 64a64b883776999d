import { MemoryError } from '../../errors.ts';
import type { Check } from './check.ts';

/**
 * Refuses requests that a page of another site could make a browser send (DNS rebinding, forged
 * cross-site requests): the `Host`, the authority of an absolute request target, and the `Origin`
 * when there is one, must each name an allowed host. An entry without a port allows every port.
 *
 * `null` allows all: the default when mounted, where the host app decides.
 */
export function checkHost(allowedHosts: readonly string[] | null): Check {
  if (allowedHosts === null || allowedHosts.includes('*')) return () => undefined;
  const allowed = new Set(allowedHosts.map((host) => bare(host.toLowerCase())));
  const isAllowed = (authority: string): boolean => {
    const host = authority.toLowerCase();
    return allowed.has(host) || allowed.has(withoutPort(host));
  };
  // Nearly every request comes with one of few Host values: parsing each once is enough.
  let lastGood: string | null = null;
  return (head) => {
    const host = head.header('host');
    if (host === null || (host !== lastGood && !isAllowed(host))) throw refused();
    lastGood = host;
    if (!head.target.startsWith('/')) {
      const authority = authorityOf(head.target);
      if (authority !== null && !isAllowed(authority)) throw refused();
    }
    const origin = head.header('origin');
    if (origin !== null) {
      const authority = authorityOf(origin);
      if (authority === null || !isAllowed(authority)) throw refused();
    }
  };
}

/** `http://host:port/…` → `host:port`; `null` for another scheme, or none. */
function authorityOf(url: string): string | null {
  const match = /^https?:\/\/([^/?#]*)/i.exec(url);
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

function refused(): MemoryError {
  return new MemoryError('HOST_NOT_ALLOWED');
}
