import type { MarkdownStructure } from '../../markdown/structure.ts';

/** A line of a memory file with content, in the form that findings compare. */
export interface Line {
  path: string;
  /** From 1. */
  number: number;
  /** Without list marks, quotes, emphasis and outer space. */
  text: string;
  /** The nearest heading above; empty before the first. */
  heading: string;
}

/** Lines with fewer words are too short for their similarity to mean anything. */
const LEAST_WORDS = 4;

/**
 * The lines of a markdown text that have content of their own: no headings, rules, tables, HTML, code
 * or front matter.
 */
export function* readLines(
  path: string,
  content: string,
  { lines, headings }: MarkdownStructure,
): Generator<Line> {
  const titles = new Map(headings.map(({ last, title }) => [last, title]));
  let heading = '';
  for (const [at, { number, start, end, kind }] of lines.entries()) {
    heading = titles.get(at) ?? heading;
    if (kind !== 'text') continue;
    const text = content.slice(start, end).trim();
    if (text.startsWith('|')) continue;
    const said = strip(text);
    if (said !== '') yield { path, number, text: said, heading };
  }
}

/** The words of a text in lower case; empty if the text is too short to compare. */
export function wordsOf({ text }: Line): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length < LEAST_WORDS ? [] : words;
}

function strip(text: string): string {
  let rest = withoutQuotes(text);
  const [first = ''] = rest.split(' ', 1);
  if (['-', '*', '+'].includes(first) || /^\d{1,3}[.)]$/.test(first)) {
    rest = rest.slice(first.length).trim();
  }
  if (/^\[[ xX]\] /.test(rest)) rest = rest.slice(4).trim();
  return rest.replaceAll(/[*_`]/g, '').trim();
}

function withoutQuotes(text: string): string {
  let from = 0;
  while (text[from] === '>' || text[from] === ' ') from += 1;
  return text.slice(from);
}
