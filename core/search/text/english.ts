import { stem } from './stem.ts';

/**
 * Whether an English word carries no meaning of its own in a note or a question.
 *
 * Takes a folded word without its apostrophe's ending (`didnt`, not `didn't`). The list is that of
 * the common function words, with question words, as a question's "when did" stands in no answer.
 * Left in on purpose: `may` and `will` (a month, a name, a document) and `like`, `want` and `need`,
 * which a note on preferences is about.
 */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/**
 * The term of an English stop word: only a question that has no other words looks for it. In
 * capitals it is a name too (`IT`, `US`), and has a term of its own.
 *
 * No other term begins so, so that a stem (`ones` → `on`) is never taken for one of these.
 *
 * @example toStopTerm('the') // '=the'
 */
export function toStopTerm(word: string): string {
  return STOP_MARK + word;
}

/** Whether a term is one that {@link toStopTerm} makes. */
export function isStopTerm(term: string): boolean {
  return term.startsWith(STOP_MARK);
}

/** A number of its own for each term of a stop word, from 0, as long as the list stays the same. */
export function stopNumberOf(term: string): number {
  const word = term.slice(STOP_MARK.length);
  const lower = word.toLowerCase();
  return 2 * (STOP_NUMBERS.get(lower) ?? 0) + (word === lower ? 0 : 1);
}

const STOP_MARK = '=';

/**
 * The form under which an English word is indexed: an irregular form's base word, then its stem.
 *
 * @example toEnglishTerm('children') // 'child'
 */
export function toEnglishTerm(word: string): string {
  const known = TERMS.get(word);
  if (known !== undefined) return known;
  const term = stem(BASE_OF_IRREGULAR.get(word) ?? word);
  if (TERMS.size >= MAX_REMEMBERED) TERMS.clear();
  TERMS.set(word, term);
  return term;
}

/** Terms of words met lately: stemming is most of what tokenising costs, and words come again. */
const TERMS = new Map<string, string>();
/** About 2 MB. */
const MAX_REMEMBERED = 20_000;

const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'a an the this that these those such same other another each every any some all both either',
    'neither no nor not only own few more most much many several',
    'i me my mine myself we us our ours ourselves you your yours yourself yourselves',
    'he him his himself she her hers herself it its itself they them their theirs themselves one',
    'who whom whose which what when where why how whether whatever whichever whoever',
    'am is are was were be been being do does did doing done have has had having',
    'can could would should shall might must ought',
    'and or but if because as until while than then so though although unless since',
    'of at by for with about against between into through during before after above below to from',
    'in out on off over under up down upon within without via per toward towards among',
    'again further once here there also just too very really ever still yet even quite rather',
    'im ive id youre youve youll youd hes shes theyre theyve weve thats whats theres lets',
    'dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt cant cannot couldnt wouldnt',
    'shouldnt wont aint mustnt neednt mightnt',
  ].flatMap((line) => line.split(' ')),
);

const STOP_NUMBERS: ReadonlyMap<string, number> = new Map(
  [...STOP_WORDS].map((word, number) => [word, number]),
);

/**
 * Each line: the base word, then its irregular forms, and the everyday forms of the words for a
 * family, in which notes and questions about people seldom agree. Left out are forms that more often are
 * another word: `rose`, `lay`, `ground`, `wound`, `leaves`, `lives`.
 */
const IRREGULAR_FORMS = [
  'become became',
  'begin began begun',
  'bend bent',
  'bite bit bitten',
  'blow blew blown',
  'break broke broken',
  'bring brought',
  'build built',
  'burn burnt',
  'buy bought',
  'catch caught',
  'choose chose chosen',
  'come came',
  'deal dealt',
  'dig dug',
  'draw drew drawn',
  'dream dreamt',
  'drink drank drunk',
  'drive drove driven',
  'eat ate eaten',
  'fall fell fallen',
  'feed fed',
  'feel felt',
  'fight fought',
  'find found',
  'fly flew flown',
  'forget forgot forgotten',
  'forgive forgave forgiven',
  'freeze froze frozen',
  'get got gotten',
  'give gave given',
  'go went gone',
  'grow grew grown',
  'hang hung',
  'hear heard',
  'hide hid hidden',
  'hold held',
  'keep kept',
  'know knew known',
  'lead led',
  'learn learnt',
  'leave left',
  'lend lent',
  'lose lost',
  'make made',
  'mean meant',
  'meet met',
  'pay paid',
  'ride rode ridden',
  'ring rang rung',
  'rise risen',
  'run ran',
  'say said',
  'see saw seen',
  'seek sought',
  'sell sold',
  'send sent',
  'shake shook shaken',
  'shine shone',
  'shoot shot',
  'show shown',
  'sing sang sung',
  'sink sank sunk',
  'sit sat',
  'sleep slept',
  'speak spoke spoken',
  'spend spent',
  'stand stood',
  'steal stole stolen',
  'stick stuck',
  'strike struck',
  'swear swore sworn',
  'swim swam swum',
  'take took taken',
  'teach taught',
  'tear tore torn',
  'tell told',
  'think thought',
  'throw threw thrown',
  'understand understood',
  'wake woke woken',
  'wear wore worn',
  'win won',
  'write wrote written',
  'child children kid kids',
  'mother mom moms mum mums mommy mummy',
  'father dad dads daddy',
  'foot feet',
  'goose geese',
  'knife knives',
  'man men',
  'mouse mice',
  'person people',
  'shelf shelves',
  'tooth teeth',
  'wife wives',
  'wolf wolves',
  'woman women',
] as const;

const BASE_OF_IRREGULAR: ReadonlyMap<string, string> = new Map(
  IRREGULAR_FORMS.flatMap((line) => {
    const [base = '', ...forms] = line.split(' ');
    return forms.map((form) => [form, base] as const);
  }),
);
