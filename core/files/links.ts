import { MemoryError } from '../errors.ts';
import { parseUserId, parseVirtualPath } from './paths.ts';

/** A placeholder user for checking only the form of a path. */
const ANYONE = parseUserId('anyone');

/**
 * The memory files that a markdown text links to, as virtual paths, in order and each once:
 * `[words](projects/tea.md)`, relative to the file or from its root, and `[[projects/tea]]`. Ignores
 * links out of memory and invalid paths.
 *
 * @param from the virtual path of the file that holds the text.
 */
export function findLinks(text: string, from: string): string[] {
  const targets = new Set([...listInlineTargets(text), ...listWikiTargets(text)]);
  const paths = [...targets].map((target) => {
    try {
      return resolve(target, from);
    } catch (error) {
      if (error instanceof URIError || error instanceof MemoryError) return null;
      throw error;
    }
  });
  return [...new Set(paths.filter((path) => path !== null))];
}

function listInlineTargets(text: string): string[] {
  return listBetween(text, '](', ')');
}

function listWikiTargets(text: string): string[] {
  return listBetween(text, '[[', ']]').map((inner) => {
    const target = inner.split('|', 1)[0] ?? '';
    return target.trim() === '' || target.endsWith('.md') ? target : `${target}.md`;
  });
}

/**
 * Finds the texts between two marks in a line, the innermost of nested ones. A regular expression
 * would take quadratic time for brackets that are never closed.
 */
function listBetween(text: string, open: string, close: string): string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    let from = 0;
    for (;;) {
      const first = line.indexOf(open, from);
      const end = first === -1 ? -1 : line.indexOf(close, first + open.length);
      if (end === -1) break;
      found.push(line.slice(line.lastIndexOf(open, end - open.length) + open.length, end));
      from = end + close.length;
    }
  }
  return found;
}

/** The path that a link names, or `null`; throws for one that is not well formed. */
function resolve(target: string, from: string): string | null {
  const path = decodeURIComponent(target.trim().split(/[#?\s]/, 1)[0] ?? '');
  if (path === '' || /^[a-z][a-z0-9+.-]*:/i.test(path)) return null;
  const [root = ''] = from.split('/', 1);
  const isFull = path.startsWith('user/') || path.startsWith('shared/');
  const base = isFull ? [] : path.startsWith('/') ? [root] : from.split('/').slice(0, -1);
  const segments = [...base];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      // Stays within the file's root.
      if (segments.length <= 1) return null;
      segments.pop();
    } else {
      segments.push(segment);
    }
  }
  const resolved = segments.join('/');
  parseVirtualPath(resolved, ANYONE);
  return resolved;
}
