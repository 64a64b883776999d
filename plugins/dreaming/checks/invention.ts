import type { Candidate } from '../plan.ts';
import { missingSpecifics } from '../text/specifics.ts';
import { isConnector, listWords, parseMark, toLightStem } from '../text/statement.ts';
import { uncasedWords } from '../text/words.ts';
import { listEntryGrounds, listLinkGrounds, toEntry } from './catalog.ts';
import { PAST_MARKS } from './replacement.ts';

/**
 * What is added has no specific and no word that its sources lack, but for a closed list of those
 * that join. No list of sensitive subjects is needed: whatever a claim is about, its words must
 * stand in a source.
 */
export function checkInvention(candidate: Candidate): string | null {
  const { operation, added } = candidate;
  if (operation.kind === 'move') return null;
  const grounds = [groundsOf(candidate), ...listLinkGrounds(candidate)].join('\n');
  const [made] = missingSpecifics(added.join('\n'), grounds);
  const said = added.map((line) => parseMark(toEntry(line)).body).join('\n');
  const word = listWords(said).find((it) => isInvented(candidate, it));
  const invented = word ?? made;
  return invented === undefined ? null : `no source has “${invented.slice(0, 80)}”`;
}

/** Whether a word of an added text stands in none of its sources, in no form of it. */
export function isInvented(candidate: Candidate, word: string): boolean {
  const key = word.toLowerCase();
  if (isConnector(key)) return false;
  if (candidate.operation.kind === 'supersede' && PAST_MARKS.has(key)) return false;
  const known = wordsOf(candidate);
  if (known.has(toLightStem(key))) return false;
  // Words of a script without spaces are told apart by a dictionary.
  const uncased = uncasedWords(word);
  return uncased.length === 0 || !uncased.every((it) => known.has(it.toLowerCase()));
}

const words = new WeakMap<Candidate, ReadonlySet<string>>();

function wordsOf(candidate: Candidate): ReadonlySet<string> {
  let known = words.get(candidate);
  if (known === undefined) {
    const text = groundsOf(candidate);
    const stems = [...listWords(text), ...uncasedWords(text).map((it) => it.toLowerCase())];
    known = new Set(stems.map(toLightStem));
    words.set(candidate, known);
  }
  return known;
}

function groundsOf(candidate: Candidate): string {
  return [candidate.grounds, ...listEntryGrounds(candidate)].join('\n');
}
