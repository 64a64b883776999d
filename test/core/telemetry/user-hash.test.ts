import { expect, it } from 'vitest';
import { createUserHash } from '../../../core/telemetry/user-hash.ts';
import { rejection } from '../../support/rejection.ts';
import { openCore } from '../../support/service.ts';

it('instances that make the key at the same time get the same one', async () => {
  const { storage } = await openCore();
  const made = Array.from({ length: 8 }, () => createUserHash(storage.config));
  const hashes = (await Promise.all(made)).map((hash) => hash('alice'));
  expect(new Set(hashes).size).toBe(1);
  expect(hashes[0]).toMatch(/^[0-9a-f]{32}$/);
});

it('users have hashes of their own, and case counts', async () => {
  const hash = await createUserHash((await openCore()).storage.config);
  expect(new Set(['alice', 'Alice', 'alice ', 'bob'].map(hash)).size).toBe(4);
});

it('a key that is none, or short enough to be tried, is refused', async () => {
  const { storage } = await openCore();
  for (const kept of ['', 'short', 7, null]) {
    await storage.config.set({ service_trace_user_key: kept }, null);
    expect((await rejection(createUserHash(storage.config))).code).toBe('INTERNAL');
  }
});
