// A Koa app with its own session, body parser, error handler and routes. The memory service is one
// more middleware, below /memory.

import { bodyParser } from '@koa/bodyparser';
import { Router } from '@koa/router';
import Koa from 'koa';
import { createMemoryService } from 'memory-service';
import { sqlite } from 'memory-service/plugins/storage-sqlite';

/** Stands for a session store: the cookie's value, and who is signed in. */
const SESSIONS = new Map([
  ['alices-session', 'alice'],
  ['bobs-session', 'bob'],
]);

/**
 * @param {{ filename: string, adminSecret?: string }} options
 */
export function createApp({ filename, adminSecret }) {
  // #region mount
  const memory = createMemoryService({
    storage: sqlite({ filename }),
    basePath: '/memory',
    // Without a secret the admin API answers 503 ADMIN_DISABLED.
    adminSecret: adminSecret ?? null,
  });

  const app = new Koa();
  app.use(answerErrors);
  app.use(signIn);
  app.use(bodyParser());
  // Signed-in users use their own memory. Without an apiKey, nobody else can call the tools.
  app.use(memory.middleware({ resolveUserId: (ctx) => ctx.state.userId }));
  // #endregion

  // #region routes
  const router = new Router();
  router.post('/facts', async (ctx) => {
    const { result } = await memory.tools.execute('memory_write', {
      // Take the user from the session, never from the request's body.
      context: { userId: ctx.state.userId, actor: 'notes-app' },
      arguments: { path: 'user/facts.md', content: parseFact(ctx) },
    });
    ctx.body = result;
  });
  router.get('/facts', async (ctx) => {
    const { result } = await memory.tools.execute('memory_read', {
      context: { userId: ctx.state.userId, actor: 'notes-app' },
      arguments: { path: 'user/facts.md' },
    });
    ctx.body = result;
  });
  app.use(router.routes()).use(router.allowedMethods());
  // #endregion

  return { app, memory };
}

/**
 * The app's own error bodies. Errors of the service below /memory never reach this.
 *
 * @param {Koa.Context} ctx
 * @param {Koa.Next} next
 */
async function answerErrors(ctx, next) {
  try {
    await next();
  } catch (error) {
    const { status = 500, message } = /** @type {Error & { status?: number }} */ (error);
    ctx.status = status;
    ctx.body = { oops: message };
  }
}

/**
 * The app's own sign-in. It lets the service's routes through, because the service answers 401
 * itself and its admin API has its own secret.
 *
 * @param {Koa.Context} ctx
 * @param {Koa.Next} next
 */
async function signIn(ctx, next) {
  const userId = SESSIONS.get(ctx.cookies.get('session') ?? '');
  if (userId === undefined && !ctx.path.startsWith('/memory/')) ctx.throw(401, 'Sign in first.');
  ctx.state.userId = userId;
  await next();
}

/**
 * Reads the text of a fact from the body that the app's own parser parsed.
 *
 * @param {Koa.Context} ctx
 * @returns {string}
 */
function parseFact(ctx) {
  const { text } = Object(ctx.request.body);
  if (typeof text !== 'string') ctx.throw(400, 'A fact has a text.');
  return `${text}\n`;
}
