import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { importSdk } from './sdk.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** For whom a process serves, and over what. */
export interface StdioOptions extends McpOptions {
  userId: string;
  /** Default: the process's own standard input and output. */
  input?: Readable;
  output?: Writable;
  /** Ends it as the end of the input does. */
  signal?: AbortSignal;
  /** Called for a line that is no message, and for what else goes wrong beside a call. */
  onError?: (error: Error) => void;
}

/** How long calls under way may take once nothing more comes in. */
const END_LIMIT_MS = 10_000;

/**
 * Serves MCP over standard input and output: a message a line. Resolves when the input has ended and
 * the calls that came with it are answered, or when nobody reads the output any more.
 */
export async function serveStdio(runner: ToolRunner, options: StdioOptions): Promise<void> {
  const { userId, input = process.stdin, output = process.stdout, signal, onError } = options;
  const sdk = await importSdk();
  const server = createMcpServer(sdk, runner, { userId }, options);
  const transport = new sdk.StdioServerTransport(input, output);
  server.onerror = (error) => onError?.(error);

  const open = new Set<RequestId>();
  let isEnding = false;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const settle = (requestId: RequestId): void => {
    open.delete(requestId);
    if (isEnding && open.size === 0) finish();
  };
  let limit: NodeJS.Timeout | undefined;
  const end = (): void => {
    isEnding = true;
    input.pause();
    if (open.size === 0) finish();
    limit ??= setTimeout(finish, END_LIMIT_MS);
  };

  await server.connect(transport);
  // From here on each message passes by here: what is under way is answered before the end.
  const { onmessage } = transport;
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('method' in message && 'id' in message) open.add(message.id);
    onmessage?.(message);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
      if (requestId !== undefined) settle(requestId);
    }
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!('method' in message) && message.id !== undefined) settle(message.id);
  };
  server.onclose = finish;
  input.once('end', end).once('close', end);
  output.on('error', finish).once('close', finish);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted === true || input.readableEnded) end();

  await finished;
  clearTimeout(limit);
  signal?.removeEventListener('abort', end);
  await server.close();
  if (output.writableNeedDrain && !output.destroyed)
    await once(output, 'drain').catch(() => undefined);
}
