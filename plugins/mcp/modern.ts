import type { Server } from '@modelcontextprotocol/server';
import type * as main from '@modelcontextprotocol/server';
import type * as stdio from '@modelcontextprotocol/server/stdio';
import type { RouteRequest } from '../../core/contracts/route.ts';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { importPeer } from '../../core/packages/import-peer.ts';
import { toProtocolError } from './protocol-error.ts';
import type { Call } from './resources.ts';
import type { McpOptions } from './options.ts';
import { createMethods, serverInfo, toServerOptions } from './server.ts';
import { toRunnerError } from './tool-result.ts';

/**
 * MCP from 2026-07-28 on: no `initialize` and no sessions. Each request says its version in `_meta`, and the
 * SDK of these versions is another package, an optional peer.
 */

/** Where a request names its version of the protocol. */
const VERSION = 'io.modelcontextprotocol/protocolVersion';

/** The parts of that SDK that are used here. */
export type ModernSdk = typeof main & typeof stdio;

/** The oldest version of the newer protocol. Versions are days. */
const OLDEST = '2026-07-28';

/**
 * Whether a message is of the newer protocol: by what it says itself, or else by the version that is named
 * beside it.
 */
export function isModern(message: unknown, version: string | null = null): boolean {
  const { params, method } = Object(message) as { params?: unknown; method?: unknown };
  const { _meta: meta } = Object(params) as { _meta?: unknown };
  if (typeof meta === 'object' && meta !== null && VERSION in meta) return true;
  const isNamed = version !== null && /^\d{4}-\d\d-\d\d$/.test(version) && version >= OLDEST;
  return isNamed && typeof method === 'string' && method !== 'initialize';
}

/** Imports the SDK when it is first needed. */
export function importModern(): Promise<ModernSdk> {
  return importPeer('MCP of 2026-07-28', {
    packages: ['@modelcontextprotocol/server'],
    async load() {
      const parts = await Promise.all([
        import('@modelcontextprotocol/server'),
        import('@modelcontextprotocol/server/stdio'),
      ]);
      return Object.assign({}, ...parts) as ModernSdk;
    },
    parts: ['Server', 'createMcpHandler', 'ProtocolError', 'serveStdio'],
    status: 503,
  });
}

/** Makes a server of the newer protocol for one user: see {@link createMethods}. */
export function createModernServer(
  sdk: ModernSdk,
  runner: ToolRunner,
  bound: Call | null,
  options: McpOptions = {},
): Server {
  const server = new sdk.Server(serverInfo(), toServerOptions(options));
  for (const [name, method] of Object.entries(createMethods(runner, bound, options))) {
    server.setRequestHandler(name as 'tools/list', async (request, { mcpReq }) => {
      const { id: requestId, signal, _meta } = mcpReq;
      try {
        const answer = await method((request.params ?? {}) as never, { requestId, signal, _meta });
        return answer as never;
      } catch (thrown) {
        const { code, message, data } = toProtocolError(toRunnerError(thrown));
        throw new sdk.ProtocolError(code, message, data);
      }
    });
  }
  return server;
}

/** Headers that the protocol compares with the message. */
const HEADERS = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Answers the message of one POST. */
export async function answerModern(
  request: RouteRequest,
  toServer: (sdk: ModernSdk) => Server,
): Promise<unknown> {
  const sdk = await importModern();
  const { method } = request.body as { method?: unknown };
  // It would be a stream without an end: files of this service are looked up when they are needed.
  const isListening = method === 'subscriptions/listen';
  const handler = sdk.createMcpHandler(() => toServer(sdk), {
    legacy: 'reject',
    keepAliveMs: 0,
  });
  const headers = new Headers({ 'content-type': 'application/json' });
  for (const name of HEADERS) {
    const value = request.header(name);
    if (value !== null) headers.set(name, value);
  }
  const { signal } = request;
  const body = isListening
    ? { ...(request.body as object), method: 'subscriptions/none' }
    : request.body;
  if (isListening) headers.set('mcp-method', 'subscriptions/none');
  const post = new Request('http://localhost/v1/mcp', { method: 'POST', headers, signal });
  const response = await handler.fetch(post, { parsedBody: body });
  request.setStatus(response.status);
  const text = await response.text();
  // eslint-disable-next-line no-restricted-syntax -- this process wrote it
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
