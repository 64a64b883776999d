import { isExcludedFromDreams } from './dream-exclusion.ts';
import { belowUser, isUserPath, isVirtualPath } from './paths.ts';

/** Whether a virtual path may be that of the inbox: a file of the user, neither the catalog nor a log. */
export function isInboxPath(path: string): boolean {
  if (!isUserPath(path) || !isVirtualPath(path)) return false;
  return path !== 'user/index.md' && !isExcludedFromDreams(belowUser(path));
}

/** The path of the nth file of the inbox, from 1: `user/inbox.md`, `user/inbox-2.md`. */
export function toInboxPath(path: string, nth: number): string {
  return nth === 1 ? path : path.replace(/\.md$/, `-${nth}.md`);
}

/** Which file of the inbox a path is, from 1; `null` for other files. */
export function toInboxNumber(path: string, inbox: string): number | null {
  if (path === inbox) return 1;
  const base = inbox.slice(0, -'.md'.length);
  if (!path.startsWith(`${base}-`)) return null;
  const nth = Number(
    /^-([2-9]|[1-9]\d{1,4})\.md$/.exec(path.slice(base.length))?.[1] ?? Number.NaN,
  );
  return Number.isNaN(nth) ? null : nth;
}
