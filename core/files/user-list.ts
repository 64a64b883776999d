import type { AdminUser, ListAnswer, UserListQuery } from '../contracts/admin.ts';
import type { UserListing } from '../contracts/records.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { answerList, PAGE_LIMITS, readRows } from '../page.ts';
import { parseUserId } from './paths.ts';
import type { UserSort } from '../schemas/users.ts';
import { parseTime, toTimeOrNull } from '../time.ts';

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
  const { sort = 'userId', q, notShownSince } = query;
  const userId = query.userId === undefined ? undefined : parseUserId(query.userId);
  const contains = userId ?? q ?? null;
  const before = notShownSince === undefined ? null : parseTime(notShownSince, 'notShownSince');
  const isWanted = (user: UserListing) =>
    (userId === undefined || user.userId === userId) &&
    (q === undefined || user.userId.toLowerCase().includes(q.toLowerCase())) &&
    (before === null || (user.lastShownAt ?? -1) < before);
  return await answerList(query, {
    list: 'users',
    sort,
    defaultOrder: sort === 'userId' ? 'asc' : 'desc',
    filters: { q, userId, notShownSince },
    async read(page) {
      const isByStorage = sort === 'userId' && userId === undefined && before === null;
      if (isByStorage) return await storage.files.listUsers({ contains }, page);
      const all = readRows((some) => storage.files.listUsers({ contains }, some));
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
  const compare = (one: Ranked, other: Ranked) =>
    sign * (one.figure - other.figure || (one.user.userId < other.user.userId ? -1 : 1));
  let found: Ranked[] = [];
  const keepFirst = () => (found = found.sort(compare).slice(0, limit + 1));
  for await (const user of all) {
    if (!isWanted(user)) continue;
    const ranked = { user, figure: figureOf?.(user) ?? 0 };
    if (last === null || isBeyond(ranked, last, sign)) found.push(ranked);
    if (found.length > 4 * PAGE_LIMITS.max) keepFirst();
  }
  keepFirst();
  const items = found.slice(0, limit);
  const end = found.length > limit ? items.at(-1) : undefined;
  return {
    items: items.map(({ user }) => user),
    next: end === undefined ? null : [end.figure, end.user.userId],
  };
}

interface Ranked {
  user: UserListing;
  figure: number;
}

function isBeyond(
  { figure, user }: Ranked,
  [before, userId]: [number, string],
  sign: number,
): boolean {
  if (figure !== before) return sign * (figure - before) > 0;
  return user.userId !== userId && (user.userId > userId ? sign : -sign) > 0;
}

function parseKey(after: PageRequest['after']): [number, string] | null {
  if (after === null) return null;
  const [figure, userId] = after;
  if (typeof figure !== 'number' || typeof userId !== 'string') {
    throw new MemoryError('INVALID_CURSOR');
  }
  return [figure, userId];
}
