import { isSamePart, isSameStatement, isWord, type Part } from '../text/statement.ts';
import { isFunctionWord } from '../text/words.ts';
import { isCorrectionMark } from './correction.ts';

type Statement = readonly Part[];

/** Words that say of what follows that it was so before, in brackets behind what holds now. */
export const PAST_MARKS = new Set(['formerly', 'previously', 'before', 'until', 'früher', 'avant']);
/** Words behind which a newer line tells what does not hold. */
const NOT_NOW = new Set(
  'formerly previously before until instead of than not no longer never was were'.split(' '),
);

/**
 * Whether a line is an older one with one value replaced by that of a newer line, and the old value
 * behind it in brackets: `Lives in Madrid (formerly Berlin)`. The value stands next to the same word
 * in both, and is of the same kind.
 */
export function isReplacedIn(statement: Statement, older: Statement, newer: Statement): boolean {
  const open = statement.findIndex(
    ({ key }, index) => key === '(' && PAST_MARKS.has(statement[index + 1]?.key ?? ''),
  );
  const close = statement.findIndex(({ key }, index) => index > open && key === ')');
  if (open === -1 || close === -1) return false;
  const old = withoutDate(statement.slice(open + 2, close));
  const before = statement.slice(0, open);
  const rest = statement.slice(close + 1);
  for (let start = 0; start < before.length; start += 1) {
    for (let end = start + 1; end <= before.length; end += 1) {
      const value = before.slice(start, end);
      const again = [...before.slice(0, start), ...old, ...before.slice(end), ...rest];
      if (!isSameStatement(again, older) || !isOfOneKind(value, old)) continue;
      if (isSaidOf(newer, value, { older, at: start, length: old.length })) return true;
    }
  }
  return false;
}

/** `until 2025: Berlin` is `Berlin`. */
function withoutDate(parts: Statement): Statement {
  const colon = parts.findIndex(({ key, word }) => word === null && key === ':');
  const date = parts.slice(0, Math.max(0, colon));
  return date.length > 0 && date.every(({ key }) => /^\d/.test(key))
    ? parts.slice(colon + 1)
    : parts;
}

/** Values differ in what they name: `on Fridays` and `on Mondays`, but not `to` and `from`. */
function isOfOneKind(value: Statement, old: Statement): boolean {
  const small = (parts: Statement) => parts.map(({ key }) => key).filter(isFunctionWord);
  const isNamed = [value, old].every((parts) => small(parts).length < parts.length);
  return (
    isNamed && small(value).join(' ') === small(old).join(' ') && kindOf(value) === kindOf(old)
  );
}

function kindOf(value: Statement): string {
  if (!value.every(isWord)) return 'no value';
  if (value.some(({ key }) => /\p{Nd}/u.test(key))) return 'number';
  return value.some(({ word }) => /^\p{Lu}/u.test(word ?? '')) ? 'name' : 'word';
}

/** Whether the newer line has that value, as what holds, next to the word that the old one stood at. */
function isSaidOf(
  newer: Statement,
  value: Statement,
  { older, at, length }: { older: Statement; at: number; length: number },
): boolean {
  const left = nextWord(older, at - 1, -1);
  const right = nextWord(older, at + length, 1);
  return newer.some((_part, index) => {
    const isHere = value.every((part, offset) => isSamePart(newer[index + offset], part));
    const clause = newer.slice(
      newer.findLastIndex((it, at) => at < index && !isWord(it)) + 1,
      index,
    );
    const isDenied = clause.some(({ key }) => NOT_NOW.has(key)) || newer[index - 1]?.key === 'from';
    if (!isHere || isDenied) return false;
    const isLeft = left !== null && nextWord(newer, index - 1, -1) === left;
    const isRight = right !== null && nextWord(newer, index + value.length, 1) === right;
    return isLeft || isRight;
  });
}

/** The next word that says what is spoken of, past marks, small words and those of correcting. */
function nextWord(parts: Statement, from: number, step: 1 | -1): string | null {
  for (let at = from; at >= 0 && at < parts.length; at += step) {
    const part = parts[at] as Part;
    if (!isWord(part)) continue;
    if (!isFunctionWord(part.key) && !isCorrectionMark(part.key)) return part.key;
  }
  return null;
}
