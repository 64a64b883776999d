// What all apps of this folder share: one memory service, and who is signed in.

import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

/** Stands for a session store: the cookie's value, and who is signed in. */
const SESSIONS = new Map([
  ['alices-session', 'alice'],
  ['bobs-session', 'bob'],
]);

/** @param {string} filename */
export function createMemory(filename) {
  return createMemoryService({ storage: sqlite({ filename }), basePath: '/memory' });
}

/**
 * Who is signed in; `null` for nobody.
 *
 * @param {import('node:http').IncomingMessage} request
 */
export function resolveUserId(request) {
  const session = /(?:^|; )session=([^;]*)/.exec(request.headers.cookie ?? '')?.[1];
  return SESSIONS.get(session ?? '') ?? null;
}
