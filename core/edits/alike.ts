import { takeStart } from '../encoding/take-text.ts';
import { isStopWord } from '../search/text/english.ts';
import { fold } from '../values/fold.ts';

/** The words of a text by which it is compared with another: without those of two letters, cut to their stem. */
function stemsOf(text: string): string[] {
  const folded = fold(text);
  const words = folded.match(/[\p{L}\p{M}]{2,}/gu) ?? [];
  const runs = words
    .filter((word) => word.length > 2 || UNSPACED.test(word))
    .flatMap((word) =>
      UNSPACED.test(word)
        ? Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2))
        : [takeStart(word, STEM)],
    );
  return runs.filter((word) => !isStopWord(word));
}

const STEM = 5;
/** Scripts without spaces between words, or with endings that are a part of the word. */
const UNSPACED =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Which part of the words of a text another one has. */
export function shareOf(text: string, other: string): number {
  const own = stemsOf(text);
  const known = new Set(stemsOf(other));
  return own.length === 0 ? 0 : own.filter((word) => known.has(word)).length / own.length;
}

/** Whether two texts have a word or a number in common. */
export function sharesWord(text: string, other: string): boolean {
  if (shareOf(text, other) > 0) return true;
  const numbers = new Set(other.match(/\p{Nd}+/gu));
  if ((text.match(/\p{Nd}+/gu) ?? []).some((number) => numbers.has(number))) return true;
  // Two characters of Chinese that stand apart are two words.
  const characters = new Set(other.match(/\p{Script=Han}/gu));
  const own = new Set(text.match(/\p{Script=Han}/gu));
  return [...own].filter((character) => characters.has(character)).length >= 2;
}
