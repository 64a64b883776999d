/** The root of a memory of which a physical path is: `users/<userId>`, `spaces/<spaceId>` or `shared`. */
function homeOf(path: string): string {
  return path.split('/', path.startsWith('shared/') ? 1 : 2).join('/');
}

/** A link as wikis write it: `[[tea]]` or `[[projects/tea.md|the tea]]`. */
const WIKI = /^\[\[([^\]|\n]+)(?:\|([^\]\n]+))?\]\]/;

/** The link at the beginning of a text; `null` if there is none. A name without an ending is a markdown file. */
export function readWikiLink(text: string): { length: number; href: string; label: string } | null {
  const [whole, target, label] = WIKI.exec(text) ?? [];
  if (whole === undefined || target === undefined) return null;
  const [name = '', fragment] = target.trim().split('#', 2);
  const href = name === '' || /\.[a-z0-9]+$/i.test(name) ? name : `${name}.md`;
  const suffix = fragment === undefined ? '' : `#${fragment}`;
  return { length: whole.length, href: `${href}${suffix}`, label: (label ?? target).trim() };
}

/** The version that a link names: `tea.md#v3`, `tea.md?version=3`; `null` for the newest. */
export function versionOfLink(href: string): number | null {
  const [, version] = /(?:#v|[?&]version=)(\d{1,9})$/.exec(href) ?? [];
  return version === undefined ? null : Number(version);
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
