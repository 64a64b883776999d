import type { HygieneReport } from '../../contracts/admin.ts';
import type { PageRequest, PageResult, Storage } from '../../contracts/storage.ts';
import { ownerOf } from '../../files/paths.ts';
import type { HygieneCheck } from './check.ts';

/** A page ends with the memory at which this much was checked. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** Checks the memory of users, or of spaces, by id, one after the other, until the page is full. */
export async function checkOwners(
  { storage, checkHygiene }: { storage: Storage; checkHygiene: HygieneCheck },
  { of: owners, contains }: { of: 'users' | 'spaces'; contains: string | null },
  { limit, after, ...page }: PageRequest,
): Promise<PageResult<HygieneReport>> {
  const items: HygieneReport[] = [];
  let bytes = 0;
  let next = after;
  do {
    // One by one, so that the page can end after any of them.
    const one = { ...page, limit: 1, after: next };
    const found = await listOwners(storage, { owners, contains }, one);
    for (const { owner, bytes: own } of found.items) {
      items.push(await checkHygiene(owner));
      bytes += own;
    }
    next = found.next;
  } while (next !== null && items.length < limit && bytes < PAGE_BYTES);
  return { items, next };
}

async function listOwners(
  { files }: Pick<Storage, 'files'>,
  { owners, contains }: { owners: 'users' | 'spaces'; contains: string | null },
  page: PageRequest,
) {
  if (owners === 'users') {
    const { items, next } = await files.listUsers({ contains }, page);
    return { items: items.map(({ userId, bytes }) => ({ owner: { userId }, bytes })), next };
  }
  const { items, next } = await files.listSpaces({ contains }, page);
  return {
    items: items.map(({ scope, bytes }) => ({ owner: { spaceId: ownerOf(scope) }, bytes })),
    next,
  };
}
