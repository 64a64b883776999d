import { readFrontMatter } from '../../core/markdown/front-matter.ts';

/** A text whose front matter is code: markdown would read a rule and a heading. */
export function toMarkdown(source: string): string {
  const frontMatter = readFrontMatter(source);
  const text = source.slice(frontMatter?.end ?? 0).replace(/^\uFEFF/, '');
  if (frontMatter === null) return text;
  const lines = frontMatter.yaml.trim().split(/\r\n|\n|\r/);
  return `${lines.map((line) => `    ${line}\n`).join('')}\n${text}`;
}

/**
 * The fields of front matter, as rows of a table, and the text below it. `rows` is `null` without front
 * matter, and for front matter that is more than fields with one value or a list.
 */
export function splitFrontMatter(source: string): {
  rows: [name: string, value: string][] | null;
  text: string;
} {
  const frontMatter = readFrontMatter(source);
  const text = source.slice(frontMatter?.end ?? 0).replace(/^\uFEFF/, '');
  if (frontMatter === null) return { rows: null, text };
  const rows: [string, string][] = [];
  for (const line of frontMatter.yaml.split(/\r\n|\n|\r/)) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const [, name, value = ''] = /^(\w[\w.-]*):((?:[ \t].*)?)$/.exec(line) ?? [];
    const trimmed = line.trim();
    const item = trimmed.startsWith('- ') ? trimmed.slice(2) : undefined;
    const last = rows.at(-1);
    if (name !== undefined && !/^\s*[|>]/.test(value)) rows.push([name, unquote(value)]);
    else if (item !== undefined && last !== undefined && !item.includes(': ')) {
      last[1] = last[1] === '' ? unquote(item) : `${last[1]}, ${unquote(item)}`;
    } else return { rows: null, text };
  }
  return { rows: rows.length === 0 ? null : rows, text };
}

function unquote(text: string): string {
  const [, double, single] = /^"([^"\\]*)"$|^'([^']*)'$/.exec(text.trim()) ?? [];
  return double ?? single ?? text.trim();
}
