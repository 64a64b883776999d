import Router from '@koa/router';
import { Ajv2020 } from 'ajv/dist/2020.js';
import Koa, { type Middleware } from 'koa';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { importPeer } from '../support/import-peer.ts';

/** A tool call as the service's API has it: the limits take the same requests. */
export interface ToolBody {
  context: { userId: string };
  arguments: { path: string; content?: string };
}

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['context', 'arguments'],
  properties: {
    context: {
      type: 'object',
      additionalProperties: false,
      required: ['userId'],
      properties: {
        userId: { type: 'string', minLength: 1, maxLength: 128 },
        actor: { type: 'string' },
        toolCallId: { type: 'string' },
      },
    },
    arguments: {
      type: 'object',
      additionalProperties: false,
      required: ['path'],
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 600 },
        content: { type: 'string' },
        reason: { type: 'string' },
      },
    },
  },
};

/** The check of a tool call's body. */
export const checkBody = new Ajv2020().compile<ToolBody>(SCHEMA);

type BodyParser = { bodyParser: (options: { enableTypes: string[] }) => Middleware };

/** Serves Koa, a router, a body parser and Ajv before a handler: what one would put together. */
export async function serveTools(
  handle: (body: ToolBody) => Promise<object> | object,
): Promise<{ port: number; close(): Promise<void> }> {
  const { bodyParser } = await importPeer<BodyParser>('@koa/bodyparser');
  const router = new Router();
  router.post('/v1/tools/:name/execute', async (ctx) => {
    const { body } = ctx.request as { body?: unknown };
    if (!checkBody(body)) ctx.throw(400, 'The body is not valid.');
    ctx.body = { result: await handle(body as ToolBody) };
  });
  const app = new Koa();
  app.use(bodyParser({ enableTypes: ['json'] })).use(router.routes() as Middleware);
  return serve(app.callback() as RequestListener);
}

/** Listens on a free port of the loopback address. */
export async function serve(
  listener: RequestListener,
): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer({ keepAliveTimeout: 65_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
