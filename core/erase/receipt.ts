import type { EraseAnswer } from '../contracts/admin.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { chainHeadOf } from '../history/chain.ts';
import { nameLeftovers } from '../maintenance/leftovers.ts';
import { toTimeOrNull } from '../time/time.ts';
import { listCopies } from './copies.ts';
import type { Progress } from './progress.ts';
import { findReaders } from './readers.ts';
import { toOwner } from '../files/paths.ts';

const KEEPS = [
  'The user id with the counters that give new ids, and the time of the erasure. So ids never repeat, and a restore can say that the user was erased.',
  'In the audit: that the user was erased, and when. Other rows keep their action and time.',
  'Totals of the dashboard that count all users together.',
  'What the user wrote in spaces and in shared memory, without the user id.',
  'Freezes of the user’s writes, without their reasons: they end by themselves.',
];
const MAY_REMAIN = [
  'Backups, exports, and copies of the database elsewhere.',
  'Traces that were sent to an exporter, and logs.',
  'The providers of the model and of the embedder.',
  'Files that others wrote after they had read the memory: the receipt lists them.',
];

/** What an erasure would remove; it changes nothing. */
export async function previewErasure(
  storage: Storage,
  erasure: ErasureStore,
  scope: ScopeKey,
): Promise<EraseAnswer> {
  const tables = await erasure.count(scope);
  const readers = await findReaders(storage, scope);
  return {
    dryRun: true,
    ...toOwner(scope),
    erasedAt: null,
    tables,
    auditRows: 0,
    left: tables,
    erasedBefore: toTimeOrNull(await erasure.erasedAt(scope)),
    chainHead: await readChainHead(storage, scope),
    ...toReaders({ readers }),
    pending: [],
    copies: await listCopies(storage),
    ...(await listLimits(erasure)),
  };
}

/** What stays by design, and what may remain outside of the database. */
export async function listLimits(
  erasure: ErasureStore,
): Promise<Pick<EraseAnswer, 'keeps' | 'mayRemain'>> {
  const mayRemain = [...(erasure.mayRemain ?? []), ...MAY_REMAIN, ...(await nameLeftovers())];
  return { keeps: KEEPS, mayRemain };
}

/** The newest hash of a scope's history; `null` without one. */
export async function readChainHead(storage: Storage, scope: ScopeKey): Promise<string | null> {
  return await storage.mutate({ scopes: [scope], files: [] }, (current) => {
    const state = current.scope(scope);
    const result = state.revisions === 0 ? null : chainHeadOf(state);
    return { result, writes: 0, changes: {} };
  });
}

/** What the audit calls an erasure. */
export function toEraseAction(scope: ScopeKey): 'users.erase' | 'spaces.erase' {
  return toOwner(scope).spaceId === null ? 'users.erase' : 'spaces.erase';
}

/** The readers that a receipt lists. */
export function toReaders({ readers }: Pick<Progress, 'readers'>) {
  return {
    readers: readers?.readers ?? [],
    readersComplete: readers?.isComplete ?? false,
    spaces: readers?.spaces ?? [],
  };
}
