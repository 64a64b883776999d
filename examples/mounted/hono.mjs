import { createAdaptorServer } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { resolveUserId } from './memory.mjs';

/** @param {import('memory-service').MemoryService} memory */
export function createHonoServer(memory) {
  // #region hono
  /** @type {Hono<{ Bindings: import('@hono/node-server').HttpBindings }>} */
  const app = new Hono();
  const listener = memory.callback({ resolveUserId });
  app.all('/memory/*', ({ env }) => {
    listener(env.incoming, env.outgoing);
    return RESPONSE_ALREADY_SENT;
  });
  // #endregion
  app.get('/', (context) => context.text('The app'));
  return createAdaptorServer({ fetch: app.fetch });
}
