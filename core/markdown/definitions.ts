/** The longest label, in UTF-16 units, as CommonMark limits it. */
const MAX_LABEL = 999;
const MAX_PARENTHESES = 32;

/**
 * How many of a paragraph's first lines are link reference definitions (`[tea]: tea.md "Title"`).
 * Each line comes without its indent.
 */
export function countDefinitionLines(lines: readonly string[]): number {
  if (lines[0]?.startsWith('[') !== true) return 0;
  const text = lines.join('\n');
  let end = 0;
  for (;;) {
    const next = findDefinitionEnd(text, end);
    if (next === null) break;
    end = next;
  }
  if (end === 0) return 0;
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return end >= text.length ? lines.length : count;
}

/** Where the line after the definition that begins at `from` begins; `null` if there is none. */
function findDefinitionEnd(text: string, from: number): number | null {
  const label = findLabelEnd(text, from);
  if (label === null || text[label] !== ':') return null;
  const start = skipSpace(text, label + 1);
  const target = findTargetEnd(text, start);
  if (target === null) return null;
  const isEnded = findLineEnd(text, target);
  const title = skipSpace(text, target);
  const titleEnd = title > target ? findTitleEnd(text, title) : null;
  const end = titleEnd === null ? null : findLineEnd(text, titleEnd);
  // What looks like a title on the line below may be text.
  return end ?? isEnded;
}

/** Skips white space with one line end at most. */
function skipSpace(text: string, from: number): number {
  let at = from;
  let isBroken = false;
  for (; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '\n' && !isBroken) isBroken = true;
    else if (sign !== ' ' && sign !== '\t') break;
  }
  return at;
}

/** Where the next line begins, if only white space is before it. */
function findLineEnd(text: string, from: number): number | null {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  if (at >= text.length) return text.length;
  return text[at] === '\n' ? at + 1 : null;
}

function findLabelEnd(text: string, from: number): number | null {
  if (text[from] !== '[') return null;
  let isBlank = true;
  for (let at = from + 1; at < text.length && at - from <= MAX_LABEL + 1; at += 1) {
    const sign = text[at];
    if (sign === '[') return null;
    if (sign === ']') return isBlank ? null : at + 1;
    if (sign === '\\') at += 1;
    if (sign !== ' ' && sign !== '\t' && sign !== '\n') isBlank = false;
  }
  return null;
}

function findTargetEnd(text: string, from: number): number | null {
  if (text[from] === '<') {
    for (let at = from + 1; at < text.length; at += 1) {
      const sign = text[at];
      if (sign === '>') return at + 1;
      if (sign === '\n' || sign === '<') return null;
      if (sign === '\\') at += 1;
    }
    return null;
  }
  let depth = 0;
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === 0x7f) break;
    if (code === 0x5c && text.charCodeAt(at + 1) > 0x20) at += 1;
    else if (code === 0x28 && ++depth > MAX_PARENTHESES) return null;
    else if (code === 0x29 && depth-- === 0) break;
  }
  return at === from || depth > 0 ? null : at;
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '(': ')' };

function findTitleEnd(text: string, from: number): number | null {
  const opening = text[from] ?? '';
  const closing = CLOSING[opening];
  if (closing === undefined) return null;
  for (let at = from + 1; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === closing) return at + 1;
    if (sign === '(' && opening === '(') return null;
    if (sign === '\\') at += 1;
  }
  return null;
}
