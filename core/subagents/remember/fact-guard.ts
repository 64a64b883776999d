import { findLinks } from '../../files/links.ts';
import { type Guard, INDEX_PATH, newTexts } from '../../edits/guards.ts';
import { FACT_PATH } from '../../edits/operations.ts';
import { missingSpecifics, type SpecificKind } from '../../edits/specifics.ts';
import type { ResolvedTimes } from '../../edits/times.ts';

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
  return ({ located, after }) => {
    const { remove, sources, operation } = located;
    const own = [...remove, ...sources.filter(({ path }) => path === FACT_PATH)];
    const grounds = [...own.map(({ text, madeOf }) => madeOf ?? text), ...dates];
    const texts = newTexts(located);
    if (operation.kind === 'index') {
      // An entry says of its file what stands there.
      for (const link of findLinks(texts.join('\n'), INDEX_PATH)) {
        grounds.push(link, ...after.live(link).map(({ text }) => text));
      }
    }
    const known = grounds.join('\n');
    const missing = texts
      .map((text) => (operation.kind === 'index' ? text.replace(/\]\([^)]*\)/g, ']') : text))
      .flatMap((text) => missingSpecifics(text, known))
      .filter(({ kind }) => REFUSED.has(kind));
    return missing.length === 0
      ? null
      : `the fact has no ${[...new Set(missing.map(({ kind }) => kind))].join(', ')} like that`;
  };
}
