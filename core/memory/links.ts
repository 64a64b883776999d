import { MemoryError } from '../errors.ts';
import { parseUserId, parseVirtualPath } from './paths.ts';

/** Stands in for a user where only the form of a path is looked at. */
const ANYONE = parseUserId('anyone');

/**
 * The memory files that a markdown text links to, as virtual paths, in order and each once:
 * `[words](projects/tea.md)`, relative to the file or from its root, and `[[projects/tea]]`. Links
 * that leave memory are none, and neither are paths that no file can have.
 *
 * @param from the virtual path of the file that the text is of.
 */
export function findLinks(text: string, from: string): string[] {
  const targets = [...listInlineTargets(text), ...listWikiTargets(text)];
  const paths = targets.map((target) => resolve(target, from));
  return [...new Set(paths.filter((path) => path !== null))];
}

/** Walked by hand: brackets without their end would make an expression go over the text again. */
function* listInlineTargets(text: string): Generator<string> {
  for (let at = text.indexOf(']('); at !== -1; at = text.indexOf('](', at + 2)) {
    const lineEnd = text.indexOf('\n', at);
    const end = text.indexOf(')', at);
    if (end === -1) return;
    if (lineEnd === -1 || end < lineEnd) yield text.slice(at + 2, end);
  }
}

function* listWikiTargets(text: string): Generator<string> {
  for (let at = text.indexOf('[['); at !== -1; at = text.indexOf('[[', at + 2)) {
    const end = text.indexOf(']]', at);
    if (end === -1) return;
    const target = text.slice(at + 2, end).split('|', 1)[0] ?? '';
    if (!target.includes('\n')) yield target.endsWith('.md') ? target : `${target}.md`;
  }
}

function resolve(target: string, from: string): string | null {
  const path = decode(target.trim().split(/[#?\s]/, 1)[0] ?? '');
  if (path === null || path === '' || /^[a-z][a-z0-9+.-]*:/i.test(path)) return null;
  const [root = ''] = from.split('/', 1);
  const isFull = path.startsWith('user/') || path.startsWith('shared/');
  const base = isFull ? [] : path.startsWith('/') ? [root] : from.split('/').slice(0, -1);
  const segments = [...base];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      // Never above the root that the file is in.
      if (segments.length <= 1) return null;
      segments.pop();
    } else {
      segments.push(segment);
    }
  }
  return toExisting(segments.join('/'));
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function toExisting(path: string): string | null {
  try {
    parseVirtualPath(path, ANYONE);
    return path;
  } catch (error) {
    if (error instanceof MemoryError) return null;
    throw error;
  }
}
