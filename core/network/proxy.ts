import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net';
import tls from 'node:tls';

/** The proxies of an environment: for which addresses, and for which not. */
export interface Proxies {
  /** For `https:` addresses. */
  https: URL | null;
  /** For `http:` addresses. */
  http: URL | null;
  /** Asked without a proxy: names, their sub-domains, addresses, ranges, each also with a port. */
  except: readonly string[];
}

const NONE: Proxies = { https: null, http: null, except: [] };

/** What the command has read. A service in an app of its own has none. */
let ofCommand: Proxies = NONE;

/** Sets the proxies of this process, for models, embedders and exporters. Only the command does. */
export function useProxies(proxies: Proxies): void {
  ofCommand = proxies;
}

/** The variables that name proxies. Of two that differ in case, the lower one counts, as for curl. */
export const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'] as const;

/**
 * Reads the proxies of an environment. A value that is no address of an HTTP proxy is left out, with
 * a warning that does not repeat it.
 */
export function readProxies(environment: Readonly<Record<string, string | undefined>>): {
  proxies: Proxies;
  warnings: string[];
} {
  const warnings: string[] = [];
  const find = (name: string) => environment[name.toLowerCase()] || environment[name] || null;
  const readProxy = (name: string): URL | null => {
    const value = find(name);
    if (value === null) return null;
    const proxy = parseProxy(value.trim());
    if (proxy === null) {
      warnings.push(
        `${name} has no effect: it must be the address of an HTTP proxy, as in http://proxy:3128`,
      );
    }
    return proxy;
  };
  const all = find('ALL_PROXY') === null ? null : readProxy('ALL_PROXY');
  const proxies = {
    https: readProxy('HTTPS_PROXY') ?? all,
    http: readProxy('HTTP_PROXY') ?? all,
    except: (find('NO_PROXY') ?? '')
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((entry) => entry !== ''),
  };
  return { proxies, warnings };
}

function parseProxy(text: string): URL | null {
  const full = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(full)) return null;
  const url = new URL(full);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== ''
    ? url
    : null;
}

/** The proxy for an address; `null` where it is asked directly. */
export function findProxy(url: URL, proxies: Proxies = ofCommand): URL | null {
  const proxy = url.protocol === 'https:' ? proxies.https : proxies.http;
  return proxy === null || proxies.except.some((entry) => isExcepted(url, entry)) ? null : proxy;
}

function isExcepted({ protocol, hostname, port }: URL, entry: string): boolean {
  if (entry === '*') return true;
  const host = bare(hostname).replace(/\.$/, '');
  const [, name = entry, only] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(entry) ?? [];
  if (only !== undefined && only !== (port || (protocol === 'https:' ? '443' : '80'))) return false;
  const wanted = bare(name);
  const [range = '', bits] = wanted.split('/');
  if (isIP(host) !== 0) {
    if (isIP(range) === 0) return false;
    const list = new BlockList();
    const family = isIP(range) === 6 ? 'ipv6' : 'ipv4';
    const most = family === 'ipv6' ? 128 : 32;
    if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return false;
    list.addSubnet(range, bits === undefined ? most : Number(bits), family);
    return list.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
  }
  const domain = wanted.replace(/^\*?\./, '').replace(/\.$/, '');
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
}

/** Why a proxy did not connect: it could not be reached, wants a user, or does not allow it. */
export type ProxyProblem = 'proxy_unreachable' | 'proxy_auth' | 'proxy_refused';

/** A failure of the proxy, not of the server behind it. Its message names no user or password. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly problem: ProxyProblem;
  /** Of the proxy's answer; `null` without one. */
  readonly status: number | null;

  constructor(proxy: URL, { status = null, cause }: { status?: number | null; cause?: unknown }) {
    const what =
      status === null ? 'cannot be reached' : `did not connect: it answered with status ${status}`;
    super(`The proxy ${proxy.host} ${what}`, cause === undefined ? {} : { cause });
    this.status = status;
    this.problem =
      status === null ? 'proxy_unreachable' : status === 407 ? 'proxy_auth' : 'proxy_refused';
  }
}

/** The header that a proxy knows its user by; none for a proxy without one. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(user, 'utf8').toString('base64')}` };
}

/** How long a proxy may take to connect. */
const CONNECT_MS = 30_000;

/**
 * An agent whose connections go through a proxy, as tunnels (CONNECT), so that the proxy sees no key
 * and no text of `https:`. Requests fail with a `ProxyError` if it does not connect.
 */
export function createTunnelAgent(
  proxy: URL,
  protocol: string,
  { lookup, ...options }: https.AgentOptions & { lookup?: LookupFunction | undefined } = {},
): http.Agent | https.Agent {
  const isTls = protocol === 'https:';
  const agent = new (isTls ? https : http).Agent({ keepAlive: true, ...options });
  const connect = (
    target: tls.ConnectionOptions,
    done: (error: Error | null, socket?: Socket) => void,
  ) => {
    openTunnel(proxy, `${authority(String(target.host))}:${target.port}`, lookup).then(
      (socket) => {
        if (!isTls) return done(null, socket);
        const host = bare(String(target.host));
        const servername = isIP(host) === 0 ? { servername: host } : {};
        return done(null, tls.connect({ ...servername, ...target, socket }));
      },
      (error: unknown) => done(error as Error),
    );
  };
  return Object.assign(agent, { createConnection: connect });
}

function openTunnel(
  proxy: URL,
  target: string,
  lookup: LookupFunction | undefined,
): Promise<Socket> {
  const { request } = proxy.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      path: target,
      agent: false,
      timeout: CONNECT_MS,
      hostname: bare(proxy.hostname),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      headers: { host: target, ...proxyHeaders(proxy) },
      ...(lookup === undefined ? {} : { lookup }),
    });
    asked.once('connect', ({ statusCode = 0 }, socket, head) => {
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(new ProxyError(proxy, { status: statusCode }));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      socket.setTimeout(0);
      resolve(socket as Socket);
    });
    asked.once('timeout', () => asked.destroy(new Error('timeout')));
    asked.once('error', (cause) => reject(new ProxyError(proxy, { cause })));
    asked.end();
  });
}

/** An IPv6 address stands in brackets in front of a port. */
function authority(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
