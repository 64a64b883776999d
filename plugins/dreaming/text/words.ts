/**
 * Words that carry structure, not facts, in the languages that dreaming tells apart. They also tell
 * the language of a text.
 */
const FUNCTION_WORDS: Readonly<Record<string, string>> = {
  en: 'a an the and or but if of to in on at for from by with as is are was were be been has have had do does did it its this that these those he she they we you i my his her their our your not no so than then there here who which what when where will would can could should may also about into over under up down out more most very just only both each all any some such other same while during after before until since because',
  de: 'der die das den dem des ein eine einen einem einer und oder aber wenn von zu im in auf an für aus mit als ist sind war waren wird werden hat haben hatte nicht kein keine so dann dort hier wer was wann wo auch über unter mehr sehr nur beide jede alle ich er sie es wir ihr mein dein sein unser bei nach vor bis seit weil zum zur',
  fr: 'le la les un une des du de et ou mais si à dans sur pour par avec est sont était été ont a il elle ils elles nous vous je mon ton son sa ses leur ne pas plus aussi très que qui quoi quand où ce cette ces au aux après avant depuis parce chez en y',
  es: 'el la los las un una unos unas de del y o pero si a en sobre para por con es son era fue ha han no más también muy que quien cuando donde este esta estos al se su sus mi tu nuestro le les lo después antes hasta desde porque',
  it: 'il lo la i gli le un uno una di del della dei e o ma se a in su per con da è sono era ha hanno non più anche molto che chi quando dove questo questa questi al alla suo sua mio tuo dopo prima fino',
  pt: 'o a os as um uma de do da dos das e ou mas se em no na para por com é são era foi tem não mais também muito que quem quando onde este esta ao seu sua meu depois antes até desde porque',
  nl: 'de het een en of maar als van te in op aan voor uit met is zijn was waren wordt heeft hebben niet geen zo dan daar hier wie wat wanneer waar ook over onder meer zeer alleen ik hij zij wij jij mijn zijn haar hun onze bij na tot sinds omdat',
};

const LANGUAGES = Object.entries(FUNCTION_WORDS).map(
  ([language, words]) => [language, new Set(words.split(' '))] as const,
);

const ALL_FUNCTION_WORDS = new Set(Object.values(FUNCTION_WORDS).flatMap((it) => it.split(' ')));

/** Words that begin a line of memory without being a name. */
const OPENERS = new Set(
  (
    'prefers prefer likes like loves love enjoys enjoy adores adore wants want needs need uses use works work lives live plans plan ' +
    'decided decision decisions avoid avoids always never now currently later earlier correction corrected ' +
    'moved moves changed changes switched replaced runs run keeps keep speaks speak drinks drink eats eat ' +
    'meets meet owns own has have favourite favorite user notes note todo project projects preferences ' +
    'preference profile contacts contact team teams tools tool links link overview summary history index ' +
    'memory catalog people family personal general misc other details background goals goal tasks task ' +
    'ideas idea questions question open done next previous current old new first last one two three four ' +
    'five six seven eight nine ten instead actually formerly previously agreed chose chosen considering ' +
    'communication format style language timezone time date dates address email phone name names role ' +
    'job company home office weekly daily monthly yearly morning evening today yesterday tomorrow every ' +
    'basically really essentially literally obviously simply very quite please also perhaps maybe probably ' +
    'sometimes often usually hardly ' +
    'prefers mag möchte nutzt arbeitet wohnt bevorzugt plant entschieden immer nie jetzt früher aime ' +
    'préfère utilise travaille habite toujours jamais maintenant prefiere usa trabaja vive siempre nunca ahora'
  ).split(' '),
);

/** Whether a word carries no fact of its own, whatever its language. */
export function isFunctionWord(word: string): boolean {
  return ALL_FUNCTION_WORDS.has(word);
}

/** Whether a capitalised word at the beginning of a sentence is no name. Lower case. */
export function isOpener(word: string): boolean {
  return OPENERS.has(word) || ALL_FUNCTION_WORDS.has(word);
}

