import type { AdminUser, UserHygiene } from '../../core/contracts/admin.ts';
import { type AdminDreamUser, SKIP_REASONS } from './dream-answers.ts';

/** A user, with what the service knows of the memory from several routes. */
export interface UserRow extends AdminUser {
  /** `null` for a memory that nobody wrote, or whose history is pruned. */
  readsPerWrite: number | null;
  /** Absent until the memory was checked. */
  hygiene?: UserHygiene;
  /** The findings of all severities; absent until the memory was checked. */
  findings?: number;
  /** The state of dreaming in words; absent without dreaming. */
  dreaming?: string;
}

/** What the table of users can be sorted by. */
export const USER_SORTS = {
  userId: { label: 'User', first: 'asc', of: ({ userId }) => userId },
  files: { label: 'Files', first: 'desc', of: ({ files }) => files },
  bytes: { label: 'Size', first: 'desc', of: ({ bytes }) => bytes },
  lastReadAt: { label: 'Last read', first: 'asc', of: ({ lastReadAt }) => lastReadAt ?? '' },
  lastShownAt: { label: 'Last shown', first: 'asc', of: ({ lastShownAt }) => lastShownAt ?? '' },
  lastWriteAt: { label: 'Last write', first: 'desc', of: ({ lastWriteAt }) => lastWriteAt ?? '' },
  readsPerWrite: {
    label: 'Reads per write',
    first: 'asc',
    of: ({ readsPerWrite }) => readsPerWrite ?? -1,
  },
  findings: { label: 'Findings', first: 'desc', of: badnessOf },
  dreaming: { label: 'Dreaming', first: 'asc', of: ({ dreaming }) => dreaming ?? '' },
} as const satisfies Record<
  string,
  { label: string; first: 'asc' | 'desc'; of: (row: UserRow) => string | number }
>;
/** A column that the table can be sorted by. */
export type UserSort = keyof typeof USER_SORTS;

/** More findings of any lower severity than one memory has. */
const ABOVE = 100_000;

/** The worst first: one finding of a higher severity outweighs any number of lower ones. */
function badnessOf({ hygiene }: UserRow): number {
  if (hygiene === undefined) return -1;
  const { high, medium, low } = hygiene.severities;
  return (high * ABOVE + medium) * ABOVE + low;
}

/** Memory as old that no agent was shown for so long is dead weight. */
const DEAD = '30d';

/** Which users the table shows: what the service selects them by, and what only the check knows. */
export const USER_GROUPS = {
  dead: {
    label: 'Dead weight: not shown for 30 days',
    query: { notShownSince: DEAD, existsSince: DEAD },
    has: (_row: UserRow) => true,
  },
  findings: {
    label: 'With findings',
    query: {},
    has: ({ findings = 0 }: UserRow) => findings > 0,
  },
} as const;
/** A part of the users. */
export type UserGroup = keyof typeof USER_GROUPS;

/** Joins what the routes say of each user. */
export function toUserRows(
  users: readonly AdminUser[],
  dreams: readonly AdminDreamUser[],
): UserRow[] {
  const dreamOf = new Map(dreams.map((user) => [user.userId, user]));
  return users.map((user) => {
    const dream = dreamOf.get(user.userId);
    return {
      ...user,
      readsPerWrite: user.revisions === 0 ? null : user.reads / user.revisions,
      ...(dream && { dreaming: tellDreaming(dream) }),
    };
  });
}

/** Adds what the check found. A row that was not checked stays the same object. */
export function addFindings(rows: readonly UserRow[], hygiene: readonly UserHygiene[]): UserRow[] {
  const hygieneOf = new Map(hygiene.map((user) => [user.userId, user]));
  return rows.map((row) => {
    const checked = hygieneOf.get(row.userId);
    if (checked === undefined) return row;
    const findings = Object.values(checked.severities).reduce((sum, one) => sum + one, 0);
    return { ...row, hygiene: checked, findings };
  });
}

/** The rows in an order; those that are equal in it by user id. */
export function sortUsers(
  rows: readonly UserRow[],
  { sort, order }: { sort: UserSort; order: 'asc' | 'desc' },
): UserRow[] {
  const { of } = USER_SORTS[sort];
  const sign = order === 'asc' ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [of(one), of(other)];
    if (a !== b) return a < b ? -sign : sign;
    return one.userId < other.userId ? -1 : 1;
  });
}

function tellDreaming({ paused, error, eligible, skipReason }: AdminDreamUser): string {
  if (paused) return 'paused';
  if (error !== null) return 'failed';
  return eligible ? 'next tick' : (SKIP_REASONS[skipReason ?? ''] ?? skipReason ?? 'not now');
}
