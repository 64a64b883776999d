import { sharesWord } from '../../edits/alike.ts';
import { type Guard, newTexts } from '../../edits/guards.ts';
import { FACT_PATH } from '../../edits/operations.ts';
import { toBare } from '../../edits/loose-text.ts';
import type { LocatedOperation, Workspace } from '../../edits/workspace.ts';
import { fold } from '../../values/fold.ts';
import { readLanguages } from '../../values/language.ts';
import type { ResolvedTimes } from '../../values/times.ts';
import { readValues, type Value } from '../../values/values.ts';
import { hasNegation, isSensitive, modalsOf } from '../../values/words.ts';

/** Without one of these a plan, a wish or a guess is a fact. */
const HEDGES = ['might', 'plan', 'if'] as const;
const ENOUGH: ReadonlySet<string> = new Set([...HEDGES, 'want', 'should', 'may']);

/**
 * Refuses a new line that says another thing than the fact. It lost the "not", "might" or "if" of the fact. It is about
 * somebody else. It repeats "yesterday", which will mean another day. Or memory has another value of the same. The model
 * is asked once more; if that fails, too, the fact stays in the inbox as it was said.
 */
export function createTellingGuard({ times }: { times: ResolvedTimes }): Guard {
  return function* ({ located, before, subjects }) {
    const { operation, sources, remove, lines, place } = located;
    const isTold = sources.length > 0 && sources.every(({ path }) => path === FACT_PATH);
    if (!isTold || lines.length === 0 || operation.kind === 'index') return null;
    const fact = sources.map(({ text, madeOf }) => madeOf ?? text).join('\n');
    const around = readLanguages(fact, before.languages);
    const later = lines.map((line) => findTimeLeft(line, times)).find((one) => one !== null);
    if (later !== undefined) {
      return `A new line says "${later}". Write the date that it means.`;
    }
    for (const line of lines) {
      const hedge = findLostHedge(fact, { line, around });
      if (hedge !== null) return `The fact is not certain, and a new line lost that: ${hedge}.`;
      if (remove.length === 0 && changesDenial(fact, { line, around })) {
        return 'The fact denies what a new line says, or the other way round.';
      }
    }
    const other = remove.length > 0 ? null : yield* findOtherValue(located, before, around);
    if (other !== null) {
      return `Memory has another value in the line "${other}". Update that line, or say what differs.`;
    }
    const about = subjects?.ofFact(fact) ?? null;
    if (about === null || place === null || operation.add === null) return null;
    const { path } = operation.add;
    const { headings } = place;
    const said = fold([...newTexts(located), ...headings, path].join(' '));
    // A relation may be what a fact is about, or only who said it.
    const isNamed = about.name === null ? !isSensitive(fact) : said.includes(about.name);
    const isOther = (line: string) =>
      subjects?.differ([about, subjects.ofLine(line, { path, headings, parents: [] })]) === true;
    return !isNamed && lines.every(isOther)
      ? 'The new lines are about somebody else than the fact. Name whom they are about.'
      : null;
  };
}

/** A word of time of the fact that a line repeats without its date; `null` for none. A weekday may be every week's. */
function findTimeLeft(line: string, { phrases }: ResolvedTimes): string | null {
  const text = fold(line);
  const left = phrases.find(({ phrase, dates }) => {
    const isOfDays = dates.length > 1 && dates.every((date) => date.length > 'YYYY-MM'.length);
    if (isOfDays || /^[\d-]+$/.test(phrase)) return false;
    if (dates.some((date) => text.includes(date) || text.includes(date.slice(0, 4)))) return false;
    // A script without spaces has no ends of words.
    const at = text.indexOf(phrase);
    const around = `${text[at - 1] ?? ' '}${text[at + phrase.length] ?? ' '}`;
    return at !== -1 && (!/^[a-zа-я]/.test(phrase) || /^[^\p{L}]{2}$/u.test(around));
  });
  return left?.phrase ?? null;
}

interface Told {
  line: string;
  around: readonly string[];
}

/** The parts of a fact that a line repeats words of. */
function partsOf(fact: string, line: string, ends: RegExp): string[] {
  return fact.split(ends).filter((part) => sharesWord(part, line));
}

const SENTENCES = /[.!?。！？\n]+/u;
const CLAUSES = /[.!?;,:。！？；、，：\n]+/u;

function findLostHedge(fact: string, { line, around }: Told): string | null {
  if ([...modalsOf(line, around)].some((kind) => ENOUGH.has(kind))) return null;
  for (const hedge of HEDGES) {
    const parts = partsOf(fact, line, hedge === 'if' ? SENTENCES : CLAUSES);
    if (parts.length > 0 && parts.every((part) => modalsOf(part, around).has(hedge))) {
      return { might: 'it may not be so', plan: 'it is a plan', if: 'it has a condition' }[hedge];
    }
  }
  return null;
}

function changesDenial(fact: string, { line, around }: Told): boolean {
  if (hasNegation(line, around)) return !hasNegation(fact, around) && sharesWord(fact, line);
  const parts = partsOf(fact, line, CLAUSES);
  return parts.length > 0 && parts.every((part) => hasNegation(part, around));
}

/** Rows between two steps. */
const ROWS = 100;

/** A line of the same file that says the same as a new one but for its only value; `null` for none. */
function* findOtherValue(
  { operation: { add }, lines }: LocatedOperation,
  before: Workspace,
  around: readonly string[],
): Generator<null, string | null> {
  const told = lines.map((line) => readFrame(line, around)).filter((one) => one !== null);
  if (told.length === 0) return null;
  for (const [at, { text }] of before.live(add?.path ?? '').entries()) {
    if (at % ROWS === 0) yield null;
    const known = told.some(({ words }) => words !== '' && sharesWord(words, text))
      ? readFrame(text, around)
      : null;
    const isOther = told.some(
      (one) =>
        one.words === known?.words &&
        one.value.kind === known.value.kind &&
        !one.value.keys.some((key) => known.value.keys.includes(key)),
    );
    if (isOther) return text.trim();
  }
  return null;
}

/** A line's only value, and its words without it; `null` for a line with none or several, and for a number: it may count. */
function readFrame(
  line: string,
  around: readonly string[],
): { words: string; value: Value } | null {
  const { values, rest } = readValues(toBare(line), readLanguages(line, around));
  const [value, ...more] = values;
  const words = fold(rest).match(/[\p{L}\p{M}]+/gu) ?? [];
  return value === undefined || value.kind === 'number' || more.length > 0 || words.length === 0
    ? null
    : { words: words.join(' '), value };
}
