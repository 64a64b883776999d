import type { Value } from '../values/values.ts';
import { findNewSpecifics, newTexts } from './guards.ts';
import { resolveLines } from './note-times.ts';
import { FACT_PATH } from './operations.ts';
import { listSpecifics, missingSpecifics, type Specific } from './specifics.ts';
import type { OperationView } from './views.ts';
import { groundsOf, type LocatedOperation, type Workspace } from './workspace.ts';

/** A quotation by which the verifier proves a value that code does not find. */
export interface Proof {
  value: string;
  quote: string;
}

/** A quotation has at most this many characters. */
const QUOTE_LENGTH = 80;

const VALUES: ReadonlySet<Specific['kind']> = new Set<Value['kind']>([
  'number',
  'amount',
  'date',
  'time',
]);

/**
 * What new lines have and neither the lines that they are made of say, nor the words of time in them mean.
 *
 * @param dates that words of the fact mean.
 */
export function* findUnfounded(
  located: LocatedOperation,
  memory: Workspace,
  dates: readonly string[] = [],
): Generator<null, Specific[]> {
  const added = yield* findNewSpecifics(located, memory, [groundsOf(located), ...dates]);
  if (added.length === 0) return [];
  const said = (yield* resolveLines(located, memory)).join('\n');
  const missing = yield* missingSpecifics(
    added.map(({ text }) => text).join('\n'),
    said,
    memory.languages,
  );
  return added.filter((one) => missing.some(({ text }) => text === one.text));
}

/**
 * The values of new lines that code finds in no source and that contradict none that it read there: the verifier
 * has to prove each with a quotation. A value contradicts one of its kind that the new lines do not have.
 */
export function* findQuestions(
  located: LocatedOperation,
  memory: Workspace,
  dates: readonly string[] = [],
): Generator<null, string[]> {
  const asked = (yield* findUnfounded(located, memory, dates)).filter(({ kind }) =>
    VALUES.has(kind),
  );
  if (asked.length === 0) return [];
  const rows = located.sources.length > 0 ? located.sources : located.remove;
  const said = rows.map(({ text, madeOf }) => madeOf ?? text).join('\n');
  const unused = yield* missingSpecifics(said, newTexts(located).join('\n'), memory.languages);
  const groups = new Set(unused.map(groupOf));
  // A word of time that could be resolved means no other date.
  if ((yield* resolveLines(located, memory)).length > 0) groups.add('date');
  return [...new Set(asked.filter((one) => !groups.has(groupOf(one))).map(({ text }) => text))];
}

/** Values of one group may contradict each other. */
export function groupOf({ kind, keys }: Specific): string {
  if (kind === 'date') return keys[0]?.startsWith('day:') === true ? 'weekday' : 'date';
  return kind === 'amount' ? 'number' : kind;
}

/**
 * Whether each value is proven by a quotation of its own: of at most {@link QUOTE_LENGTH} characters, from one of
 * the lines that the operation is made of or from the fact, and with no other value in it.
 */
export function isProven(
  {
    values,
    remove,
    sources,
  }: Pick<OperationView, 'remove' | 'sources'> & { values: readonly string[] },
  proof: readonly Proof[],
): boolean {
  const named = sources.length > 0 ? sources : remove;
  const lines = named.map(({ text }) => toSpaced(text));
  // The fact is one text, whatever its lines are.
  lines.push(
    toSpaced(
      sources
        .filter(({ path }) => path === FACT_PATH)
        .map(({ text }) => text)
        .join('\n'),
    ),
  );
  const used: string[] = [];
  return values.every((value) => {
    const quotes = proof.filter((one) => one.value === value).map(({ quote }) => toSpaced(quote));
    const quote = quotes.find(
      (one) =>
        /[\p{L}\p{N}]/u.test(one) &&
        one.length <= QUOTE_LENGTH &&
        lines.some((line) => line.includes(one)) &&
        !used.some((other) => other.includes(one) || one.includes(other)) &&
        hasNoOther(one, value),
    );
    if (quote === undefined) return false;
    used.push(quote);
    return true;
  });
}

/** Whether a quotation has no value but the one that it proves; the hour of a time counts as it. */
function hasNoOther(quote: string, value: string): boolean {
  const asked = listSpecifics(value);
  const keys = new Set(asked.flatMap((one) => [...one.keys, ...one.alsoKnownBy]));
  const hours = asked.flatMap(({ keys: own }) =>
    own.flatMap((key) => /^t:(\d+):/.exec(key)?.[1] ?? []),
  );
  for (const hour of hours) {
    for (const off of [0, 12, -12]) keys.add(`n:${Number(hour) + off}`);
  }
  return listSpecifics(quote).every(
    (one) =>
      !VALUES.has(one.kind) || [...one.keys, ...one.alsoKnownBy].some((key) => keys.has(key)),
  );
}

function toSpaced(text: string): string {
  return text.normalize('NFC').replace(/\s+/g, ' ').trim().toLowerCase();
}
