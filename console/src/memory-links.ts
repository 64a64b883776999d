/** The root of a memory of which a physical path is: `users/<userId>`, `spaces/<spaceId>` or `shared`. */
function homeOf(path: string): string {
  return path.split('/', path.startsWith('shared/') ? 1 : 2).join('/');
}

/**
 * The physical path of the memory file that a link of another one names: relative to the file, from its
 * root (`/tea.md`), or with a root of its own (`user/…`, `shared/…`, `spaces/<spaceId>/…`, or `users/…` as
 * operators write it). `null` for a link that leads out of memory. The service says whether there is
 * such a file.
 *
 * @param from the physical path of the file in which the link stands.
 */
export function resolveMemoryLink(href: string, from: string): string | null {
  const target = decode(href.split(/[?#]/, 1)[0] ?? '');
  if (target === null || target === '' || /^[a-z][a-z0-9+.-]*:|^\/\//i.test(target)) return null;
  const home = homeOf(from).split('/');
  const own = /^user\/(.+)$/.exec(target)?.[1];
  const isWhole = /^(?:shared|(?:users|spaces)\/[^/]+)\//.test(target);
  if (own !== undefined && !from.startsWith('users/')) return null;
  const base =
    own !== undefined || target.startsWith('/')
      ? home
      : isWhole
        ? []
        : from.split('/').slice(0, -1);
  const rest = (own ?? target).split('/');
  const root = isWhole ? homeOf(target).split('/') : home;
  const segments = [...base];
  for (const segment of rest) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    // Stays in the memory that the link is about.
    else if (segments.length <= root.length) return null;
    else segments.pop();
  }
  return segments.length > root.length ? segments.join('/') : null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    return null;
  }
}
