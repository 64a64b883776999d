import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Verification } from '../../../core/contracts/admin.ts';
import { encodeDelta } from '../../../core/history/delta/codec.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { call, openCore, temporaryDatabase } from '../../support/service.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';
import { sqlite } from '../../support/databases.ts';

interface DamagedServer extends LiveServer {
  /** Changes rows behind the service's back. */
  damage(sql: string): Promise<void>;
  get(path: string): ReturnType<LiveServer['request']>;
  execute(tool: string, args: object): ReturnType<LiveServer['request']>;
  /** The code of `/readyz`, or `ready`. */
  ready(): Promise<string>;
}

let tea: Promise<Buffer> | undefined;

/** A database whose file `user/tea.md` has three versions, and whose `user/gone.md` is deleted. */
async function makeTea(): Promise<Buffer> {
  const filename = await temporaryDatabase();
  const core = await openCore({ storage: sqlite({ filename }), tools: { delete: true } });
  for (const content of ['green\n', 'green\nblack\n', 'green\nblack\nwhite\n']) {
    await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content });
  }
  await call(core, 'alice', 'memory_write', { path: 'user/gone.md', content: 'soon gone\n' });
  await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' });
  await core.indexer.drain();
  await core.close();
  return await readFile(filename);
}

/**
 * Serves such a database. This process has written nothing to it yet, so damage counts after half a
 * second: each test would wait for three after a write.
 */
async function serveTea(): Promise<DamagedServer> {
  const filename = await temporaryDatabase();
  await writeFile(filename, await (tea ??= makeTea()));
  const service = await serveCore({
    storage: sqlite({ filename }),
    tools: { delete: true },
  });
  const execute = (tool: string, args: object) =>
    service.request('POST', `/v1/tools/${tool}/execute`, {
      body: { context: { userId: 'alice' }, arguments: args },
      headers: asAgent,
    });
  return {
    ...service,
    execute,
    get: (path) => service.request('GET', path, { headers: asAdmin }),
    async damage(sql) {
      expect(await withRawSql(filename, 'sqlite3', (raw) => raw.run(sql, []))).toBeGreaterThan(0);
    },
    async ready() {
      const { status, json } = await service.request('GET', '/readyz');
      if (status === 200) return 'ready';
      expect([status, json.error.retryable]).toEqual([500, false]);
      return json.error.code as string;
    },
  };
}

async function verify(service: DamagedServer): Promise<Verification> {
  await service.request('POST', '/v1/admin/verify', { headers: asAdmin });
  const job = async () => (await service.get('/v1/admin/verify')).json;
  await expect.poll(async () => (await job()).state).toBe('completed');
  return (await job()).result as Verification;
}

it.each([
  ['I1', "update svc_file set hash = zeroblob(32) where path = 'gone.md'"],
  ['I3', 'update svc_revision set delta = zeroblob(9) where version = 2'],
  ['chain', "update svc_revision set reason = 'another' where version = 2"],
])('is not ready once verify has found damage (%s)', async (invariant, sql) => {
  const service = await serveTea();
  expect((await verify(service)).found).toBe(0);
  expect(await service.ready()).toBe('ready');
  await service.damage(sql);
  expect(await service.ready()).toBe('ready');
  const { findings } = await verify(service);
  expect(findings.map((finding) => finding.invariant)).toContain(invariant);
  expect(await service.ready()).toBe('STORAGE_DAMAGED');
});

it('is ready again once verify has found that nothing is damaged', async () => {
  const service = await serveTea();
  const swap = 'update svc_content set content = replace(content, ';
  await service.damage(`${swap}'white', 'WHITE')`);
  const read = () => service.execute('memory_read', { path: 'user/tea.md' });
  expect((await read()).json.error.code).toBe('STORAGE_DAMAGED');
  expect((await verify(service)).found).toBeGreaterThan(0);
  expect(await service.ready()).toBe('STORAGE_DAMAGED');

  await service.damage(`${swap}'WHITE', 'white')`);
  expect((await read()).status).toBe(200);
  expect(await service.ready()).toBe('STORAGE_DAMAGED');
  expect((await verify(service)).found).toBe(0);
  expect(await service.ready()).toBe('ready');
});

it('stays ready where verify found only what a rebuilt index mends', async () => {
  const service = await serveTea();
  await service.damage('delete from svc_segment');
  const { findings } = await verify(service);
  expect(new Set(findings.map(({ invariant }) => invariant))).toEqual(new Set(['I4']));
  expect(await service.ready()).toBe('ready');
});

