import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryService, type MemoryServiceConfig } from '../../../core/index.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { ADMIN_SECRET, API_KEY } from '../http/serve.ts';

async function serve(config: Partial<MemoryServiceConfig> = {}) {
  const service = createMemoryService({
    storage: sqlite({ filename: path.join(await temporaryDirectory(), 'memory.db') }),
    adminSecret: ADMIN_SECRET,
    apiKey: API_KEY,
    ...config,
  });
  const server = http.createServer(service.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await service.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const dreamConfig = async () => {
    const answer = await fetch(`${base}/admin/dream/config`, {
      headers: { 'x-admin-secret': ADMIN_SECRET },
    });
    return (await answer.json()) as { schedulerStarted?: boolean };
  };
  return { service, base, dreamConfig };
}

describe('a service that is made in an app', () => {
  it('has the routes of dreaming and of MCP although its configuration names no plugin', async () => {
    const { base, dreamConfig } = await serve();
    expect(await dreamConfig()).toMatchObject({ dream_enabled: true, schedulerStarted: false });
    const mcp = await fetch(`${base}/mcp`, { method: 'POST' });
    expect(mcp.status).toBe(401);
  });

  it('dreams by itself where that is switched on and it was started, and by no other way', async () => {
    const off = await serve();
    await off.service.start();
    expect((await off.dreamConfig()).schedulerStarted).toBe(false);
    const on = await serve({ dream: { enabled: true } });
    expect((await on.dreamConfig()).schedulerStarted).toBe(false);
    await on.service.start();
    expect((await on.dreamConfig()).schedulerStarted).toBe(true);
  });

  it('takes a default plugin that it is given instead of its own', async () => {
    const own = dreaming({ maxSnapshotTokens: 2_000 });
    const { service } = await serve({ plugins: [own] });
    await service.ready();
    expect(await own.tick()).toMatchObject({ skipped: 'model_not_configured' });
  });
});
