import { isOpener, tokenise, uncasedWords } from './words.ts';

/**
 * What a consolidation must neither lose nor make up: numbers, dates, names, addresses, links and
 * code, each in the form in which two texts can be compared.
 */
export function specificsOf(text: string): Set<string> {
  return new Set(listSpecifics(text));
}

/** {@link specificsOf} in the order of the text. */
export function listSpecifics(text: string): string[] {
  const found: { at: number; key: string }[] = [];
  for (const { at, key } of listExact(text)) found.push({ at, key });
  for (const { text: token, index } of tokenise(text)) {
    if (/\p{Nd}/u.test(token)) found.push({ at: index, key: toNumberKey(text, token, index) });
    else if (isName(text, token, index)) found.push({ at: index, key: toWordKey(token) });
  }
  for (const word of uncasedWords(text)) {
    if ([...word].length > 1) found.push({ at: text.indexOf(word), key: toWordKey(word) });
  }
  return found.sort((a, b) => a.at - b.at).map(({ key }) => key);
}

/** Everything in a text that a specific can be found again by. */
function tokensOf(text: string): Set<string> {
  const tokens = new Set<string>();
  for (const { key } of listExact(text)) tokens.add(key);
  for (const { text: token, index } of tokenise(text)) {
    tokens.add(toWordKey(token));
    if (/\p{Nd}/u.test(token)) tokens.add(toNumberKey(text, token, index));
    for (const part of token.split(/[.:_/'’-]/u))
      if (!/\p{Nd}/u.test(part)) tokens.add(toWordKey(part));
  }
  for (const word of uncasedWords(text)) tokens.add(toWordKey(word));
  return tokens;
}

/** Specifics that a text has and the other lacks. */
export function missingSpecifics(text: string, other: string): string[] {
  const there = tokensOf(other);
  return [...specificsOf(text)].filter((specific) => !there.has(specific));
}

function toWordKey(word: string): string {
  return word.normalize('NFC').toLowerCase();
}

/** A number with the sign before it and the percent after it: `$500` is not `€500`. */
function toNumberKey(text: string, token: string, index: number): string {
  const whole = text.normalize('NFC');
  const before = whole[index - 1] ?? '';
  const isAlone = index < 2 || /[\s([*_"']/u.test(whole[index - 2] ?? '');
  const sign = /\p{Sc}/u.test(before) || (/[-+−~<>≤≥#]/u.test(before) && isAlone) ? before : '';
  const after = whole[index + token.length] ?? '';
  return `${sign}${toWordKey(token)}${/[%‰°\p{Sc}]/u.test(after) ? after : ''}`;
}

function isName(text: string, token: string, index: number): boolean {
  if (!/[\p{Lu}\p{Lt}]/u.test(token)) return false;
  if (/^I(?:['’]\p{L}+)?$/u.test(token)) return false;
  const isPlain = /^[\p{Lu}\p{Lt}][^\p{Lu}\p{Lt}]*$/u.test(token);
  return !(isPlain && isOpener(toWordKey(token)) && beginsSentence(text.normalize('NFC'), index));
}

/** After the marks of a list, a heading or emphasis, or after the end of another sentence. */
function beginsSentence(text: string, index: number): boolean {
  let at = index - 1;
  while (at >= 0 && text[at] !== '\n' && /[\s*_#>"'“‘([\-+]/u.test(text[at] ?? '')) at -= 1;
  return at < 0 || text[at] === '\n' || /[.!?:;。！？—–\]]/u.test(text[at] ?? '');
}

/** Addresses, link targets and code: compared as they stand. Marks pair up within a line. */
function listExact(text: string): { at: number; key: string }[] {
  const found: { at: number; key: string }[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    for (const { at, key } of listBetween(line)) found.push({ at: start + at, key });
    start += line.length + 1;
  }
  let at = 0;
  for (const chunk of text.split(/(\s)/u)) {
    const address = trimMarks(chunk);
    if (isAddress(address)) found.push({ at, key: `@${address}` });
    at += chunk.length;
  }
  return found;
}

const MARKS = [
  ['](', ')'],
  ['[[', ']]'],
  ['`', '`'],
] as const;

function listBetween(line: string): { at: number; key: string }[] {
  const found: { at: number; key: string }[] = [];
  for (const [open, close] of MARKS) {
    let from = 0;
    for (;;) {
      const at = line.indexOf(open, from);
      const end = at === -1 ? -1 : line.indexOf(close, at + open.length);
      if (end === -1) break;
      found.push({ at, key: `${open}${line.slice(at + open.length, end).trim()}` });
      from = end + close.length;
    }
  }
  return found;
}

function isAddress(chunk: string): boolean {
  if (chunk.includes('](') || chunk.length < 3) return false;
  if (chunk.includes('://') || /^www\./iu.test(chunk)) return true;
  return chunk.includes('@') && /[\p{L}\p{Nd}]/u.test(chunk);
}

/** Without the punctuation around it. */
function trimMarks(chunk: string): string {
  let start = 0;
  let end = chunk.length;
  while (start < end && /[<([{"'`*_]/u.test(chunk[start] ?? '')) start += 1;
  while (end > start && /[>)\]}"'`*_.,;:!?]/u.test(chunk[end - 1] ?? '')) end -= 1;
  return chunk.slice(start, end);
}
