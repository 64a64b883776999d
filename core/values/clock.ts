import { findDayParts, type FoundDayPart, type PartOfDay } from './day-parts.ts';
import { foldInPlace } from './fold.ts';
import { toOrdinalNumber } from './number-words.ts';

/** A time of day with its place in a text whose numbers are in digits. */
interface FoundTime {
  start: number;
  end: number;
  /** From 0 to 23 and to 59. */
  hour: number;
  minute: number;
  /** Whether it may as well be a mere number: `at 7`. */
  isWeak: boolean;
}

/**
 * How languages say minutes, folded: `H` is an hour and `M` are minutes, behind `=` stands what is added to the
 * hour, `; ` parts the ways. Numbers are in digits by then.
 */
const SAID: Readonly<Record<string, string>> = {
  en: "half past H=30; (?:a )?quarter (?:past|after) H=15; (?:a )?quarter (?:to|of) H=-15; M (?:minutes? )?past H=M; M (?:minutes? )?to H=-M; H o[’']clock=0",
  de: 'halb H=-30; viertel nach H=15; (?:dreiviertel|viertel vor) H=-15; M (?:minuten )?nach H=M; M (?:minuten )?vor H=-M; H uhr M=M; H uhr=0',
  nl: 'half H=-30; kwart over H=15; kwart voor H=-15; M (?:minuten )?over H=M; M (?:minuten )?voor H=-M; H uur=0',
  sv: 'halv H=-30; kvart over H=15; kvart i H=-15; (?:klockan|kl\\.?) H=0',
  da: 'halv H=-30; kvart over H=15; kvart i H=-15; (?:klokken|kl\\.?) H=0',
  nb: 'halv H=-30; kvart over H=15; kvart pa H=-15; (?:klokka|klokken|kl\\.?) H=0',
  fr: 'H(?: heures?| ?h)? et demie?=30; H(?: heures?)? et quart=15; H(?: heures?)? moins le quart=-15; H(?: heures?)? moins M=-M; H heures? M=M; H heures?=0',
  es: '(?:las? )?H y media=30; (?:las? )?H y cuarto=15; (?:las? )?H menos cuarto=-15; las? H y M=M; las? H menos M=-M; las? H(?: en punto| horas)?=0',
  pt: 'H(?: horas)? e meia=30; H(?: horas)? e (?:um )?quarto=15; (?:um )?quarto para as H=-15; H menos (?:um )?quarto=-15; as H e M=M; as H(?: horas)?=0; H horas=0',
  it: "(?:le |l[’'])?H e mezz[ao]=30; H e (?:un )?quarto=15; H meno (?:un )?quarto=-15; (?:al)?le H e M=M; H meno M=-M; (?:al|dal)?le H(?: ore)?=0",
  pl: 'wpol do H=-30; kwadrans po H=15; za kwadrans H=-15; (?:godz\\.?|godzin[aey]|godzinie|o) H=0',
  cs: 'pul H=-30; ctvrt na H=-45; (?:3|tri) ctvrte na H=-15; H hodin[yae]?=0',
  ru: 'половин[аеу] H=-30; четверть H=-45; без четверти H=-15; пол[- ]?H=-30; H час(?:а|ов)? M минут\\p{L}*=M; в H (?:час(?:а|ов)?)=0',
  uk: '(?:о )?пів на H=-30; чверть на H=-45; за чверть H=-15; о H=0',
  tr: 'H bucuk\\p{L}*=30; H ceyrek gece=15; H ceyrek kala=-15; saat H=0',
  fi: 'puoli H=-30; varttia yli H=15; varttia vaille H=-15; kello H=0',
  hu: 'fel H=-30; haromnegyed H=-15; negyed H=-45; H ora\\p{L}*=0',
  ro: 'H si jumatate=30; H si un sfert=15; H fara un sfert=-15; ora H=0',
  id: 'setengah H=-30; (?:jam|pukul) H=0',
  ar: 'H والنصف=30; H والربع=15; H والثلث=20; H [اإ]لا (?:ال)?ربعا?=-15; الساعة H=0',
  fa: 'ساعت H و نیم=30; ساعت H=0',
  he: 'H וחצי=30; H ורבע=15; רבע ל-?H=-15; (?:בשעה|שעה) H=0',
  ja: 'H時半=30; H時M分=M; H時=0',
  zh: 'H[点點时時]半=30; H[点點]1刻=15; H[点點]一刻=15; H[点點]3刻=45; 差[1一]刻H[点點]=-15; H[点點时時]M分?=M; H[点點时時](?!间)=0',
  ko: 'H ?시 ?반=30; H ?시 ?M분=M; H ?시(?!간)=0',
};