// Letters, marks and digits, joined inside a word by what dates, times and names are joined by.
const TOKEN = /[\p{L}\p{M}\p{Nd}]+(?:[.,:_/'’-][\p{L}\p{M}\p{Nd}]+)*/gu;

/** A word, number or date of a text, and where it begins. */
export interface Token {
  text: string;
  index: number;
}

/** The words, numbers and dates of a text in order. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.normalize('NFC').matchAll(TOKEN)) {
    tokens.push({ text: match[0], index: match.index });
  }
  return tokens;
}

const UNCASED = /\p{Lo}/u;
const segmenters = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Words of scripts that have no capitals, and often no spaces: `周二`, `東京`. */
export function uncasedWords(text: string): string[] {
  if (!UNCASED.test(text)) return [];
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenters.segment(text.normalize('NFC'))) {
    if (isWordLike === true && UNCASED.test(segment)) words.push(segment);
  }
  return words;
}

/** Words shorter than this carry little. */
const LEAST_LETTERS = 3;
/** Letters that the forms of a word have in common. */
const STEM_LETTERS = 5;

/** Stems of the words that carry a text's meaning, in order. */
export function contentStems(text: string): string[] {
  const stems: string[] = [];
  for (const { text: token } of tokenise(text)) {
    for (const part of token.toLowerCase().split(/[.,:_/'’-]/u)) {
      if (UNCASED.test(part) || isFunctionWord(part)) continue;
      if (part.length < LEAST_LETTERS && !/\p{Nd}/u.test(part)) continue;
      stems.push(toStem(part));
    }
  }
  for (const word of uncasedWords(text)) stems.push(word);
  return stems;
}

function toStem(word: string): string {
  return /\p{Nd}/u.test(word) ? word : word.slice(0, STEM_LETTERS);
}

/** Function words that a language must have, and lead by, before a text counts as written in it. */
const LEAST_HITS = 2;

/** The language of a text in Latin letters; `null` when its words don't tell. */
export function detectLanguage(text: string): string | null {
  const words = tokenise(text).map((token) => token.text.toLowerCase());
  const counts = LANGUAGES.map(
    ([language, known]) => [language, words.filter((word) => known.has(word)).length] as const,
  ).sort((a, b) => b[1] - a[1]);
  const [first, second] = counts;
  if (first === undefined || second === undefined) return null;
  const [language, hits] = first;
  return hits >= LEAST_HITS && hits >= 2 * second[1] ? language : null;
}

const SCRIPTS = [
  ['Latin', /\p{Script=Latin}/u],
  ['Cyrillic', /\p{Script=Cyrillic}/u],
  ['Greek', /\p{Script=Greek}/u],
  ['Han', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['Hangul', /\p{Script=Hangul}/u],
  ['Arabic', /\p{Script=Arabic}/u],
  ['Hebrew', /\p{Script=Hebrew}/u],
  ['Devanagari', /\p{Script=Devanagari}/u],
  ['Thai', /\p{Script=Thai}/u],
] as const;

/** The scripts that a text is written in. */
export function scriptsOf(text: string): Set<string> {
  return new Set(SCRIPTS.filter(([, letters]) => letters.test(text)).map(([name]) => name));
}

const NEGATIONS = new Set(
  (
    "not no never none nobody nothing neither nor cannot without don't doesn't didn't isn't aren't wasn't " +
    "won't can't couldn't shouldn't wouldn't hasn't haven't don’t doesn’t didn’t isn’t aren’t wasn’t won’t " +
    'can’t avoid avoids dislikes dislike hates hate refuses refuse stopped stop stops allergic ' +
    'nicht kein keine keinen keiner nie niemals ohne ne pas jamais sans aucun aucune no nunca sin jamás ' +
    'non mai senza não nunca sem niet geen nooit zonder нет не никогда без'
  ).split(' '),
);
const UNCASED_NEGATION = /[不没無沒未]|ない|않|없|아니|لا|ليس|לא|नहीं|ไม่/u;

/** Whether a text denies something. */
export function hasNegation(text: string): boolean {
  return (
    tokenise(text).some((token) => NEGATIONS.has(token.text.toLowerCase())) ||
    UNCASED_NEGATION.test(text)
  );
}
