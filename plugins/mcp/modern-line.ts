import type { Server, Transport as ModernTransport } from '@modelcontextprotocol/server';
import type { StdioServerHandle } from '@modelcontextprotocol/server/stdio';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { MemoryError } from '../../core/errors.ts';
import { importModern, isModern, type ModernSdk } from './modern.ts';
import { toRefusal } from './protocol-error.ts';

/**
 * The newer protocol on a line that also takes the older ones: what names a version in `_meta` is answered by
 * the SDK of that protocol, everything else is left. So a client that finds nothing it knows by
 * `server/discover` may still send `initialize`.
 */
export class ModernLine {
  readonly #line: Pick<Transport, 'send'>;
  readonly #toServer: (sdk: ModernSdk) => Server;
  readonly #onError: (error: Error) => void;
  readonly #open = new Set<RequestId>();
  #transport: Promise<ModernTransport> | null = null;
  #handle: StdioServerHandle | null = null;

  constructor(
    line: Pick<Transport, 'send'>,
    options: { toServer: (sdk: ModernSdk) => Server; onError: (error: Error) => void },
  ) {
    this.#line = line;
    this.#toServer = options.toServer;
    this.#onError = options.onError;
  }

  /** Whether it answers a message. */
  take(message: JSONRPCMessage): boolean {
    if (!isModern(message) && !this.#isCancelled(message)) return false;
    if ('id' in message && message.id !== undefined) this.#open.add(message.id);
    this.#transport ??= this.#connect();
    this.#transport.then(
      (transport) => transport.onmessage?.(message as never),
      (error: unknown) => this.#refuse(message, error),
    );
    return true;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Whether it stops a request of the newer protocol: such a notification may say no version. */
  #isCancelled(message: JSONRPCMessage): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false;
    const { requestId } = (message.params ?? {}) as { requestId?: RequestId };
    return requestId !== undefined && this.#open.has(requestId);
  }

  async #connect(): Promise<ModernTransport> {
    const sdk = await importModern();
    const transport: ModernTransport = {
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      send: async (message) => {
        if ('id' in message && message.id !== undefined) this.#open.delete(message.id);
        await this.#line.send(message as JSONRPCMessage);
      },
    };
    this.#handle = sdk.serveStdio(() => this.#toServer(sdk), {
      legacy: 'reject',
      transport,
      onerror: this.#onError,
    });
    return transport;
  }

  #refuse(message: JSONRPCMessage, error: unknown): void {
    this.#transport = null;
    if (!('id' in message) || message.id === undefined) return;
    this.#open.delete(message.id);
    const refusal = error instanceof MemoryError ? error : new MemoryError('INTERNAL');
    const answer = { ...toRefusal(refusal, ''), id: message.id } as JSONRPCMessage;
    this.#line.send(answer).catch(this.#onError);
  }
}