/** Hours that are words of their own. */
const NAMED: readonly (readonly [words: RegExp, hour: number])[] = [
  [
    /(?<!\p{L})(?:noon|midday|mittags?|midi|mediodia|meio-dia|mezzogiorno|poludnie|полдень|полудня)(?!\p{L})|正午|정오/gu,
    12,
  ],
  [
    /(?<!\p{L})(?:midnight|mitternacht|minuit|medianoche|meia-noite|mezzanotte|middernacht|midnatt|polnoc|полночь|полуночи)(?!\p{L})|자정/gu,
    0,
  ],
];

/** A number behind these may be an hour. */
const AT =
  /(?:^|[\s(,])(?:at|by|from|until|till|around|um|gegen|ab|bis|a|vers|des|as|alle|dalle|om|vanaf|kl\.?|klockan|o|od|do|v|в|к|с|до|saat)\s$/u;

const DIGITAL =
  /(?<![\p{Nd}.,:])(\d{1,2})(?:[:.]([0-5]\d)(?::[0-5]\d)?|h([0-5]\d))?\s?([ap])\.?\s?m\b\.?|(?<![\p{Nd}.,:])(\d{1,2}):([0-5]\d)(?::[0-5]\d)?(?![\p{Nd}:])(?: ?(?:uhr|uur|h|hrs)\b)?|(?<![\p{Nd}.,:])(\d{1,2}) ?h(?: ?([0-5]\d))?(?![\p{L}\p{Nd}])|(?<![\p{Nd}.,:])(\d{1,2})\.([0-5]\d) ?(?:uhr|uur)(?!\p{L})|(?:kl\.?|klockan|klokken|klokka|saat|um|ore) (\d{1,2})[.:]([0-5]\d)(?![\p{Nd}.])/giu;
/** Languages that write `17 h` for an hour of the day; in others it is a span. */
const HOUR_SIGNS: ReadonlySet<string> = new Set(['fr', 'pt', 'es', 'ro']);

const PATTERNS = new Map<string, readonly { pattern: RegExp; add: string }[]>();
const HOUR = '(\\d{1,2}(?:[:.h]00)?)';
const HOUR_OR_ORDINAL = '(\\d{1,2}(?:[:.h]00)?|\\p{L}{4,20})';

function patternsOf(language: string): readonly { pattern: RegExp; add: string }[] {
  let patterns = PATTERNS.get(language);
  if (patterns === undefined) {
    patterns = (SAID[language] ?? '').split('; ').flatMap((row) => {
      const at = row.lastIndexOf('=');
      if (at === -1) return [];
      const hour = ORDINAL_HOURS.has(language) ? HOUR_OR_ORDINAL : HOUR;
      const source = row
        .slice(0, at)
        .replace(/H/u, `${hour}(?:[’']\\p{L}{1,3})?`)
        .replace(/M/u, '(\\d{1,2})');
      const isFirst = row.includes('M') && row.indexOf('M') < row.indexOf('H');
      const isRun = /[\p{Script=Han}\p{Script=Hangul}]/u.test(source);
      const pattern = new RegExp(
        `(?<![${isRun ? '' : '\\p{L}'}\\p{Nd}.,:])${source}(?!\\p{Nd}|[.,:]\\d)${isRun ? '' : '(?!\\p{L})'}`,
        'gu',
      );
      return [{ pattern, add: `${isFirst ? '^' : ''}${row.slice(at + 1)}` }];
    });
    PATTERNS.set(language, patterns);
  }
  return patterns;
}

/** The times of day in a text whose numbers are in digits, and the parts of the day that belong to none. */
export function findTimes(
  text: string,
  languages: readonly string[],
): { times: FoundTime[]; parts: PartOfDay[] } {
  const folded = foldInPlace(text);
  const named = NAMED.reduce(
    (whole, [words, hour]) => whole.replace(words, (word) => String(hour).padStart(word.length)),
    folded,
  );
  const dayParts = findDayParts(folded, languages);
  // Of ordinals, too, `wpół do ósmej` has no digit.
  if (!/\d/.test(named) && !languages.some((one) => ORDINAL_HOURS.has(one))) {
    return { times: [], parts: dayParts.map(({ part }) => part) };
  }
  const times: FoundTime[] = [];
  const add = (one: FoundTime) => {
    const isTaken = times.some(({ start, end }) => one.start < end && start < one.end);
    if (!isTaken && one.hour >= 0 && one.hour <= 24) times.push(one);
  };
  for (const { pattern, add: minutes } of languages.flatMap(patternsOf)) {
    for (const match of named.matchAll(pattern)) {
      const found = toSaid(match, minutes, languages);
      if (found !== null)
        add({ start: match.index, end: match.index + match[0].length, ...found, isWeak: false });
    }
  }
  for (const match of named.matchAll(DIGITAL)) {
    const found = toDigital(match, languages);
    if (found !== null) add({ start: match.index, end: match.index + match[0].length, ...found });
  }
  for (const { index, 0: whole } of named.matchAll(
    /(?<![\p{Nd}.,:/-])\d{1,2}(?![\p{Nd}:/%-]|[.,]\d| \d{3})/gu,
  )) {
    const isNamed = folded.slice(index, index + whole.length) !== whole;
    if (!isNamed && !AT.test(named.slice(Math.max(0, index - 12), index))) continue;
    // `noon` is padded with spaces up to its length.
    const before = named.slice(0, index);
    add({
      start: isNamed ? before.trimEnd().length : index,
      end: index + whole.length,
      hour: Number(whole),
      minute: 0,
      isWeak: !isNamed,
    });
  }
  return withParts(times, { folded: named, parts: dayParts });
}

/** Languages that say the hour by its ordinal. */
const ORDINAL_HOURS: ReadonlySet<string> = new Set(['pl', 'cs', 'ru', 'uk', 'ar']);

type Clock = Pick<FoundTime, 'hour' | 'minute'>;

function toSaid(match: RegExpExecArray, add: string, languages: readonly string[]): Clock | null {
  const isFirst = add.startsWith('^');
  const [, one = '', two = ''] = match;
  const hourWord = isFirst ? two : one;
  const hour = /^\d/.test(hourWord)
    ? Number.parseInt(hourWord, 10)
    : toOrdinalNumber(hourWord.replace(/^ال/u, 'ال'), languages);
  if (hour === null || hour > 24) return null;
  const by = add.replace('^', '');
  const minutes = by.endsWith('M')
    ? Number(isFirst ? one : two) * (by.startsWith('-') ? -1 : 1)
    : Number(by);
  if (Math.abs(minutes) > 59) return null;
  const all = (hour * 60 + minutes + 1_440) % 1_440;
  return { hour: Math.floor(all / 60), minute: all % 60 };
}

function toDigital(
  match: RegExpExecArray,
  languages: readonly string[],
): (Clock & { isWeak: boolean }) | null {
  const [, h1, m1, m1h, half, h2, m2, h3, m3, h4, m4, h5, m5] = match;
  const hour = Number(h1 ?? h2 ?? h3 ?? h4 ?? h5);
  const minute = Number(m1 ?? m1h ?? m2 ?? m3 ?? m4 ?? m5 ?? 0);
  if (half !== undefined) {
    if (hour > 12) return null;
    return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute, isWeak: false };
  }
  if (h3 !== undefined && m3 === undefined && !languages.some((one) => HOUR_SIGNS.has(one)))
    return null;
  return hour > 24 ? null : { hour: hour % 24, minute, isWeak: false };
}

