import { lookup as resolveName, type LookupAddress, type LookupOptions } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { isAllowedAddress, isAllowedBaseUrl } from '../../core/config/base-url.ts';
import type { FailureProblem } from '../../core/providers/provider-failure.ts';
import {
  createTunnelAgent,
  findProxy,
  ProxyError,
  proxyHeaders,
} from '../../core/network/proxy.ts';
import { ProviderFault } from './fault.ts';
import { type AnswerLimits, readAnswer } from './read-answer.ts';

/** The part of `fetch` that an SDK uses. */
export type ProviderFetch = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

/** Names to addresses, as `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** What a request says of itself. The rest of what an SDK adds, as on this machine, stays here. */
const HEADERS_SENT = new Set([
  'accept',
  'anthropic-version',
  'authorization',
  'content-type',
  'x-api-key',
]);

/**
 * Makes a `fetch` for one provider, which does what the global one cannot: it looks at the address
 * that a name was resolved to before it connects there (a check in front of `fetch` would look at
 * another answer of the name server's), follows no redirect, reads and parses an answer within limits,
 * and sends no header but those that the API needs. Answers come whole.
 *
 * It goes through the proxy that the command's environment names.
 *
 * It rejects with a `ProviderFault`: `address_refused`, `redirected`, `too_large`, `unreachable`,
 * `proxy`, `aborted` when the signal says so, and the reasons of {@link readAnswer}: only an answer
 * that is a success gets to the SDK.
 */
export function createProviderFetch(options: {
  baseUrl: string;
  limits: AnswerLimits;
  /** For tests; default the system's. */
  resolve?: Resolve;
}): ProviderFetch {
  const { baseUrl, limits, resolve = resolveName } = options;
  const base = new URL(baseUrl);
  const { request } = base.protocol === 'https:' ? https : http;
  const lookup = guardLookup(base.protocol, resolve);
  // At the first request: a config file makes providers before the command has read all of it.
  let route: Route | null = null;

  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    // An address in the place of a name is never looked up.
    if (url.origin !== base.origin || !isAllowedBaseUrl(url.origin)) {
      throw new ProviderFault('address_refused');
    }
    route ??= findRoute(base, resolve);
    const { agent, proxy } = route;
    if (proxy !== null) await checkProxied(url, resolve);
    const sentText = typeof init.body === 'string' ? init.body : null;
    const body = sentText === null ? null : Buffer.from(sentText, 'utf8');
    const headers: Record<string, string> = { 'accept-encoding': 'gzip, deflate, br' };
    new Headers(init.headers).forEach((value, name) => {
      if (HEADERS_SENT.has(name)) headers[name] = value;
    });
    headers['user-agent'] = 'memory-service';
    if (body !== null) headers['content-length'] = String(body.byteLength);
    const { method = 'GET', signal } = init;

    const send = (options: http.RequestOptions): Promise<Response> =>
      new Promise<Response>((done, fail) => {
        const sent = request(
          {
            method,
            ...options,
            ...(signal instanceof AbortSignal ? { signal } : {}),
          },
          (answer) => {
            readAnswer(answer, limits, sentText).then(done, (error: unknown) => {
              sent.destroy();
              fail(error as Error);
            });
          },
        );
        sent.on('error', fail);
        sent.end(body ?? undefined);
      });
    try {
      return await send({ ...urlToHttpOptions(url), headers, agent, lookup });
    } catch (error) {
      const isTunneled = !(error instanceof ProxyError && makesNoTunnel(error));
      if (proxy?.protocol !== 'http:' || isTunneled || url.protocol === 'https:') {
        throw toFetchFault(error, signal);
      }
    }
    // Many proxies make tunnels to port 443 alone, or none, and pass plain requests on themselves.
    try {
      return await send({
        ...urlToHttpOptions(proxy),
        auth: null,
        path: url.href,
        headers: { ...headers, host: url.host, ...proxyHeaders(proxy) },
        lookup: guardLookup('https:', resolve),
      });
    } catch (error) {
      const { status } = Object(error) as { status?: unknown };
      throw toFetchFault(status === 407 ? new ProxyError(proxy, { status }) : error, signal);
    }
  };
}

