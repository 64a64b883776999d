import type { IncomingMessage } from 'node:http';

const ofOwnServer = new WeakSet<IncomingMessage>();

/** Notes that a request came to a server of this service, which so owns its whole origin. */
export function noteOwnServer(request: IncomingMessage): void {
  ofOwnServer.add(request);
}

/** Whether a request came to a server of this service, and not to an app that the service is mounted in. */
export function isOfOwnServer(request: IncomingMessage): boolean {
  return ofOwnServer.has(request);
}
