import { readFrontMatter } from '../../core/markdown/front-matter.ts';

/** A text whose front matter is code: markdown would read a rule and a heading. */
export function toMarkdown(source: string): string {
  const frontMatter = readFrontMatter(source);
  const text = source.slice(frontMatter?.end ?? 0).replace(/^\uFEFF/, '');
  if (frontMatter === null) return text;
  const lines = frontMatter.yaml.trim().split(/\r\n|\n|\r/);
  return `${lines.map((line) => `    ${line}\n`).join('')}\n${text}`;
}
