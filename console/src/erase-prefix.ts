import type { PrefixEraseAnswer, PrefixEraseRequest } from '../../core/contracts/admin.ts';
import { addErasePage } from '../../core/erase/add-page.ts';
import { type Api, explain } from './api.ts';
import { homeOf, toOwner } from './owner.ts';

/** What an erasure by prefix did, and why it stopped before its end; `null` if it did not. */
export interface PrefixErasure extends PrefixEraseAnswer {
  stoppedBy: string | null;
}

/**
 * Erases page after page. An error of the first page is thrown: nothing was erased. One of a later page
 * ends the work and is returned with the receipts so far, because receipts are given once.
 */
export async function erasePages(
  api: Pick<Api, 'erasePrefix'>,
  request: PrefixEraseRequest,
  onPage: (soFar: PrefixEraseAnswer) => void,
): Promise<PrefixErasure> {
  let all = await api.erasePrefix(request);
  while (all.nextCursor !== null) {
    onPage(all);
    try {
      all = addErasePage(all, await api.erasePrefix({ ...request, cursor: all.nextCursor }));
    } catch (error) {
      return { ...all, stoppedBy: explain(error) };
    }
  }
  return { ...all, stoppedBy: null };
}

/** The files of others that may repeat erased memory: not those that were erased afterwards. */
export function readersLeft({ receipts }: Pick<PrefixEraseAnswer, 'receipts'>): string[] {
  const homes = receipts.flatMap((one) => {
    const owner = toOwner(one);
    return owner === null ? [] : [homeOf(owner)];
  });
  const paths = receipts.flatMap(({ readers }) => readers.map(({ path }) => path));
  return [...new Set(paths)].filter((path) => !homes.some((home) => path.startsWith(home)));
}

/** What the receipts say together about the database file, and the copies beside it. */
export function fileOfReceipts({
  receipts,
}: Pick<PrefixEraseAnswer, 'receipts'>): Pick<
  PrefixEraseAnswer['receipts'][number],
  'dryRun' | 'pending' | 'copies'
> {
  const last = receipts.at(-1);
  const removed = receipts.flatMap(({ copies }) => copies.filter((copy) => copy.removed));
  const left = last?.copies.filter((copy) => !copy.removed) ?? [];
  return { dryRun: false, pending: last?.pending ?? [], copies: [...removed, ...left] };
}

/** All rows of some users and spaces, by table. */
export function addTables(items: readonly Pick<PrefixEraseAnswer['matches'][number], 'tables'>[]) {
  const sums: Record<string, number> = {};
  for (const { tables } of items) {
    for (const [table, rows] of Object.entries(tables)) sums[table] = (sums[table] ?? 0) + rows;
  }
  return sums;
}
