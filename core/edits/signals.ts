import { takeStart } from '../encoding/take-text.ts';
import { isStopWord } from '../search/text/english.ts';
import { SIGNALS } from '../schemas/dreams.ts';
import { shareOf, sharesWord } from './alike.ts';
import { listPairs } from './listed.ts';
import { newTexts } from './guards.ts';
import { findQuestions, findUnfounded, groupOf } from './proof.ts';
import { missingSpecifics, type Specific } from './specifics.ts';
import { readLanguages, UNKNOWN } from '../values/language.ts';
import { finish } from '../time/pause.ts';
import { findDates } from '../values/dates.ts';
import { blankOut, readValues } from '../values/values.ts';
import { fold } from '../values/fold.ts';
import { withoutStamp } from './inbox-line.ts';
import { toSaid, withoutTimes } from './note-times.ts';
import { FACT_PATH } from './operations.ts';
import { type Subjects } from './subject.ts';
import { hasNegation, isSensitive, modalsOf, saysChange } from '../values/words.ts';
import {
  groundsOf,
  hasNothingInCommon,
  type LocatedOperation,
  type Row,
  type Workspace,
} from './workspace.ts';
import { toBare } from './loose-text.ts';

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
  *specific_lost(context) {
    const { located, subjects, before } = context;
    const around = before.languages;
    const left = `${located.lines.join('\n')}\n${textOf(linesOf(located))}`;
    const above = headingsAround(located, before);
    function* findLost(text: string): Generator<null, Specific[]> {
      const missing = yield* missingSpecifics(text, left, around);
      // An entry of the catalog loses no name with its words: the file keeps it.
      const isEntry = located.operation.kind === 'index';
      const isCounted = isOfOther(subjects);
      const lost = missing.filter((one) => isCounted(one) && !(isEntry && one.kind === 'name'));
      if (lost.length === 0) return [];
      // A heading above what stays says its numbers; its names too, where it is about the same.
      const more = yield* missingSpecifics(lost.map((one) => one.text).join('\n'), above, around);
      return lost.filter((one) => more.some(({ text: other }) => other === one.text));
    }
    if (losesPart(located, around)) return true;
    for (const row of located.remove) {
      const said = toSaid(row);
      let lost = yield* findLost(said.text);
      if (lost.length > 0) lost = yield* findLost(yield* withoutTimes(said, { left, before, row }));
      if (lost.length > 0 && !(yield* isReplaced(row, lost, context))) return true;
    }
    return false;
  },

  *specific_added({ located, subjects, before }) {
    const all = (yield* findUnfounded(located, before)).filter(isOfOther(subjects));
    const questions = new Set(yield* findQuestions(located, before));
    return all.some((one) => !questions.has(one.text));
  },

  negation: ({ located: { operation, remove, sources, lines }, before }) => {
    const around = before.languages;
    const denies = (texts: readonly string[]) => texts.some((text) => hasNegation(text, around));
    const was = denies(remove.map(({ text }) => withoutStamp(text)));
    const said = denies(sources.map(({ text }) => withoutStamp(text)));
    if (lines.length > 0) {
      const is = denies(lines);
      if (operation.kind === 'supersede') return is && !was && !said;
      return is ? !was && !said : was || said;
    }
    if (was) return !said;
    // "No longer eats fish" ends "Eats fish", and repeats what it ends.
    return said && !(operation.kind === 'supersede' && repeats(textOf(sources), textOf(remove)));
  },

  modality: ({ located, before }) => {
    const around = before.languages;
    const modals = (text: string) => modalsOf(withoutDates(text), around);
    const parts = (text: string) => new Set(readParts(text, around));
    const [gone, added] = [textOf(located.remove), located.lines.join('\n')];
    const stays = textOf(linesOf(located));
    for (const kinds of [modals, parts]) {
      const [was, is, known, left] = [gone, added, groundsOf(located), stays].map(kinds);
      // A plan or a wish ends when its source says that it came true.
      const isEnded = (word: string) =>
        located.operation.kind === 'supersede' &&
        ENDED.has(word) &&
        left?.size === 0 &&
        shareOf(gone, stays) >= 0.3;
      const isLost = (word: string) => !is?.has(word) && !left?.has(word) && !isEnded(word);
      if ([...(was ?? [])].some(isLost)) return true;
      if ([...(is ?? [])].some((word) => !known?.has(word))) return true;
    }
    if (located.operation.kind === 'supersede') {
      // A plan in the source makes no fact.
      const is = modals(located.lines.length > 0 ? added : gone);
      const said = textOf(located.sources);
      if ([...modals(said)].some((word) => word !== 'may' && !is.has(word))) return true;
    }
    return gone !== '' && added !== '' && isTranslated(gone, added);
  },

  *conflict({ located: { operation, remove, sources, lines }, before }) {
    if (operation.kind !== 'merge') return false;
    const texts = [...remove, ...sources].map(({ text }) => withoutStamp(text));
    if (remove.length > 1 && haveOneFrame(remove.map(({ text }) => withoutStamp(text))))
      return true;
    const stays = sources.map(({ text }) => withoutStamp(text));
    if (
      lines.length === 0 &&
      remove.some(({ text }) => stays.some((one) => differsInOne(text, one)))
    )
      return true;
    return yield* hasConflict(texts, before.languages);
  },

  sensitive: ({ located }) =>
    [...located.remove, ...located.sources].some(({ text }) => isSensitive(text)) ||
    newTexts(located).some(isSensitive),

  other_subject: ({ located, subjects }) => {
    // An entry of the catalog is about its file.
    if (located.operation.kind === 'index') return false;
    if (located.operation.kind === 'reword' && hasNothingInCommon(located)) return true;
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

const ENDED: ReadonlySet<string> = new Set(['want', 'plan']);

/**
 * Whether of things that a removed line lists, as in "trains and buses", one is still there and its neighbour is
 * not.
 */
function losesPart(
  { operation, remove, sources, lines }: LocatedOperation,
  around: readonly string[],
): boolean {
  if (operation.kind === 'index' || operation.kind === 'move') return false;
  const rest = `${lines.join('\n')}\n${textOf(sources)}`;
  return remove.some(({ text }) =>
    listPairs(text, around).some(([one, other]) => {
      const [isLeft, isOtherLeft] = [one, other].map((word) => sharesWord(word, rest));
      return isLeft !== isOtherLeft;
    }),
  );
}

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

/** The headings above what stays of an operation, and the names of its files. */
function headingsAround(located: LocatedOperation, before: Workspace): string {
  const rows = linesOf(located).flatMap((row) => [...before.headingsOf(row), row.path]);
  const place =
    located.place === null ? [] : [...located.place.headings, located.operation.add?.path ?? ''];
  return [...rows, ...place].join('\n').replace(/[/_.-]+/g, ' ');
}

/**
 * Whether what a superseded line loses is what its source replaces: a value of the same kind, of the same subject,
 * in a line that says that something changed, or that repeats what it corrects. A date is lost all the same.
 */
function* isReplaced(
  row: Row,
  lost: readonly Specific[],
  { located, before }: SignalContext,
): Generator<null, boolean> {
  if (located.operation.kind !== 'supersede') return false;
  const around = before.languages;
  const said = `${textOf(located.sources)}\n${located.lines.join('\n')}`;
  const fresh = yield* missingSpecifics(said, row.text, around);
  const counts = new Map<string, number>();
  for (const one of fresh) counts.set(groupOf(one), (counts.get(groupOf(one)) ?? 0) + 1);
  const isPaired = lost.every((one) => {
    const group = groupOf(one);
    const left = counts.get(group) ?? 0;
    counts.set(group, left - 1);
    return group !== 'date' && left > 0;
  });
  const isOfSame =
    shareOf(row.text, said) > 0 || located.sources.some((one) => before.isInSection(one, row));
  return isPaired && isOfSame && (saysChange(said, around) || shareOf(row.text, said) >= 0.5);
}

function repeats(text: string, said: string): boolean {
  return shareOf(said, text) >= 0.99;
}

function readParts(text: string, around: readonly string[]): readonly string[] {
  return text.split('\n').flatMap((line) => readValues(line, readLanguages(line, around)).dayParts);
}

/** Whether the new lines are in another language than those that go. */
function isTranslated(gone: string, added: string): boolean {
  const [was, is] = [readLanguages(gone), readLanguages(added)];
  if (was.includes(UNKNOWN) || is.includes(UNKNOWN)) return false;
  return !was.some((one) => is.includes(one)) && shareOf(added, gone) < 0.5;
}

/**
 * Whether lines differ in their last words alone, behind three others, or behind two where these are names: two
 * values of one thing.
 */
function haveOneFrame(texts: readonly string[]): boolean {
  const words = texts.map((text) => toBare(text).match(/[\p{L}\p{M}\p{Nd}]+/gu) ?? []);
  return words.some((one, at) =>
    words.slice(at + 1).some((other) => {
      let same = 0;
      while (same < one.length && fold(one[same] ?? '') === fold(other[same] ?? '')) same += 1;
      const rest = one.length - same;
      if (one.length !== other.length || rest === 0 || rest > 2) return false;
      const areNames = [one, other].every((all) => /^\p{Lu}/u.test(all[same] ?? ''));
      return same >= (areNames ? NAME_FRAME : FRAME);
    }),
  );
}

/** Whether two lines have the same words but for one, which is another word and no other form of it. */
function differsInOne(text: string, other: string): boolean {
  const [one, two] = [text, other].map((line) => fold(toBare(line)).match(/[\p{L}\p{M}]+/gu) ?? []);
  if (one === undefined || two === undefined || one.length !== two.length || one.length < 2)
    return false;
  const differing = one.flatMap((word, at) => (word === two[at] ? [] : [[word, two[at] ?? '']]));
  const [[word = '', changed = ''] = []] = differing;
  return (
    differing.length === 1 &&
    !isStopWord(word) &&
    !isStopWord(changed) &&
    takeStart(word, SAME_FORM) !== takeStart(changed, SAME_FORM)
  );
}

/** Words with the same beginning are forms of one word, or one is misspelt. */
const SAME_FORM = 3;

const FRAME = 3;
const NAME_FRAME = 2;

/** Whether two lines have different values of one kind, each with one that the other lacks. */
function* hasConflict(
  texts: readonly string[],
  around: readonly string[],
): Generator<null, boolean> {
  function* kindsMissing(one: string, other: string): Generator<null, string[]> {
    return (yield* missingSpecifics(one, other, around)).map(groupOf);
  }
  for (const [at, one] of texts.entries()) {
    for (const other of texts.slice(at + 1)) {
      const lost = yield* kindsMissing(one, other);
      const added = lost.length === 0 ? [] : yield* kindsMissing(other, one);
      if (COMPARED.some((kind) => lost.includes(kind) && added.includes(kind))) return true;
    }
  }
  return false;
}

const COMPARED: readonly string[] = ['number', 'date', 'weekday'];

/** The user's own name is no specific: all of memory is about the user. A common word is none either. */
function isOfOther(subjects: Subjects): (specific: Specific) => boolean {
  const isRelation = (keys: readonly string[]) => keys[0]?.startsWith('r:') === true;
  return ({ kind, text, keys }) =>
    kind !== 'name' || isRelation(keys) || (!subjects.isUser(text) && !subjects.isCommon(text));
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