/** How a provider is reached. */
interface Route {
  proxy: URL | null;
  agent: http.Agent;
}

function findRoute(base: URL, resolve: Resolve): Route {
  const options = { keepAlive: true, maxSockets: 16, scheduling: 'lifo' } as const;
  const proxy = findProxy(base);
  if (proxy === null) {
    const { Agent } = base.protocol === 'https:' ? https : http;
    return { proxy, agent: new Agent(options) };
  }
  // A proxy may be wherever a provider may be under https.
  const lookup = guardLookup('https:', resolve);
  return { proxy, agent: createTunnelAgent(proxy, base.protocol, { ...options, lookup }) };
}

/**
 * The proxy looks the name up itself, so what this machine finds is only checked. A name that it can
 * not resolve passes: machines behind a proxy often have no name server for it.
 */
async function checkProxied({ hostname, protocol }: URL, resolve: Resolve): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return;
  const addresses = await new Promise<LookupAddress[]>((done) => {
    resolve(host, { all: true }, (error, found) => done(error === null ? found : []));
  });
  if (!addresses.every(({ address }) => isAllowedAddress(address, protocol))) {
    throw new ProviderFault('address_refused');
  }
}

/** Refused, or hung up on: what knows no CONNECT closes the connection. */
function makesNoTunnel({ problem, cause }: ProxyError): boolean {
  const { code } = Object(cause) as { code?: unknown };
  return problem === 'proxy_refused' || code === 'ECONNRESET';
}

/** Gives addresses on only when each of them is allowed: one that is not is reason for distrust. */
function guardLookup(protocol: string, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) {
        done(error ?? new ProviderFault('unreachable', { problem: 'name_not_resolved' }), '');
      } else if (!addresses.every(({ address }) => isAllowedAddress(address, protocol))) {
        done(new ProviderFault('address_refused'), '');
      } else if (options.all === true) {
        done(null, addresses);
      } else {
        done(null, first.address, first.family);
      }
    });
  };
}

function toFetchFault(error: unknown, signal: unknown): ProviderFault {
  if (error instanceof ProviderFault) return error;
  if (error instanceof ProxyError) {
    // The proxy's own name may lead to an address that is refused.
    if (error.cause instanceof ProviderFault && error.cause.reason === 'address_refused') {
      return error.cause;
    }
    const { problem, status } = error;
    const isTransient = status === null || status >= 500;
    return new ProviderFault('proxy', { problem, isTransient, cause: error });
  }
  if (signal instanceof AbortSignal && signal.aborted) {
    return new ProviderFault('aborted', { cause: error });
  }
  const { code } = (error ?? {}) as { code?: unknown };
  const problem = findProblem(String(code));
  const reason = problem === 'not_unpacked' ? 'malformed' : 'unreachable';
  return new ProviderFault(reason, {
    ...(problem === null ? {} : { problem }),
    // An SDK takes a cause with ETIMEDOUT in its name for its own time limit, and drops this error.
    cause: new Error('The request failed.', { cause: error }),
  });
}

/** Codes of Node's errors, by their beginnings. */
const PROBLEMS: readonly (readonly [RegExp, FailureProblem])[] = [
  [/^(?:Z_|ERR__ERROR_|ERR_BROTLI)/, 'not_unpacked'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE)$/, 'connection_closed'],
  [/^(?:ENOTFOUND|EAI_)/, 'name_not_resolved'],
  [/^(?:ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)$/, 'no_route'],
  [/^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO)/, 'tls'],
  [/^HPE_/, 'not_http'],
];

function findProblem(code: string): FailureProblem | null {
  return PROBLEMS.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
