import { toFetchResponse, toReqRes } from 'fetch-to-node';
import { resolveUserId } from './memory.mjs';

// #region next
/**
 * For `app/memory/[...path]/route.js`: `export const { GET, POST, PUT, PATCH, DELETE } = createHandlers(memory, after)`,
 * with `after` of `next/server`, and `export const runtime = 'nodejs'`.
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
