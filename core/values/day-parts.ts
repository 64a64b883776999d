import { fold } from './fold.ts';

/** A part of the day as a language says it, with the hours that it may mean. */
interface DayPart {
  /** Folded. */
  phrase: string;
  hours: ReadonlySet<number>;
  part: PartOfDay;
}

export type PartOfDay = 'morning' | 'noon' | 'afternoon' | 'evening' | 'night';

/** How else these are said; `Intl` has one phrase for each. */
const MORE: Readonly<Record<string, readonly (readonly [part: PartOfDay, phrases: string])[]>> = {
  en: [
    ['morning', 'morning,mornings,this morning'],
    ['afternoon', 'afternoon,afternoons'],
    ['evening', 'evening,evenings,tonight'],
    ['night', 'night,nights,overnight'],
  ],
  de: [
    ['morning', 'morgens,am morgen,in der früh,früh'],
    ['afternoon', 'nachmittag'],
    ['evening', 'abend,heute abend'],
    ['night', 'nacht,in der nacht'],
  ],
  fr: [
    ['morning', 'matin,matins,matinée'],
    ['evening', 'soir,soirs,soirée'],
    ['night', 'nuit,de la nuit'],
  ],
  es: [
    ['morning', 'por la mañana,por las mañanas,esta mañana,cada mañana,mañanas'],
    ['afternoon', 'tarde,tardes'],
    ['evening', 'noche,noches'],
  ],
  pt: [
    ['morning', 'manhã,manhãs'],
    ['afternoon', 'tarde,tardes'],
    ['evening', 'noite,noites'],
  ],
  it: [
    ['morning', 'mattina,mattino,del mattino'],
    ['evening', 'sera,serata,stasera'],
    ['night', 'notte'],
  ],
  nl: [
    ['morning', 's morgens,ochtend,ochtends,vanochtend'],
    ['afternoon', 'middag,middags'],
    ['evening', 'avond,avonds,vanavond'],
    ['night', 'nacht,nachts'],
  ],
  sv: [
    ['morning', 'morgon,morgonen,morse'],
    ['evening', 'kväll,kvällen,kvällar'],
  ],
  da: [
    ['morning', 'morgen,morgenen'],
    ['evening', 'aften,aftenen'],
  ],
  nb: [
    ['morning', 'morgen,morgenen'],
    ['evening', 'kveld,kvelden'],
  ],
  pl: [
    ['morning', 'ranek,z rana,rankiem'],
    ['evening', 'wieczór,wieczory,wieczorami'],
    ['night', 'noc,nocą'],
  ],
  ru: [
    ['morning', 'утро,утром,по утрам'],
    ['afternoon', 'днем'],
    ['evening', 'вечер,вечером,вечерам'],
    ['night', 'ночь,ночью'],
  ],
  ar: [
    ['morning', 'صباح,صباحا,الصباح'],
    ['evening', 'مساء,المساء'],
    ['night', 'ليلا,الليل'],
  ],
  ja: [
    ['morning', '午前,早朝,毎朝,今朝'],
    ['afternoon', '午後'],
    ['evening', '晩,今夜'],
  ],
  zh: [
    ['morning', '早上,早晨,凌晨'],
    ['evening', '晚'],
    ['night', '夜里,深夜,半夜'],
  ],
  ko: [['morning', '새벽']],
};

const HOURS: Readonly<Record<PartOfDay, readonly number[]>> = {
  morning: [4, 5, 6, 7, 8, 9, 10, 11],
  noon: [12],
  afternoon: [12, 13, 14, 15, 16, 17, 18],
  evening: [17, 18, 19, 20, 21, 22, 23],
  night: [21, 22, 23, 0, 1, 2, 3, 4],
};

const KNOWN = new Map<string, readonly DayPart[]>();

/** The parts of the day as a language says them, the longest first. */
function listDayParts(language: string): readonly DayPart[] {
  let parts = KNOWN.get(language);
  if (parts === undefined) KNOWN.set(language, (parts = makeParts(language)));
  return parts;
}

function makeParts(language: string): DayPart[] {
  const hoursOf = new Map<string, Set<number>>();
  const format = new Intl.DateTimeFormat(language, {
    hour: 'numeric',
    dayPeriod: 'long',
    hourCycle: 'h12',
    timeZone: 'UTC',
  });
  for (let hour = 0; hour < 24; hour += 1) {
    const phrase = format
      .formatToParts(Date.UTC(2026, 0, 8, hour))
      .find(({ type }) => type === 'dayPeriod')?.value;
    if (phrase === undefined || /^(?:am|pm)$/i.test(phrase)) continue;
    const key = fold(phrase).replace(/^['’]/u, '');
    hoursOf.set(key, (hoursOf.get(key) ?? new Set()).add(hour));
  }
  const parts = [...hoursOf].map(([phrase, hours]) => ({ phrase, hours, part: toPart(hours) }));
  for (const [part, phrases] of MORE[language] ?? []) {
    for (const phrase of phrases.split(',').map(fold)) {
      if (!hoursOf.has(phrase)) parts.push({ phrase, hours: new Set(HOURS[part]), part });
    }
  }
  return parts.sort((a, b) => b.phrase.length - a.phrase.length);
}

function toPart(hours: ReadonlySet<number>): PartOfDay {
  const has = (hour: number) => hours.has(hour);
  if (has(12) && hours.size === 1) return 'noon';
  if (has(15) || has(16)) return 'afternoon';
  if (has(19)) return 'evening';
  if (has(9) || has(7) || has(5)) return 'morning';
  return 'night';
}

/** A part of the day with its place in a folded text. */
export interface FoundDayPart extends DayPart {
  start: number;
  end: number;
}

/** The parts of the day in a text that is folded in its place, in the languages that it may be in. */
export function findDayParts(folded: string, languages: readonly string[]): FoundDayPart[] {
  const found: FoundDayPart[] = [];
  const isTaken = (start: number, end: number) =>
    found.some((one) => start < one.end && one.start < end);
  for (const part of languages.flatMap(listDayParts)) {
    for (
      let at = folded.indexOf(part.phrase);
      at !== -1;
      at = folded.indexOf(part.phrase, at + 1)
    ) {
      const end = at + part.phrase.length;
      const isWord =
        /^[\p{Script=Han}\p{Script=Hangul}]/u.test(part.phrase) ||
        (!/[\p{L}\p{M}]/u.test(folded.charAt(at - 1)) && !/[\p{L}\p{M}]/u.test(folded.charAt(end)));
      if (isWord && !isTaken(at, end)) found.push({ ...part, start: at, end });
    }
  }
  return found.sort((a, b) => a.start - b.start);
}
