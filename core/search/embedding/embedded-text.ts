import { createHash } from 'node:crypto';
import { MAX_PASSAGE_LENGTH, type Passage } from '../text/passages.ts';

/** The size of a text's hash, in bytes. */
const HASH_BYTES = 16;

/**
 * The text to embed for a passage: its headings and its own text. Without the path, so that a moved
 * file keeps its vectors.
 */
export function toEmbeddedText(content: string, { start, end, context }: Passage): string {
  const text = content.slice(start, end);
  return context.length === 0 ? text : `${context.join('\n')}\n\n${text}`;
}

/**
 * The texts to embed for a passage that a model can't read whole: each of at most `maxTokens`, as
 * {@link countTokens} counts them, about equally long, and with the passage's headings, unless these
 * take half of it. They end at the end of a line, else of a sentence, else of a word. A passage that
 * fits stays whole.
 */
export function toEmbeddedParts(
  content: string,
  passage: Passage,
  maxTokens: number,
): readonly string[] {
  const whole = toEmbeddedText(content, passage);
  if (countTokens(whole) <= maxTokens) return [whole];
  const head = whole.slice(0, whole.length - (passage.end - passage.start));
  const room = maxTokens - countTokens(head);
  // Headings that take half of it are embedded as text, too: nothing may be lost.
  if (room < maxTokens / 2) return splitText(whole, maxTokens);
  return splitText(content.slice(passage.start, passage.end), room).map((part) => head + part);
}

/** Splits a text into parts of at most `maxTokens`. Blanks between parts are left out. */
function splitText(text: string, maxTokens: number): string[] {
  const tokens = [...findTokens(text)];
  const parts: string[] = [];
  let first = 0;
  while (first < tokens.length) {
    const left = tokens.length - first;
    // About equally long: the last part must not be a few words.
    const most = Math.ceil(left / Math.ceil(left / Math.max(1, maxTokens)));
    const next = left <= most ? tokens.length : findBreak(text, tokens, first + most, first);
    parts.push(text.slice(tokens[first], tokens[next]).trimEnd());
    first = next;
  }
  return parts;
}

/** The best token to begin the next part with: in the second half of a part, `last` at the latest. */
function findBreak(text: string, tokens: readonly number[], last: number, first: number): number {
  let best = last;
  let bestRank = 0;
  for (let next = last; next > first + (last - first) / 2; next -= 1) {
    const before = text.slice(tokens[next - 1], tokens[next]);
    const rank = BREAKS.findLastIndex((pattern) => pattern.test(before)) + 1;
    if (rank <= bestRank) continue;
    best = next;
    bestRank = rank;
  }
  return best;
}

/** Where a part may end, by the token before it and the blanks behind: the last that fits is best. */
const BREAKS = [/\s$/, /[.!?]\s+$|[。！？]\s*$/, /\n/];

/** Up to five Latin letters, up to two digits, or any other character. */
const TOKEN = /[a-z]{1,5}|\d{1,2}|\S/giu;
/**
 * Letters and digits that are no word, as in a hash, a key or encoded data: hardly any word has more
 * than 20. Models split them into tokens of about two letters.
 */
const CODE = /[a-z\d]{21,}/giu;
const CODE_TOKEN = /[a-z]{1,2}|\d{1,2}/giu;

/** Where the tokens of a text begin. */
function* findTokens(text: string): Generator<number> {
  let from = 0;
  for (const { 0: code, index } of text.matchAll(CODE)) {
    yield* findMatches(text.slice(from, index), { pattern: TOKEN, from });
    yield* findMatches(code, { pattern: CODE_TOKEN, from: index });
    from = index + code.length;
  }
  yield* findMatches(text.slice(from), { pattern: TOKEN, from });
}

function* findMatches(
  text: string,
  { pattern, from }: { pattern: RegExp; from: number },
): Generator<number> {
  for (const { index } of text.matchAll(pattern)) yield from + index;
}

/**
 * How many tokens a text may have for a model whose own tokeniser is not here. Rather too many: on
 * English conversations and abstracts it counts 1.15 to 1.36 of the tokens of BERT, and never fewer.
 */
export function countTokens(text: string): number {
  let count = 0;
  for (const _ of findTokens(text)) count += 1;
  return count;
}

/** The beginning of a text that has at most `maxTokens`. */
export function takeTokens(text: string, maxTokens: number): string {
  let count = 0;
  for (const index of findTokens(text)) {
    if (count === maxTokens) return text.slice(0, index).trimEnd();
    count += 1;
  }
  return text;
}

/**
 * A model that reads so many tokens reads every passage whole: a passage and the headings above it,
 * as long as they can be, each character a token.
 */
export const ANY_PASSAGE_TOKENS = 3 * MAX_PASSAGE_LENGTH;

/** The key of a text's vector: the first 16 bytes of its SHA-256 as 32 hex digits. */
export function hashText(text: string): string {
  return createHash('sha256')
    .update(text, 'utf8')
    .digest('hex')
    .slice(0, HASH_BYTES * 2);
}

/**
 * The hashes of a file's passages in order, 16 bytes each, with a pause after each for which
 * `pause` returns one.
 */
export async function packHashes(
  content: string,
  passages: readonly Passage[],
  pause: () => Promise<void> | undefined,
): Promise<Uint8Array> {
  const hashes = new Uint8Array(passages.length * HASH_BYTES);
  for (const [index, passage] of passages.entries()) {
    const digest = createHash('sha256').update(toEmbeddedText(content, passage), 'utf8').digest();
    hashes.set(digest.subarray(0, HASH_BYTES), index * HASH_BYTES);
    await pause();
  }
  return hashes;
}

/** The hashes of a list, each as 32 hex digits. */
export function unpackHashes(hashes: Uint8Array): string[] {
  const hex = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength).toString('hex');
  const size = HASH_BYTES * 2;
  return Array.from({ length: Math.floor(hex.length / size) }, (_, index) =>
    hex.slice(index * size, (index + 1) * size),
  );
}
