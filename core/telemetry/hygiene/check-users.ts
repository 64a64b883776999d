import type { HygieneReport } from '../../contracts/admin.ts';
import type { PageRequest, PageResult, Storage } from '../../contracts/storage.ts';
import type { HygieneCheck } from './check.ts';

/** A page ends with the user at whom this much memory was checked. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** Checks the memory of users by user id, one after the other, until the page is full. */
export async function checkUsers(
  { storage, checkHygiene }: { storage: Storage; checkHygiene: HygieneCheck },
  contains: string | null,
  { limit, after, ...page }: PageRequest,
): Promise<PageResult<HygieneReport>> {
  const items: HygieneReport[] = [];
  let bytes = 0;
  let next = after;
  do {
    // One by one, so that the page can end after any of them.
    const users = await storage.files.listUsers({ contains }, { ...page, limit: 1, after: next });
    for (const user of users.items) {
      items.push(await checkHygiene({ userId: user.userId }));
      bytes += user.bytes;
    }
    next = users.next;
  } while (next !== null && items.length < limit && bytes < PAGE_BYTES);
  return { items, next };
}
