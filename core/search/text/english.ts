import { stem } from './stem.ts';

/**
 * Whether an English word is too common to say what a note or a question is about.
 *
 * Takes a folded word without an apostrophe (`didnt`, not `didn't`). The list has the common
 * function words and the question words. It leaves out `may` and `will` (a month, a name, a
 * document) and `like`, `want` and `need`, because notes about preferences use them.
 */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/**
 * The index term of an English stop word. Only a question that has no other words looks for it. In
 * capitals such a word may also be a name (`IT`, `US`), which has a term of its own.
 *
 * No other term starts with `=`, so a stem (`ones` → `on`) never equals a stop term.
 *
 * @example toStopTerm('the') // '=the'
 */
export function toStopTerm(word: string): string {
  return STOP_MARK + word;
}

/** Whether {@link toStopTerm} made this term. */
export function isStopTerm(term: string): boolean {
  return term.startsWith(STOP_MARK);
}

/**
 * The number of a stop word's term, from 0. Numbers change only when the list of stop words
 * changes.
 */
export function stopNumberOf(term: string): number {
  const word = term.slice(STOP_MARK.length);
  const lower = word.toLowerCase();
  return 2 * (STOP_NUMBERS.get(lower) ?? 0) + (word === lower ? 0 : 1);
}

const STOP_MARK = '=';

/**
 * The form under which an English word is indexed: the base word of an irregular form, then its
 * stem.
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

/** Terms of recent words. Stemming takes most of the time of tokenising, and words repeat. */
const TERMS = new Map<string, string>();
/** 20,000 words take about 2 MB. */
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
 * Each line holds a base word, then its irregular forms, or the everyday words for a family member,
 * since notes and questions often use different ones. Forms that are more often another word are
 * left out: `rose`, `lay`, `ground`, `wound`, `leaves`, `lives`.
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
