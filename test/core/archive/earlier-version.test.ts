import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';
import { exportAll, importAll, unpack } from './archives.ts';

/**
 * Written by the version of the service before archives had version 2: alice's memory with a
 * redaction, a prune, a move and a deletion, and shared memory.
 */
const VERSION_1 = new URL('./fixtures/version-1.tar.gz', import.meta.url);

async function formatsOf({ storage }: Core, scope: ScopeKey): Promise<number[]> {
  const page = { limit: 500, order: 'asc', after: null } as const;
  const { items } = await storage.revisions.list({ scope }, page);
  return items.map(({ hashFormat }) => hashFormat);
}

it('reads an archive of version 1, whose revisions keep their hashes and go on with those of today', async () => {
  const archive = await readFile(VERSION_1);
  const core = await openCore({ tools: { delete: true } });
  const { summary } = await importAll(core, archive);
  expect(summary).toMatchObject({ restored: 7, created: 0, updated: 0, skipped: 0 });
  expect(new Set(await formatsOf(core, 'u:alice'))).toEqual(new Set([1]));
  expect((await verifyMemory(core.storage)).findings).toEqual([]);

  const path = 'user/tea.md';
  await call(core, 'alice', 'memory_patch', { path, append: { text: '- white' }, reason: 'x' });
  await call(core, 'alice', 'memory_delete', { path: 'user/pruned.md', reason: 'x' });
  expect((await formatsOf(core, 'u:alice')).slice(-2)).toEqual([2, 2]);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
  const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
  await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
  expect(await verifyMemory(core.storage)).toMatchObject({ found: 0, unchained: 0, uncovered: 0 });

  const again = await exportAll(core);
  const [manifest] = await unpack(again);
  expect(JSON.parse(String(manifest?.content))).toMatchObject({ version: 2 });
  const there = await openCore();
  await importAll(there, again);
  expect((await exportAll(there)).equals(again)).toBe(true);
  expect((await verifyMemory(there.storage)).findings).toEqual([]);
});

it('redacts a revision of before, and its other fields stay provable', async () => {
  const core = await openCore();
  await importAll(core, await readFile(VERSION_1));
  const key = { scope: 'u:alice', path: 'tea.md' } as const;
  const first = await core.storage.revisions.ofVersion(key, 1);
  const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
  await core.revisions.redact(first?.id ?? '', { reason: 'a key' }, operator);
  const after = await core.storage.revisions.ofVersion(key, 1);
  expect(after).toMatchObject({ redacted: true, hashFormat: 1, hash: null });
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
});
