import { findNewSpecifics, type Guard } from '../../edits/guards.ts';
import { parseInboxLine } from '../../edits/inbox-line.ts';
import { FACT_PATH } from '../../edits/operations.ts';
import type { SpecificKind } from '../../edits/specifics.ts';
import type { ResolvedTimes } from '../../values/times.ts';

const REFUSED: ReadonlySet<SpecificKind> = new Set([
  'number',
  'amount',
  'date',
  'time',
  'address',
  'link',
]);

/**
 * Refuses numbers, amounts, dates, addresses and links that neither the fact nor a removed line has.
 * A date may be one that a word of time in the fact means; without such a word, the day itself.
 */
export function createFactGuard({ times, day }: { times: ResolvedTimes; day: string }): Guard {
  const dates = times.phrases.length > 0 ? times.phrases.flatMap((phrase) => phrase.dates) : [day];
  return function* ({ located, after }) {
    const { remove, sources } = located;
    const own = [...remove, ...sources.filter(({ path }) => path === FACT_PATH)];
    const grounds = [...own.map(({ text, madeOf }) => madeOf ?? text), ...dates];
    const missing = (yield* findNewSpecifics(located, after, grounds)).filter(({ kind }) =>
      REFUSED.has(kind),
    );
    const kinds = [...new Set(missing.map(({ kind }) => kind))].join(', ');
    return kinds === ''
      ? null
      : `A new line has a ${kinds} that neither the fact nor a removed line has.`;
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
