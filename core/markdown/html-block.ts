/** How an HTML block ends: with a line that has this text, or before a blank line. */
export type HtmlEnd = RegExp | 'blank';

const RAW = /^<(?:script|pre|style|textarea)(?=[ \t>]|$)/i;
const RAW_END = /<\/(?:script|pre|style|textarea)>/i;
const COMMENT_END = /-->/;
const INSTRUCTION_END = /\?>/;
const DECLARATION_END = />/;
const DATA_END = /\]\]>/;
const BLOCK_TAGS = new Set(
  (
    'address article aside base basefont blockquote body caption center col colgroup dd details ' +
    'dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 ' +
    'head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option ' +
    'p param search section summary table tbody td tfoot th thead title tr track ul'
  ).split(' '),
);

/**
 * The end of the HTML block that a text opens, as section 4.6 of CommonMark defines them; `null` if
 * it opens none.
 *
 * @param inParagraph whether the text follows a line of a paragraph, which not every tag can end.
 */
export function opensHtmlBlock(text: string, inParagraph: boolean): HtmlEnd | null {
  if (RAW.test(text)) return RAW_END;
  if (text.startsWith('<!--')) return COMMENT_END;
  if (text.startsWith('<?')) return INSTRUCTION_END;
  if (text.startsWith('<![CDATA[')) return DATA_END;
  if (/^<![a-z]/i.test(text)) return DECLARATION_END;
  const tag = /^<\/?([a-z][a-z0-9]*)(?=[ \t]|\/?>|$)/i.exec(text)?.[1];
  if (tag !== undefined && BLOCK_TAGS.has(tag.toLowerCase())) return 'blank';
  return !inParagraph && isWholeTag(text) ? 'blank' : null;
}

/** Whether a text is one complete tag, and nothing but white space behind it. */
function isWholeTag(text: string): boolean {
  const name = /^<(\/?)[a-z][a-z0-9-]*/i.exec(text);
  if (name === null) return false;
  let at = name[0].length;
  if (name[1] === '') at = skipAttributes(text, at);
  at = skipSpace(text, at);
  if (name[1] === '' && text[at] === '/') at += 1;
  return text[at] === '>' && skipSpace(text, at + 1) === text.length;
}

const ATTRIBUTE_NAME = /[a-z_:][a-z0-9_.:-]*/iy;
const ATTRIBUTE_VALUE = /[^ \t"'=<>`]+|'[^']*'|"[^"]*"/y;

/** Skips attributes one after the other: an expression for all of them would backtrack. */
function skipAttributes(text: string, from: number): number {
  let at = from;
  for (;;) {
    const start = skipSpace(text, at);
    const named = start > at ? skip(ATTRIBUTE_NAME, text, start) : start;
    if (named === start) return at;
    at = named;
    const equals = skipSpace(text, at);
    if (text[equals] !== '=') continue;
    const value = skipSpace(text, equals + 1);
    const valued = skip(ATTRIBUTE_VALUE, text, value);
    if (valued === value) return at;
    at = valued;
  }
}

function skip(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return at + (expression.exec(text)?.[0].length ?? 0);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}
