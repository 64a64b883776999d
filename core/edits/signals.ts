import { SIGNALS } from '../schemas/dreams.ts';
import { findNewSpecifics, newTexts } from './guards.ts';
import { missingSpecifics, type Specific, type SpecificKind } from './specifics.ts';
import { finish } from '../time/pause.ts';
import { findDates } from '../values/dates.ts';
import { blankOut } from '../values/values.ts';
import { fold } from '../values/fold.ts';
import { parseInboxLine, withoutStamp } from './inbox-line.ts';
import { FACT_PATH } from './operations.ts';
import { type Subjects } from './subject.ts';
import { resolveTimes, type ResolvedTimes } from '../values/times.ts';
import { hasNegation, isSensitive, modalsOf } from '../values/words.ts';
import { groundsOf, type LocatedOperation, type Row, type Workspace } from './workspace.ts';

/** What whoever decides on an operation is shown of it. */
export type Signal = (typeof SIGNALS)[number];

interface SignalContext {
  located: LocatedOperation;
  /** Whom the lines, and the place where they go, are about. */
  subjects: Subjects;
  before: Workspace;
}

const textOf = (rows: readonly Row[]): string => rows.map(({ text }) => text).join('\n');
const linesOf = ({ sources }: LocatedOperation): Row[] =>
  sources.filter(({ path }) => path !== FACT_PATH);

/** Whether an operation has a signal; what may take long yields now and then. */
type Finder = (context: SignalContext) => boolean | Generator<null, boolean>;

const FINDERS: Record<Signal, Finder> = {
  *specific_lost({ located, subjects }) {
    const left = `${located.lines.join('\n')}\n${textOf(linesOf(located))}`;
    function* isLost(text: string): Generator<null, boolean> {
      return (yield* missingSpecifics(text, left)).some(isOfOther(subjects));
    }
    for (const row of located.remove) {
      const said = toSaid(row);
      if ((yield* isLost(said.text)) && (yield* isLost(yield* withoutTimes(said, left))))
        return true;
    }
    return false;
  },

  *specific_added({ located, subjects, before }) {
    const added = (yield* findNewSpecifics(located, before, [groundsOf(located)])).filter(
      isOfOther(subjects),
    );
    if (added.length === 0) return false;
    const said: string[] = [];
    for (const row of [...located.remove, ...located.sources]) {
      yield null;
      said.push(...phrasesOf(toSaid(row)).flatMap(({ dates }) => dates));
    }
    const texts = added.map(({ text }) => text).join('\n');
    return (yield* missingSpecifics(texts, said.join('\n'))).length > 0;
  },

  negation: ({ located: { remove, sources, lines } }) =>
    [...remove, ...sources].some(({ text }) => hasNegation(text)) || lines.some(hasNegation),

  modality: ({ located }) => {
    const [was, is] = [
      modalsOf(withoutDates(textOf(located.remove))),
      modalsOf(withoutDates(located.lines.join('\n'))),
    ];
    const known = modalsOf(withoutDates(groundsOf(located)));
    const stays = modalsOf(withoutDates(textOf(linesOf(located))));
    return (
      [...was].some((word) => !is.has(word) && !stays.has(word)) ||
      [...is].some((word) => !known.has(word))
    );
  },

  *conflict({ located: { operation, remove, sources }, subjects }) {
    if (operation.kind !== 'merge') return false;
    const texts = [...remove, ...sources].map(({ text }) => withoutStamp(text));
    return yield* hasConflict(texts, isOfOther(subjects));
  },

  sensitive: ({ located }) =>
    [...located.remove, ...located.sources].some(({ text }) => isSensitive(text)) ||
    newTexts(located).some(isSensitive),

  other_subject: ({ located, subjects }) => {
    const named = [...located.remove, ...linesOf(located)].map((row) => subjects.ofRow(row));
    const { add } = located.operation;
    if (add !== null && located.place !== null) {
      const { headings } = located.place;
      const isAlone = located.remove.length === 0 && linesOf(located).length === 0;
      for (const line of located.lines) {
        if (!isAlone) named.push(subjects.ofLine(line, { path: add.path, headings, parents: [] }));
      }
    }
    return subjects.differ(named);
  },

  task: ({ located: { remove, sources, lines } }) => {
    const [was, is] = [
      boxesOf(remove.map(({ text }) => text)),
      boxesOf([...lines, ...sources.map(({ text }) => text)]),
    ];
    return was !== '' && is !== was && (lines.length > 0 || is !== '');
  },

  older_source: ({ located }) => {
    const newest = Math.max(...linesOf(located).map(({ at }) => at ?? Number.NEGATIVE_INFINITY));
    return (
      located.operation.kind === 'supersede' &&
      located.remove.some(({ at }) => at !== null && Number.isFinite(newest) && newest < at)
    );
  },
};

