import { newTexts } from './guards.ts';
import { listSpecifics, missingSpecifics, type SpecificKind } from './specifics.ts';
import { findDates } from './dates.ts';
import { FACT_PATH } from './operations.ts';
import { type Subjects } from './subject.ts';
import { hasNegation, isSensitive, modalsOf } from './words.ts';
import { groundsOf, type LocatedOperation, type Row } from './workspace.ts';

/** What whoever decides on an operation is shown of it. */
export type Signal = keyof typeof SIGNALS;

interface SignalContext {
  located: LocatedOperation;
  /** Whom the lines, and the place where they go, are about. */
  subjects: Subjects;
}

const textOf = (rows: readonly Row[]): string => rows.map(({ text }) => text).join('\n');
const linesOf = ({ sources }: LocatedOperation): Row[] => sources.filter(({ path }) => path !== FACT_PATH);

const SIGNALS = {
  specific_lost: ({ located }: SignalContext) =>
    missingSpecifics(textOf(located.remove), `${located.lines.join('\n')}\n${textOf(linesOf(located))}`).length > 0,

  specific_added: ({ located }: SignalContext) =>
    newTexts(located).some((text) => missingSpecifics(text, groundsOf(located)).length > 0),

  negation: ({ located: { remove, sources, lines } }: SignalContext) =>
    [...remove, ...sources].some(({ text }) => hasNegation(text)) || lines.some(hasNegation),

  modality: ({ located }: SignalContext) => {
    const [was, is] = [modalsOf(withoutDates(textOf(located.remove))), modalsOf(withoutDates(located.lines.join('\n')))];
    const known = modalsOf(withoutDates(groundsOf(located)));
    const stays = modalsOf(withoutDates(textOf(linesOf(located))));
    return [...was].some((word) => !is.has(word) && !stays.has(word)) || [...is].some((word) => !known.has(word));
  },

  conflict: ({ located: { operation, remove, sources } }: SignalContext) =>
    operation.kind === 'merge' && hasConflict([...remove, ...sources].map(({ text }) => text)),

  sensitive: ({ located }: SignalContext) =>
    [...located.remove, ...located.sources].some(({ text }) => isSensitive(text)) ||
    newTexts(located).some(isSensitive),

  other_subject: ({ located, subjects }: SignalContext) => {
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

  task: ({ located: { remove, sources, lines } }: SignalContext) => {
    const [was, is] = [boxesOf(remove.map(({ text }) => text)), boxesOf([...lines, ...sources.map(({ text }) => text)])];
    return was !== '' && is !== was && (lines.length > 0 || is !== '');
  },

  older_source: ({ located }: SignalContext) => {
    const newest = Math.max(...linesOf(located).map(({ at }) => at ?? Number.NEGATIVE_INFINITY));
    return located.operation.kind === 'supersede' && located.remove.some(({ at }) => at !== null && Number.isFinite(newest) && newest < at);
  },
} as const satisfies Record<string, (context: SignalContext) => boolean>;

/** The signals of an operation, in the order of the table. */
export function findSignals(context: SignalContext): Signal[] {
  return Object.entries(SIGNALS)
    .filter(([, find]) => find(context))
    .map(([signal]) => signal as Signal);
}

const COMPARED: readonly (readonly SpecificKind[])[] = [['number', 'amount', 'time'], ['date'], ['name']];

/** Whether two lines have different values of one kind, each with one that the other lacks. */
function hasConflict(texts: readonly string[]): boolean {
  const listed = texts.map(listSpecifics);
  return COMPARED.some((kinds) => {
    const sets = listed.map((all) => all.filter(({ kind }) => kinds.includes(kind)));
    const lacks = (one: typeof sets[number], other: typeof sets[number]) => {
      const keys = new Set(other.flatMap((specific) => specific.keys));
      return one.some((specific) => !specific.keys.some((key) => keys.has(key)));
    };
    return sets.some((one, at) => sets.slice(at + 1).some((other) => lacks(one, other) && lacks(other, one)));
  });
}

function boxesOf(texts: readonly string[]): string {
  const boxes = texts.flatMap((text) => /^\s*[-*+]\s+\[([ xX])\]/.exec(text)?.[1]?.toLowerCase() ?? []);
  return [...new Set(boxes)].sort().join('');
}

/** `may` in "4 May" is no word of permission. */
function withoutDates(text: string): string {
  let rest = text;
  for (const { start, end } of findDates(text)) {
    rest = rest.slice(0, start) + ' '.repeat(end - start) + rest.slice(end);
  }
  return rest;
}