/** Puts `in the evening` to the time beside it; a number beside it is a time, too. */
function withParts(
  times: readonly FoundTime[],
  { folded, parts }: { folded: string; parts: readonly FoundDayPart[] },
): { times: FoundTime[]; parts: PartOfDay[] } {
  const all = [...times];
  const left: PartOfDay[] = [];
  for (const part of parts) {
    const beside = all.find(({ start, end }) => isBeside({ start, end }, part, folded));
    if (beside === undefined) {
      const number = [...folded.matchAll(/(?<![\p{Nd}.,:/])\d{1,2}(?![\p{Nd}:/%]|[.,]\d)/gu)]
        .map(({ 0: digits, index }) => ({
          hour: Number(digits),
          start: index,
          end: index + digits.length,
        }))
        .find((one) => one.hour <= 24 && isBeside(one, part, folded, true));
      if (number === undefined) left.push(part.part);
      else all.push({ ...toPartOf({ ...number, minute: 0, isWeak: false }, part) });
    } else {
      all[all.indexOf(beside)] = toPartOf(beside, part);
    }
  }
  return { times: all, parts: left };
}

function isBeside(
  time: { start: number; end: number },
  part: FoundDayPart,
  folded: string,
  isClose = false,
): boolean {
  const between =
    part.start >= time.end
      ? folded.slice(time.end, part.start)
      : part.end <= time.start
        ? folded.slice(part.end, time.start)
        : '';
  return isClose
    ? /^[\s,’']{0,3}(?:in the |a las? |om |um |at |o )?$/u.test(between) && between.length < 9
    : /^(?:[\s,’']|\p{L}{1,9}\s?){0,3}$/u.test(between) && between.length < 14;
}

function toPartOf(time: FoundTime, { hours, start, end }: FoundDayPart): FoundTime {
  const late = (time.hour % 12) + 12;
  const early = time.hour % 12;
  const hour =
    time.hour > 12
      ? time.hour
      : hours.has(time.hour) && time.hour !== 0
        ? time.hour
        : hours.has(late)
          ? late
          : hours.has(early)
            ? early
            : [...hours].every((one) => one >= 12)
              ? late
              : early;
  return {
    ...time,
    hour,
    isWeak: false,
    start: Math.min(time.start, start),
    end: Math.max(time.end, end),
  };
}
