import http, { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../core/http/app.ts';
import { type LiveServer, serveCore } from '../core/http/serve.ts';
import { expectNoProblems, expectUrl, openConsole } from './support/console.ts';

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** What a service is behind that takes `/memory` off each address; all others are not its own. */
const FRONTS: Record<string, (service: LiveServer) => Promise<number>> = {
  'a proxy that removes the prefix': ({ port }) =>
    listen((request, response) => {
      const path = /^\/memory(\/.*)$/.exec(request.url ?? '')?.[1];
      if (path === undefined) {
        response.writeHead(404).end();
        return;
      }
      const { method, headers } = request;
      const upstream = http.request({ port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      upstream.on('error', () => response.destroy());
      request.pipe(upstream);
    }),
  Express: async ({ core, routes }) => {
    const app = createMcpExpressApp() as unknown as {
      use(...handlers: unknown[]): void;
    } & RequestListener;
    app.use('/memory', createApp(core, routes).callback());
    return await listen(app);
  },
};

describe.each(Object.keys(FRONTS))('the console behind %s', (front) => {
  it('finds its files, its data and its views', async () => {
    const service = await serveCore();
    const port = await (FRONTS[front] as (typeof FRONTS)[string])(service);
    const opened = await openConsole({ service: { ...service, port }, basePath: '/memory' });
    const { page, visit } = opened;
    await page.getByRole('link', { name: 'Activity', exact: true }).click();
    await expectUrl(page, '/memory/admin/activity');
    await page.reload();
    await page.getByRole('heading', { name: 'Activity' }).first().waitFor();
    await visit('');
    await page.getByRole('link', { name: 'Revisions', exact: true }).click();
    await expectUrl(page, '/memory/admin/revisions');
    // Several folders deep: no view, but drawn by the page.
    await visit('/no/such/view');
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await expectUrl(page, '/memory/admin/files');
    await page.goto(`http://127.0.0.1:${port}/memory/`);
    await expectUrl(page, '/memory/admin');
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await expectUrl(page, '/memory/admin/audit');
    await page.getByRole('heading', { name: 'Audit' }).first().waitFor();
    // The heading is there before the data.
    await expect.poll(() => service.answered.has('GET /v1/admin/audit')).toBe(true);
    expectNoProblems(opened);
  });
});