describe.each([
  ['blame', '/v1/admin/files/users/alice/tea.md?blame=true'],
  ['influence of a line', '/v1/admin/observability/influence?path=users/alice/tea.md&line=1'],
])('%s', (_, path) => {
  const STEP = 'where version = 3 and delta is not null';
  it.each([
    ['an older content', `update svc_revision set hash = randomblob(32) where version = 1`],
    ['a delta', `update svc_revision set delta = ${toDelta(0, 1, 0)} ${STEP}`],
    ['a delta, which is cut short', `update svc_revision set delta = substr(delta, 1, 4) ${STEP}`],
    ['a delta, which is gone', `update svc_revision set delta = null ${STEP}`],
    ['the last step', `update svc_revision set delta = ${toDelta(0, 1, 1)} where version = 2`],
    ['a keyframe', `update svc_revision set keyframe = 'black' || char(10) ${STEP}`],
  ])('refuses damage of %s, and is not ready then', async (__, sql) => {
    const service = await serveTea();
    expect((await service.get(path)).status).toBe(200);
    await service.damage(sql);
    const { status, json } = await service.get(path);
    expect([status, json.error]).toMatchObject(DAMAGED);
    expect(await service.ready()).toBe('STORAGE_DAMAGED');
  });
});

const DAMAGED = [500, { code: 'STORAGE_DAMAGED', retryable: false }];
const TEA = "(select file_no from svc_file where path = 'tea.md')";
const MARK_DELETED = "update svc_file set deleted_at = 1 where path = 'tea.md'";

describe.each([
  ['whose content is gone', `delete from svc_content where file_no = ${TEA}`],
  ['that is marked as deleted and has content', MARK_DELETED],
])('a file %s', (_, sql) => {
  it.each<[string, (service: DamagedServer) => ReturnType<LiveServer['request']>]>([
    ['read', ({ execute }) => execute('memory_read', { path: 'user/tea.md' })],
    [
      'written',
      ({ execute }) => execute('memory_write', { path: 'user/tea.md', content: 'red\n' }),
    ],
    ['deleted', ({ execute }) => execute('memory_delete', { path: 'user/tea.md' })],
    ['shown', ({ get }) => get('/v1/admin/files/users/alice/tea.md')],
    ['blamed', ({ get }) => get('/v1/admin/files/users/alice/tea.md?blame=true')],
  ])('is not %s, and makes the service unready', async (__, work) => {
    const service = await serveTea();
    await service.damage(sql);
    const { status, json } = await work(service);
    expect([status, json.error]).toMatchObject(DAMAGED);
    expect(await service.ready()).toBe('STORAGE_DAMAGED');
  });
});

it('refuses the versions of a file whose content is gone', async () => {
  const service = await serveTea();
  const version = '/v1/admin/files/users/alice/tea.md?version=2';
  const { json: list } = await service.get('/v1/admin/revisions?path=users/alice/tea.md');
  const newest = list.items[0].id as string;
  const paths = [version, `/v1/admin/revisions/${newest}`];
  for (const path of paths) expect((await service.get(path)).status).toBe(200);
  await service.damage(`delete from svc_content where file_no = ${TEA}`);
  for (const path of paths) {
    const { status, json } = await service.get(path);
    expect([status, json.error]).toMatchObject(DAMAGED);
  }
  expect(await service.ready()).toBe('STORAGE_DAMAGED');
});

it('refuses a version to which no step leads', async () => {
  const service = await serveTea();
  const path = '/v1/admin/files/users/alice/tea.md?version=1';
  expect((await service.get(path)).status).toBe(200);
  await service.damage('update svc_revision set delta = null, keyframe = null where version = 2');
  const { status, json } = await service.get(path);
  expect([status, json.error]).toMatchObject(DAMAGED);
  expect(await service.ready()).toBe('STORAGE_DAMAGED');
});

it('finds nothing in a file whose content is another, and makes the service unready', async () => {
  const service = await serveTea();
  await service.damage("update svc_content set content = replace(content, 'green', 'great')");
  // A text that an earlier find has read would come from memory.
  const { status, json } = await service.execute('memory_find', { query: 'green' });
  expect([status, json.error]).toMatchObject(DAMAGED);
  expect(await service.ready()).toBe('STORAGE_DAMAGED');
});

/** A delta that replaces lines by empty ones, as SQL. */
function toDelta(start: number, removed: number, addedLines: number): string {
  const text = '\n'.repeat(addedLines);
  const hunk = { start, removed, addedLines, prefix: 0, suffix: 0, text };
  return `x'${Buffer.from(encodeDelta({ hunks: [hunk] })).toString('hex')}'`;
}
