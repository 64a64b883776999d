import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** Requests of one POST that are worked on at once: a hundred reads together hold up all others. */
const AT_ONCE = 4;

/**
 * Carries the messages of one POST to a server, and collects its answers: no stream, and no session
 * that another instance would lack.
 */
export class PostTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #open = new Set<RequestId>();
  readonly #cancelled = new Set<RequestId>();
  readonly #running = new Set<RequestId>();
  #waiting: JSONRPCMessage[] = [];
  readonly #answers: JSONRPCMessage[] = [];
  #finish: () => void = () => undefined;

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves with the answers once each request has one, or was cancelled. */
  async deliver(messages: readonly JSONRPCMessage[]): Promise<readonly JSONRPCMessage[]> {
    for (const message of messages) {
      if ('method' in message && 'id' in message) this.#open.add(message.id);
    }
    const finished = new Promise<void>((resolve) => (this.#finish = resolve));
    this.#waiting = [...messages];
    this.#deliverMore();
    await finished;
    return this.#answers;
  }

  /** Stops a request that is open: it gets no answer. */
  cancel(requestId: RequestId, reason: string): void {
    if (!this.#open.has(requestId)) return;
    this.#cancelled.add(requestId);
    this.onmessage?.({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId, reason },
    });
    this.#close(requestId);
  }

  /** Stops whatever is open. */
  cancelAll(reason: string): void {
    for (const requestId of [...this.#open]) this.cancel(requestId, reason);
  }

  send(message: JSONRPCMessage): Promise<void> {
    // A server that works on one POST has no way to ask or tell something by itself.
    if ('method' in message || message.id === undefined) return Promise.resolve();
    if (this.#open.has(message.id)) {
      this.#answers.push(message);
      this.#close(message.id);
    }
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }

  #deliverMore(): void {
    while (this.#waiting.length > 0 && this.#running.size < AT_ONCE) {
      const message = this.#waiting.shift() as JSONRPCMessage;
      if ('method' in message && 'id' in message) {
        if (this.#cancelled.has(message.id)) continue;
        this.#running.add(message.id);
      }
      this.onmessage?.(message);
    }
    if (this.#open.size === 0 && this.#waiting.length === 0) this.#finish();
  }

  #close(requestId: RequestId): void {
    this.#open.delete(requestId);
    this.#running.delete(requestId);
    // In a turn of its own, so that others have theirs.
    setImmediate(() => this.#deliverMore());
  }
}
