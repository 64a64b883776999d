import { expect, it } from 'vitest';
import type { LeaseStore } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import { createWriteHealth } from '../../../core/files/write-health.ts';

const unavailable = () => new MemoryError('STORAGE_UNAVAILABLE');
const FAILING = { status: 'failing', code: 'STORAGE_UNAVAILABLE' };
const OK = { status: 'ok', code: null };

function watchWrites(claim: LeaseStore['claim']) {
  return createWriteHealth({ leases: { claim } as LeaseStore });
}

it.each(['memory', 'log'] as const)(
  'ends the failure of a test write with a write of %s that succeeds',
  async (kind) => {
    const health = watchWrites(() => Promise.reject(unavailable()));
    expect(await health.check()).toEqual(FAILING);
    health.note(kind, null);
    expect(await health.check()).toEqual(OK);
  },
);

it('keeps the failure of a memory write until a memory write succeeds', async () => {
  const health = watchWrites(() => Promise.resolve(1));
  health.note('memory', unavailable());
  health.note('log', null);
  expect(await health.check()).toEqual(FAILING);
  health.note('memory', null);
  expect(await health.check()).toEqual(OK);
});
