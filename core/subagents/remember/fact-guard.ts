import { findNewSpecifics, type Guard, newTexts } from '../../edits/guards.ts';
import { parseInboxLine } from '../../edits/inbox-line.ts';
import { FACT_PATH } from '../../edits/operations.ts';
import { findQuestions } from '../../edits/proof.ts';
import type { Specific, SpecificKind } from '../../edits/specifics.ts';
import type { ResolvedTimes } from '../../values/times.ts';
import { isSensitive } from '../../values/words.ts';

/** What a new line may have of the fact alone; a value that code can't find there may be proven instead. */
const REFUSED: ReadonlySet<SpecificKind> = new Set([
  'number',
  'amount',
  'date',
  'time',
  'address',
  'link',
]);

/**
 * The dates that the words of time in a fact mean; without such a word, the day itself.
 *
 * @param day as `2026-01-31`, on which the fact was said.
 */
export function toFactDates({ times, day }: { times: ResolvedTimes; day: string }): string[] {
  return times.phrases.length > 0 ? times.phrases.flatMap((phrase) => phrase.dates) : [day];
}

/**
 * Refuses addresses and links that neither the fact nor a removed line has, and values that contradict one which was
 * read there: another number, or a date against a word of time. A value that was not found is a question to the
 * verifier, but in a line about a sensitive subject it is refused: such a line keeps the words of the fact.
 */
export function createFactGuard({ times, day }: { times: ResolvedTimes; day: string }): Guard {
  const dates = toFactDates({ times, day });
  return function* ({ located, before, after }) {
    const { remove, sources } = located;
    const own = [...remove, ...sources.filter(({ path }) => path === FACT_PATH)];
    const grounds = [...own.map(({ text, madeOf }) => madeOf ?? text), ...dates];
    const missing = (yield* findNewSpecifics(located, after, grounds)).filter(({ kind }) =>
      REFUSED.has(kind),
    );
    if (missing.length === 0) return null;
    const asked = new Set(yield* findQuestions(located, before, dates));
    const isDated = times.phrases.length > 0;
    const isRefused = (one: Specific) => !asked.has(one.text) || (one.kind === 'date' && isDated);
    const kinds = [...new Set(missing.filter(isRefused).map(({ kind }) => kind))].join(', ');
    if (kinds !== '') {
      return `A new line has a ${kinds} that neither the fact nor a removed line has.`;
    }
    const isAbout = [...own.map(({ text }) => text), ...newTexts(located)].some(isSensitive);
    return isAbout
      ? 'A new line has a value that the fact does not say so. Copy it as it stands.'
      : null;
  };
}

/**
 * Refuses operations that write a line in the form of the inbox. Only the service says when and by whom a
 * fact was said, and a line that a model writes so would be filed again and again. It also refuses to
 * rewrite a line that waits in the inbox for another fact.
 */
export const guardInbox: Guard = function* ({ located }) {
  yield null;
  const { lines, remove, operation } = located;
  if (lines.some((line) => parseInboxLine(line.trim()) !== null)) {
    return 'A new line looks like a line of the inbox. Write the fact without "(said …)".';
  }
  const isWaiting = remove.some(({ text }) => parseInboxLine(text)?.isQueued === true);
  return isWaiting && operation.kind !== 'supersede'
    ? 'A removed line waits to be filed itself.'
    : null;
};
