/** How strongly a text looks like English, and how strongly like another language. */
export interface LanguageHints {
  english: number;
  other: number;
}

/**
 * Counts the signs of a text's language: its function words and its accents.
 *
 * Takes folded words and the number of letters with an accent. It uses no table of the operating
 * system, so the result is the same on every version of Node. It ignores other scripts, because the
 * rules for English only change the letters `a`–`z`.
 */
export function countLanguageHints(
  words: Iterable<string>,
  accentedLetters: number,
): LanguageHints {
  let english = 0;
  let other = accentedLetters * ACCENT_WEIGHT;
  for (const word of words) {
    if (ENGLISH.has(word)) english++;
    else if (OTHER.has(word)) other++;
  }
  return { english, other };
}

/**
 * Whether to treat a text as English: its own words decide if they are clear, then the language of
 * the surrounding text, else yes ("prefers green tea" has no function word at all).
 */
export function isEnglish(hints: LanguageHints, surrounding?: LanguageHints): boolean {
  const margin = hints.english - hints.other;
  if (Math.abs(margin) >= CLEAR_MARGIN || surrounding === undefined) return margin >= 0;
  return surrounding.english + hints.english >= surrounding.other + hints.other;
}

/** One more function word in one language than in the others. */
const CLEAR_MARGIN = 1;

/**
 * An accented letter counts as half a function word: English notes contain names and loan words
 * (Zoë, café), and a line of Polish or Czech may contain no word of the list.
 */
const ACCENT_WEIGHT = 0.5;

/** English function words, and some verbs that notes about people often begin with. */
const ENGLISH = toSet([
  'the and of is are were been being has have had with for from that this these those they them',
  'their there which what when where who why how would should could can not but about into if',
  'than then because while your you she her his its our my does did doing each every other by it',
  'be or at on to i as do up out off use used using prefers likes wants works lives new',
]);

/**
 * Function words of other languages in Latin letters, without those that are also an English word,
 * name or abbreviation (`die`, `man`, `son`, `war`, `met`, `van`, `dan`, `mia`, `los`, `os`).
 */
const OTHER = toSet([
  // German
  'der das und ist nicht ein eine einen einem einer ich sie wir ihr mit fur auf dem den von zu',
  'aus bei nach auch wird wurde werden sind haben noch nur oder aber wie uber zum zur des',
  'mein meine sein seine kein keine mag immer dass wenn weil',
  // French
  'le la les une et est dans pour pas que qui sur avec au aux du ce cette ces il elle nous vous',
  'ils elles sont ete mais ou sa ses mes je tu ne se par chez aime tres etre',
  // Spanish, Portuguese
  'el y en es un unos unas del por con para como mas pero su sus al muy esta este',
  'esto si yo ellos mi mis tiene gusta porque cuando donde uma nao em na nos',
  'dos das ao aos pelo pela ele ela eles voce meu minha seu sua gosta tem sao foi quando',
  // Italian
  'gli di che sono della delle dei nel nella alla alle anche piu',
  'questo questa ma molto piace',
  // Dutch
  'het een niet dat zijn op te voor aan er maar ook naar wordt heeft hebben ik je',
  'hij zij mijn deze dit uit graag',
  // Swedish, Danish, Norwegian
  'och att det som av inte jag hon ett om og ikke jeg er af de dem',
  'skal vil mig ogsa efter eller',
  // Polish, Czech
  'nie jest sie jak czy ktory ktora przez jego jej juz tylko bardzo lubi',
  'jako ktery ktera jsou byl byla uz taky proto',
  // Turkish, Finnish, Hungarian, Romanian, Indonesian
  've bir bu ile icin cok degil gibi daha olarak ja ei etta mutta ovat tai az egy',
  'hogy nem csak este sunt pentru cu pe din nu yang tidak dengan untuk itu adalah saya suka',
]);

function toSet(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}
