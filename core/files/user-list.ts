import type { AdminUser, ListAnswer, UserListQuery } from '../contracts/admin.ts';
import type { UserListing } from '../contracts/records.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { answerList, PAGE_LIMITS, readRows } from '../lists/page.ts';
import { parseUserId } from './paths.ts';
import type { UserSort } from '../schemas/users.ts';
import { parseTimeOrNull, toTimeOrNull } from '../time/time.ts';

/** What users are sorted by: whole numbers, -1 for never and for what cannot be known. */
const FIGURES: Readonly<Record<Exclude<UserSort, 'userId'>, (user: UserListing) => number>> = {
  files: ({ files }) => files,
  bytes: ({ bytes }) => bytes,
  lastReadAt: ({ lastReadAt }) => lastReadAt ?? -1,
  lastShownAt: ({ lastShownAt }) => lastShownAt ?? -1,
  lastWriteAt: ({ lastWriteAt }) => lastWriteAt ?? -1,
  // In millionths, because a page key has no fractions.
  readsPerWrite: ({ reads, revisions }) =>
    revisions === 0 ? -1 : Math.round((reads / revisions) * 1e6),
};

/** Answers a query for users with one page. */
export async function listUsers(
  storage: Storage,
  query: UserListQuery,
): Promise<ListAnswer<AdminUser>> {
  const { sort = 'userId', q, notShownSince, existsSince } = query;
  const userId = query.userId === undefined ? undefined : parseUserId(query.userId);
  const contains = userId ?? q ?? null;
  const isWanted = (user: UserListing) =>
    (userId === undefined || user.userId === userId) &&
    (q === undefined || user.userId.toLowerCase().includes(q.toLowerCase()));
  const filter = {
    contains,
    notShownSince: parseTimeOrNull(notShownSince, 'notShownSince'),
    existsSince: parseTimeOrNull(existsSince, 'existsSince'),
  };
  return await answerList(query, {
    list: 'users',
    sort,
    defaultOrder: sort === 'userId' ? 'asc' : 'desc',
    filters: { q, userId, notShownSince, existsSince },
    async read(page) {
      const isByStorage = sort === 'userId' && userId === undefined;
      if (isByStorage) return await storage.files.listUsers(filter, page);
      const all = readRows((some) => storage.files.listUsers(filter, some));
      return await pickPage(all, page, {
        isWanted,
        figureOf: sort === 'userId' ? null : FIGURES[sort],
      });
    },
    toItem: (user) => ({
      ...user,
      lastReadAt: toTimeOrNull(user.lastReadAt),
      lastShownAt: toTimeOrNull(user.lastShownAt),
      lastWriteAt: toTimeOrNull(user.lastWriteAt),
    }),
  });
}

/**
 * One page in an order that no index has. It reads all users, but holds only as many as a few pages.
 * The page key is the figure and the user id.
 */
async function pickPage(
  all: AsyncIterable<UserListing>,
  { limit, order, after }: PageRequest,
  options: {
    isWanted: (user: UserListing) => boolean;
    figureOf: ((user: UserListing) => number) | null;
  },
): Promise<PageResult<UserListing>> {
  const { isWanted, figureOf } = options;
  const last = parseKey(after);
  const sign = order === 'asc' ? 1 : -1;
  const compare = ([one, oneId]: FigureKey, [other, otherId]: FigureKey) =>
    sign * (one - other || Number(oneId > otherId) - Number(oneId < otherId));
  let found: { user: UserListing; key: FigureKey }[] = [];
  const keepFirst = () =>
    (found = found.sort((one, other) => compare(one.key, other.key)).slice(0, limit + 1));
  for await (const user of all) {
    if (!isWanted(user)) continue;
    const key: FigureKey = [figureOf?.(user) ?? 0, user.userId];
    if (last === null || compare(key, last) > 0) found.push({ user, key });
    if (found.length > 4 * PAGE_LIMITS.max) keepFirst();
  }
  keepFirst();
  const items = found.slice(0, limit);
  return {
    items: items.map(({ user }) => user),
    next: found.length > limit ? (items.at(-1)?.key ?? null) : null,
  };
}

/** A figure of a user, and the user's id. */
type FigureKey = readonly [number, string];

function parseKey(after: PageRequest['after']): FigureKey | null {
  if (after === null) return null;
  const [figure, userId] = after;
  if (typeof figure !== 'number' || typeof userId !== 'string') {
    throw new MemoryError('INVALID_CURSOR');
  }
  return [figure, userId];
}
