import DOMPurify from 'dompurify';
import MarkdownIt, { type Token } from 'markdown-it';
import { toMarkdown } from './rendered-source.ts';

/** Allowed in rendered memory: text and structure, nothing that loads or runs. */
const ALLOWED_TAGS = [
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'br', 'hr', 'blockquote', 'pre', 'code'],
  ...['ul', 'ol', 'li', 'strong', 'em', 's', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTRIBUTES = ['href', 'start', 'rel', 'target', 'title'];

/**
 * Renders markdown as safe HTML: HTML in the text is escaped, images become their alt text, and
 * DOMPurify removes every tag and attribute that is not on its list.
 */
export function renderMarkdown(source: string): string {
  const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });
  parser.renderer.rules['image'] = (tokens, index) => {
    const token = tokens[index];
    const words = parser.utils.escapeHtml(token?.content ?? '');
    return `<em>[image${words === '' ? '' : `: ${words}`}]</em>`;
  };
  parser.core.ruler.push('heading-levels', ({ tokens }) => nestHeadings(tokens));
  const purify = DOMPurify(window);
  purify.addHook('afterSanitizeAttributes', (node) => {
    if (node.tagName !== 'A') return;
    const href = node.getAttribute('href') ?? '';
    // Only links to http and https stay links.
    if (/^https?:\/\//i.test(href)) {
      node.setAttribute('rel', 'noopener noreferrer nofollow');
      node.setAttribute('target', '_blank');
      node.setAttribute('title', href);
    } else node.removeAttribute('href');
  });
  return purify.sanitize(parser.render(toMarkdown(source)), {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ALLOWED_ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOW_UNKNOWN_PROTOCOLS: false,
  });
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
