import { toFetchResponse, toReqRes } from 'fetch-to-node';
import { resolveUserId } from './memory.mjs';

// #region next
/**
 * The handlers of `app/memory/[...path]/route.js`. In that file, write
 * `export const { GET, POST, PUT, PATCH, DELETE } = createHandlers(memory, after)` and
 * `export const runtime = 'nodejs'`. Import `after` from `next/server`.
 *
 * @param {import('memory-service').MemoryService} memory
 * @param {(work: () => Promise<void>) => void} after
 */
export function createHandlers(memory, after) {
  const listener = memory.callback({ resolveUserId });
  /** @param {Request} request */
  const handle = async (request) => {
    const { req, res } = toReqRes(request);
    listener(req, res);
    // The host may freeze the process once it has answered.
    after(() => memory.flush());
    return await toFetchResponse(res);
  };
  return { GET: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle };
}
// #endregion