/** What each signal says to a person, as a part of a sentence. */
export const SIGNAL_WORDS: Readonly<Record<Signal, string>> = {
  specific_lost: 'a number, date, name, address or quote would be lost',
  specific_added: 'a new line has a number, date, name, address or quote that no source has',
  negation: 'a line says no, not, never or the like',
  modality: 'a word such as must, may, if or plans to is lost or added',
  conflict: 'the merged lines have different numbers, dates or names',
  sensitive: 'the lines are about a sensitive subject, such as health, money or law',
  other_subject: 'the lines are about different people or things',
  task: 'a task would be closed or opened',
  older_source: 'the line named as the reason is older than the line that it replaces',
};

/** The signals of an operation, in the order of the table; yields now and then. */
export function* findSignals(context: SignalContext): Generator<null, Signal[]> {
  const found: Signal[] = [];
  for (const signal of SIGNALS) {
    if (yield* finish(FINDERS[signal](context))) found.push(signal);
    yield null;
  }
  return found;
}

const COMPARED: readonly (readonly SpecificKind[])[] = [
  ['number', 'amount', 'time'],
  ['date'],
  ['name'],
];

/** Whether two lines have different values of one kind, each with one that the other lacks. */
function* hasConflict(
  texts: readonly string[],
  counts: (specific: Specific) => boolean,
): Generator<null, boolean> {
  function* kindsMissing(one: string, other: string): Generator<null, SpecificKind[]> {
    return (yield* missingSpecifics(one, other)).filter(counts).map(({ kind }) => kind);
  }
  for (const [at, one] of texts.entries()) {
    for (const other of texts.slice(at + 1)) {
      const lost = yield* kindsMissing(one, other);
      const added = lost.length === 0 ? [] : yield* kindsMissing(other, one);
      const isIn = (found: SpecificKind[], kinds: readonly SpecificKind[]) =>
        found.some((kind) => kinds.includes(kind));
      if (COMPARED.some((kinds) => isIn(lost, kinds) && isIn(added, kinds))) return true;
    }
  }
  return false;
}

/** The user's own name is no specific: all of memory is about the user. */
function isOfOther(subjects: Subjects): (specific: Specific) => boolean {
  return ({ kind, text }) => kind !== 'name' || !subjects.isUser(text);
}

/** What words of time in a line meant when it was written. */
function phrasesOf({ text, at }: DatedText): ResolvedTimes['phrases'] {
  return at === null ? [] : resolveTimes(text, new Date(at).toISOString().slice(0, 10)).phrases;
}

type DatedText = Pick<Row, 'text' | 'at'>;

/** A line of the inbox without its stamp, which says when it was said and is no part of the fact. */
function toSaid({ text, at }: DatedText): DatedText {
  const said = parseInboxLine(text);
  return said === null ? { text, at } : { text: withoutStamp(text), at: Date.parse(said.day) };
}

/** A line without the words of time that what is left has as a date. */
function* withoutTimes(row: DatedText, left: string): Generator<null, string> {
  let { text } = row;
  for (const { phrase, dates } of phrasesOf(row)) {
    const at = fold(text).indexOf(phrase);
    const isSaid = (yield* missingSpecifics(dates.join('\n'), left)).length < dates.length;
    if (at !== -1 && isSaid && fold(text).length === text.length) {
      text = `${text.slice(0, at)}${text.slice(at + phrase.length)}`;
    }
  }
  return text;
}

function boxesOf(texts: readonly string[]): string {
  const boxes = texts.flatMap(
    (text) => /^\s*[-*+]\s+\[([ xX])\]/.exec(text)?.[1]?.toLowerCase() ?? [],
  );
  return [...new Set(boxes)].sort().join('');
}

/** `may` in "4 May" is no word of permission. */
function withoutDates(text: string): string {
  return blankOut(text, findDates(text));
}
