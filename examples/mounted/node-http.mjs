import { createServer } from 'node:http';
import { resolveUserId } from './memory.mjs';

/** @param {import('memory-service').MemoryService} memory */
export function createNodeServer(memory) {
  // #region node
  const listener = memory.callback({ resolveUserId });
  return createServer((request, response) => {
    if (request.url?.startsWith('/memory/')) listener(request, response);
    else response.end('The app');
  });
  // #endregion
}
