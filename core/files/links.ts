import { MemoryError } from '../errors.ts';
import { listText, listTextWithin } from '../markdown/inline.ts';
import { type MarkdownLine, type MarkdownStructure, readStructure } from '../markdown/structure.ts';
import { hasRoot, isVirtualPath, rootOf } from './paths.ts';

/**
 * The memory files that a markdown text links to, as virtual paths, in order and each once:
 * `[words](projects/tea.md)`, relative to the file or from its root, and `[[projects/tea]]`. Ignores
 * links in code, comments and front matter, links out of memory and invalid paths.
 *
 * @param from the virtual path of the file that holds the text.
 */
export function findLinks(text: string, from: string): string[] {
  if (!hasLink(text)) return [];
  // Whether a line alone is code by its indent depends on the lines above it.
  const ranges = /[\n\r]/.test(text)
    ? listText(text, readStructure(text))
    : listTextWithin(text, { start: 0, end: text.length });
  const targets = new Set<string>();
  const wiki = new Set<string>();
  for (const { start, end } of ranges) {
    const part = text.slice(start, end);
    for (const target of listInlineTargets(part)) targets.add(target);
    for (const target of listWikiTargets(part)) wiki.add(target);
  }
  return toPaths([...targets, ...wiki], from);
}

/** The links of a file, as {@link findLinks} has them, with their lines from 1. */
export function* listLinks(
  text: string,
  { lines }: Pick<MarkdownStructure, 'lines'>,
  from: string,
): Generator<{ to: string; line: number }> {
  if (!hasLink(text)) return;
  let at = 0;
  for (const { start, end } of listText(text, { lines })) {
    while ((lines[at]?.next ?? Infinity) <= start) at += 1;
    for (const line of linesFrom(lines, at)) {
      if (line.start >= end) break;
      const part = text.slice(Math.max(start, line.start), Math.min(end, line.end));
      const targets = hasLink(part) ? [...listInlineTargets(part), ...listWikiTargets(part)] : [];
      for (const to of toPaths(targets, from)) yield { to, line: line.number };
    }
  }
}

function* linesFrom(lines: readonly MarkdownLine[], first: number): Generator<MarkdownLine> {
  for (let at = first; at < lines.length; at += 1) yield lines[at] as MarkdownLine;
}

/** Whether there may be a link: most lines have none. */
function hasLink(text: string): boolean {
  return text.includes('](') || text.includes('[[');
}

function toPaths(targets: readonly string[], from: string): string[] {
  const paths = targets.map((target) => {
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
    // In a table, the `|` has a backslash. A heading of the file is behind `#`.
    const target = inner.split(/\\?\|/, 1)[0]?.split('#', 1)[0] ?? '';
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
  const isFull = hasRoot(path);
  const root = rootOf(isFull ? path : from).split('/');
  const base = isFull ? [] : path.startsWith('/') ? root : from.split('/').slice(0, -1);
  const segments = [...base];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      // Stays within the file's root.
      if (segments.length <= root.length) return null;
      segments.pop();
    } else {
      segments.push(segment);
    }
  }
  const resolved = segments.join('/');
  return isVirtualPath(resolved) ? resolved : null;
}
