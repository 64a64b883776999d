import { isJoin, isSamePart, isSameStatement, isWord, type Part } from './statement.ts';
import { isFunctionWord } from './words.ts';

type Statement = readonly Part[];

/** Verbs that begin the same preference: `Likes tea`, `Prefers tea`. */
const PREFERS = new Set(['like', 'likes', 'prefer', 'prefers', 'enjoy', 'enjoys']);

/**
 * Whether a statement tells another one: it is the same, or a list that has it as one of its
 * things, as `likes tea and coffee` tells `likes coffee`.
 */
export function tells(statement: Statement, other: Statement): boolean {
  if (isSameFact(statement, other)) return true;
  return listReadings(statement).some((reading) =>
    reading.some((one) => isSameStatement(one, other)),
  );
}

/**
 * The facts that a statement is made of, by their numbers in `facts`: one that is the same, or a
 * list of which every thing is one of them; `null` where it says anything else.
 */
export function factsIn(statement: Statement, facts: readonly Statement[]): number[] | null {
  const same = facts.flatMap((fact, index) => (isSameFact(statement, fact) ? [index] : []));
  if (same.length > 0) return same;
  for (const reading of listReadings(statement)) {
    const found = reading.map((one) => {
      const index = facts.findIndex((fact) => isSameStatement(one, fact));
      return index === -1 ? null : index;
    });
    if (found.every((index) => index !== null)) return found;
  }
  return null;
}

/** Whether a statement is made of others, one after the other, each as a whole, with marks between. */
export function isMadeOf(statement: Statement, others: readonly Statement[]): boolean {
  const starts = new Set([0]);
  for (let at = 0; at < statement.length; at += 1) {
    if (!starts.has(at)) continue;
    for (const other of others) {
      if (other.length === 0 || !isAt(statement, at, other)) continue;
      const end = at + other.length;
      if (end === statement.length) return true;
      const mark = statement[end];
      if (mark?.word === null && [',', '.', ':'].includes(mark.key)) starts.add(end + 1);
    }
  }
  return statement.length === 0;
}

/** Whether another statement stands in one, its parts in a row. */
export function contains(statement: Statement, other: Statement): boolean {
  return statement.some((_part, at) => isAt(statement, at, other)) || other.length === 0;
}

function isAt(statement: Statement, at: number, other: Statement): boolean {
  return other.every((part, index) => isSamePart(statement[at + index], part));
}

/** Whether one says what the other says, but for the verb that a preference begins with. */
function isSameFact(one: Statement, other: Statement): boolean {
  if (isSameStatement(one, other)) return true;
  const [first, ...rest] = one;
  const [begins, ...others] = other;
  return (
    PREFERS.has(first?.key ?? '') &&
    PREFERS.has(begins?.key ?? '') &&
    rest.length > 0 &&
    isSameStatement(rest, others)
  );
}

/**
 * The ways to read a statement as a list, each as what it says of every thing. What comes before
 * and behind the list holds for all of its things, so a thing is plain words, and only the last one
 * has more than one: else `no tea and coffee`, or `green tea and coffee`, would say of one what was
 * said of the other.
 */
function listReadings(statement: Statement): Statement[][] {
  const joins = statement.flatMap((part, index) => (isJoin(part) ? [index] : []));
  const first = joins[0];
  const last = joins.at(-1);
  if (first === undefined || last === undefined) return [];
  const readings: Statement[][] = [];
  for (let start = 0; start < first; start += 1) {
    for (let end = last + 2; end <= statement.length; end += 1) {
      const before = statement.slice(0, start);
      const after = statement.slice(end);
      const things = split(statement.slice(start, end));
      const isPlain = things.every(
        (thing, index) =>
          thing.every(isPlainWord) && (thing.length === 1 || index === things.length - 1),
      );
      if (isPlain && (before.some(isWord) || after.some(isWord))) {
        readings.push(things.map((thing) => [...before, ...thing, ...after]));
      }
    }
  }
  return readings;
}

function split(parts: Statement): Statement[] {
  const things: Part[][] = [[]];
  for (const part of parts) {
    if (isJoin(part)) things.push([]);
    else things.at(-1)?.push(part);
  }
  return things;
}

/** A word that says nothing of another one, and no number: two of those are two values. */
function isPlainWord(part: Part): boolean {
  return isWord(part) && !/\p{Nd}/u.test(part.key) && !isFunctionWord(part.key);
}
