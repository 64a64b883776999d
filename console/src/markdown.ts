import DOMPurify from 'dompurify';
import MarkdownIt, { type Token } from 'markdown-it';
import { readWikiLink } from './memory-links.ts';
import { splitFrontMatter, toMarkdown } from './rendered-source.ts';

/** Allowed in rendered memory: text and structure, nothing that loads or runs. */
const ALLOWED_TAGS = [
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'br', 'hr', 'blockquote', 'pre', 'code'],
  ...['ul', 'ol', 'li', 'strong', 'em', 's', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTRIBUTES = ['href', 'start', 'rel', 'target', 'title', 'class', 'dir'];
/** Classes of the renderer; a fence can name others. */
const ALLOWED_CLASSES: ReadonlySet<string> = new Set([
  ...['align-left', 'align-center', 'align-right', 'front-matter', 'expired'],
]);

/**
 * Renders markdown as safe HTML: HTML in the text is escaped, images become their alt text, and
 * DOMPurify removes every tag and attribute that is not on its list.
 *
 * @param options.linkTo makes the address of a link to another memory file; `null` for a link that is none.
 * @param options.expired the lines of the text that have expired.
 */
export function renderMarkdown(
  source: string,
  {
    linkTo = () => null,
    expired = [],
  }: { linkTo?: (href: string) => string | null; expired?: readonly ExpiredLines[] } = {},
): string {
  const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });
  parser.renderer.rules['image'] = (tokens, index) => {
    const token = tokens[index];
    const words = parser.utils.escapeHtml(token?.content ?? '');
    return `<em>[image${words === '' ? '' : `: ${words}`}]</em>`;
  };
  parser.inline.ruler.before('link', 'wiki-link', (state, isSilent) => {
    const link = readWikiLink(state.src.slice(state.pos));
    if (link === null) return false;
    if (!isSilent) {
      state.push('link_open', 'a', 1).attrs = [['href', link.href]];
      state.push('text', '', 0).content = link.label;
      state.push('link_close', 'a', -1);
    }
    state.pos += link.length;
    return true;
  });
  parser.core.ruler.push('heading-levels', ({ tokens }) => nestHeadings(tokens));
  const isDirected = RIGHT_TO_LEFT.test(source);
  parser.core.ruler.push('directions', ({ tokens }) => directBlocks(tokens, isDirected));
  const { rows, text } = splitFrontMatter(source);
  const body = rows === null ? toMarkdown(source) : text;
  // The text below the front matter is the same in both.
  const above = source.split('\n').length - body.split('\n').length;
  const ends = new Map(
    expired.map(({ startLine, validUntil }) => [startLine - 1 - above, validUntil]),
  );
  parser.core.ruler.push('expired', ({ tokens, Token: TokenOf }) => {
    // Markdown counts a `\r` alone as the end of a line, memory does not.
    if (ends.size > 0 && !/\r(?!\n)/.test(source)) markExpired(tokens, ends, TokenOf);
  });
  const purify = DOMPurify(window);
  purify.addHook('afterSanitizeAttributes', (node) => {
    if (!ALLOWED_CLASSES.has(node.getAttribute('class') ?? '')) node.removeAttribute('class');
    if (node.tagName !== 'A') return;
    const href = node.getAttribute('href') ?? '';
    const inMemory = linkTo(href);
    if (inMemory !== null) {
      node.setAttribute('href', inMemory);
      node.setAttribute('title', href);
      return;
    }
    // Only links to http and https stay links.
    if (/^https?:\/\//i.test(href)) {
      node.setAttribute('rel', 'noopener noreferrer nofollow');
      node.setAttribute('target', '_blank');
      node.setAttribute('title', href);
    } else node.removeAttribute('href');
  });
  const html = `${rows === null ? '' : toTable(rows)}${parser.render(body)}`;
  return purify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ALLOWED_ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOW_UNKNOWN_PROTOCOLS: false,
  });
}

/** A line that has expired, as a read of a file answers it. */
interface ExpiredLines {
  startLine: number;
  validUntil: string;
}

/**
 * Marks the text of lines that have expired; `ends` says of these lines, from 0, until when they were valid.
 * In a block whose lines can't be told apart, as with code that goes over two of them, none is marked.
 */
function markExpired(
  tokens: readonly Token[],
  ends: ReadonlyMap<number, string>,
  TokenOf: typeof Token,
): void {
  let row: number | null = null;
  for (const token of tokens) {
    if (token.type === 'tr_open') row = token.map?.[0] ?? null;
    if (token.type === 'tr_close') row = null;
    const [first = row, behind = (row ?? 0) + 1] = token.map ?? [];
    if (token.type !== 'inline' || first === null) continue;
    const children = token.children ?? [];
    const breaks = children.filter(isBreak).length;
    if (breaks !== behind - first - 1) continue;
    let line = first;
    token.children = children.flatMap((child) => {
      if (isBreak(child)) line += 1;
      const end = ends.get(line);
      if (end === undefined || child.nesting !== 0 || isBreak(child)) return [child];
      const open = new TokenOf('s_open', 's', 1);
      open.attrs = [
        ['class', 'expired'],
        ['title', `Expired: valid until ${end}`],
      ];
      return [open, child, new TokenOf('s_close', 's', -1)];
    });
  }
}

function isBreak({ type }: Token): boolean {
  return type === 'softbreak' || type === 'hardbreak';
}

/** Above the text stand the headings of the view and of the file. */
const LEVEL_ABOVE = 2;
const DEEPEST = 6;

/** Nests the headings of a text below those of the page, and lets none skip a level. */
function nestHeadings(tokens: readonly Token[]): void {
  let level = LEVEL_ABOVE;
  for (const token of tokens) {
    if (token.type === 'heading_open') {
      level = Math.min(Number(token.tag.slice(1)) + LEVEL_ABOVE, level + 1, DEEPEST);
    }
    if (token.type === 'heading_open' || token.type === 'heading_close') token.tag = `h${level}`;
  }
}

/** Letters of writing that goes from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Blocks whose text may be of another direction than the page. */
const BLOCKS: ReadonlySet<string> = new Set([
  ...['paragraph_open', 'heading_open', 'list_item_open', 'blockquote_open', 'th_open', 'td_open'],
  ...['bullet_list_open', 'ordered_list_open', 'table_open'],
]);

/**
 * Lets each block read from the side where its writing begins. The alignment of cells becomes a class,
 * because the page's policy allows no style attributes.
 */
function directBlocks(tokens: readonly Token[], isDirected: boolean): void {
  for (const token of tokens) {
    if (!BLOCKS.has(token.type)) continue;
    const [, side] =
      /^text-align:(left|center|right)$/.exec(String(token.attrGet('style') ?? '')) ?? [];
    if (side !== undefined) token.attrs = [['class', `align-${side}`]];
    if (isDirected) token.attrSet('dir', 'auto');
  }
}

function toTable(rows: readonly (readonly [name: string, value: string])[]): string {
  const { escapeHtml } = new MarkdownIt().utils;
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th>${escapeHtml(name)}</th><td dir="auto">${escapeHtml(value)}</td></tr>`,
  );
  return `<table class="front-matter"><tbody>${cells.join('')}</tbody></table>`;
}
