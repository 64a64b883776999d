// What HTTP alone takes, before any data is touched.

import Koa from 'koa';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { OpenContestant } from '../support/contestant.ts';
import { checkBody, serve, serveTools } from './koa-tools.ts';

/** `node:http` or Koa, without a body or with a JSON body that Ajv checks. */
export const open: OpenContestant<{
  variant: 'node-hello' | 'koa-hello' | 'node-ajv' | 'koa-ajv';
}> = ({ variant }) =>
  variant === 'koa-ajv'
    ? serveTools((body) => ({ path: body.arguments.path }))
    : serve(LISTENERS[variant]());

const LISTENERS = {
  'node-hello': (): RequestListener => (_request, response) => {
    response.setHeader('Content-Type', 'text/plain');
    response.setHeader('Content-Length', 5);
    response.end('hello');
  },
  'koa-hello': () => {
    const app = new Koa();
    app.use((ctx) => {
      ctx.body = 'hello';
    });
    return app.callback() as RequestListener;
  },
  'node-ajv': (): RequestListener => (request, response) => {
    readBody(request).then(
      (text) => {
        const body: unknown = JSON.parse(text);
        const isValid = checkBody(body);
        const answer = JSON.stringify({ result: { path: isValid ? body.arguments.path : null } });
        response.statusCode = isValid ? 200 : 400;
        response.setHeader('Content-Type', 'application/json; charset=utf-8');
        response.setHeader('Content-Length', Buffer.byteLength(answer));
        response.end(answer);
      },
      () => response.destroy(),
    );
  },
} satisfies Record<string, () => RequestListener>;

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}
