import { posix } from 'node:path';
import { MemoryError } from '../../errors.ts';
import { checkContent } from '../../files/content.ts';
import { checkItems, type Converted, type ForeignFormat, toTarget, toText } from './format.ts';

/**
 * Notes of basic-memory 0.13 to 0.19: a folder of markdown with front matter (`title`, `type`,
 * `permalink`, `tags`), observations (`- [category] text #tag (context)`) and relations
 * (`- relates_to [[Title]]`).
 *
 * The notes are markdown that people read already: paths and text stay as they are, front matter too.
 * A `[[Title]]` becomes a link to the note of that title, permalink or file name; one without a note
 * stays.
 */
export const basicMemory: ForeignFormat = {
  // A folder of markdown could be anyone's.
  detect: () => false,

  convert(parts, { userId, maxFileBytes }) {
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
      const folded = (key ?? '').trim().toLowerCase();
      if (folded !== '' && !targets.has(folded)) targets.set(folded, path);
    };
    // Titles and permalinks are chosen by people; file names come after them.
    for (const { path, text } of notes) {
      const fields = readFrontMatter(text);
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
        const target = targets.get(title.trim().toLowerCase());
        return target === undefined ? null : posix.relative(posix.dirname(path), target);
      });
      // Links are longer than titles.
      const content = Buffer.byteLength(linked) > maxFileBytes ? text : linked;
      return { userId, path, content, items: 1 };
    });
    return { files, skipped };
  },
};

/** Fields of front matter that are one line of text. */
function readFrontMatter(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  if (!text.startsWith('---\n')) return fields;
  const end = text.indexOf('\n---', 3);
  if (end === -1) return fields;
  for (const line of text.slice(4, end).split('\n')) {
    const [, key, value] = /^(\w+):(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) {
      fields.set(key, value.trim().replace(/^(["'])(.*)\1$/, '$2'));
    }
  }
  return fields;
}

/** Replaces `[[Title]]` and `[[Title|words]]` by links, line by line. */
function linkTitles(text: string, find: (title: string) => string | null): string {
  return text.replace(/\[\[([^[\]\n]{1,500})\]\]/g, (whole, inner: string) => {
    const [title = '', words = title] = inner.split('|', 2);
    const path = find(title);
    return path === null ? whole : `[${words.trim()}](${toTarget(path)})`;
  });
}
