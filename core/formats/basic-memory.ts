import { posix } from 'node:path';
import { MemoryError } from '../errors.ts';
import { checkContent } from '../files/content.ts';
import { listFields, readFrontMatter } from '../markdown/front-matter.ts';
import { listText } from '../markdown/inline.ts';
import { readStructure } from '../markdown/structure.ts';
import {
  checkItems,
  type Converted,
  type ConvertOptions,
  type ForeignPart,
  toTarget,
  toText,
} from './format.ts';
import { foldName } from './members.ts';

/**
 * Notes of basic-memory 0.13 to 0.19: a folder of markdown with front matter (`title`, `type`,
 * `permalink`, `tags`), observations (`- [category] text #tag (context)`) and relations
 * (`- relates_to [[Title]]`).
 *
 * The notes are markdown that people read already: paths and text stay as they are, front matter too.
 * A `[[Title]]` becomes a link to the note of that title, permalink or file name; one without a note
 * stays.
 */
export function basicMemory(
  parts: readonly ForeignPart[],
  { userId, maxFileBytes }: ConvertOptions,
): Converted {
  checkItems(parts.length);
  const skipped: Converted['skipped'] = [];
  const notes: { path: string; text: string }[] = [];
  for (const part of parts) {
    try {
      const text = toText(part);
      checkContent(text, maxFileBytes);
      notes.push({ path: part.path, text });
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      skipped.push({ item: part.path, reason: error.message });
    }
  }
  const targets = new Map<string, string>();
  const name = (key: string | undefined, path: string): void => {
    const folded = toKey(key ?? '');
    if (folded !== '' && !targets.has(folded)) targets.set(folded, path);
  };
  // Titles and permalinks are chosen by people; file names come after them.
  for (const { path, text } of notes) {
    const fields = readFields(text);
    name(fields.get('title'), path);
    name(fields.get('permalink'), path);
  }
  for (const { path } of notes) {
    const stem = path.replace(/\.md$/i, '');
    name(stem, path);
    name(posix.basename(stem), path);
  }
  const files = notes.map(({ path, text }) => {
    const linked = linkTitles(text, (title) => {
      const target = targets.get(toKey(title));
      return target === undefined ? null : posix.relative(posix.dirname(path), target);
    });
    // Links are longer than titles.
    const content = Buffer.byteLength(linked) > maxFileBytes ? text : linked;
    return { userId, path, content, items: 1 };
  });
  return { files, skipped };
}

/** A title, permalink or file name, as links are compared by. */
function toKey(name: string): string {
  return name.trim().replace(/\.md$/i, '').normalize('NFC').toLowerCase();
}

/** Fields of front matter that are one line of text. */
function readFields(text: string): ReadonlyMap<string, string> {
  const frontMatter = readFrontMatter(text);
  if (frontMatter === null) return new Map();
  const own = [...listFields(frontMatter)].filter(({ isNested }) => !isNested);
  return new Map(own.map(({ name, value }) => [foldName(name), value]));
}

const WIKI_LINK = /!?\[\[([^[\]\r\n]{1,500})\]\]/g;

/**
 * Replaces `[[Title]]`, `[[Title|words]]`, `[[Title#Heading]]` and `![[Title]]` by links, wherever a
 * text is no code, comment or front matter.
 */
function linkTitles(text: string, find: (title: string) => string | null): string {
  if (!text.includes('[[')) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of listText(text, readStructure(text))) {
    parts.push(text.slice(from, start));
    parts.push(
      text.slice(start, end).replace(WIKI_LINK, (whole, inner: string) => {
        // In a table, the `|` has a backslash.
        const [named = '', words = named] = inner.split(/\\?\|/, 2);
        const exact = find(named);
        if (exact !== null) return `[${words.trim()}](${toTarget(exact)})`;
        const [title = '', heading = ''] = named.split('#', 2);
        const path = find(title);
        return path === null ? whole : `[${words.trim()}](${toTarget(path)}${toFragment(heading)})`;
      }),
    );
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** `#a-heading` for `A heading`, as GitHub names the places of headings. A block (`^id`) has none. */
function toFragment(heading: string): string {
  const words = heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_ -]/gu, '');
  if (words === '' || heading.trim().startsWith('^')) return '';
  return `#${encodeURIComponent(words.replaceAll(' ', '-'))}`;
}
