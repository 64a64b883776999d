import { findMonths, listDates, toIsoDate } from './dates.ts';
import { NUMBER_WORDS } from './number-words.ts';
import { fold } from './words.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The words of time of one language; folded, as parts of an expression. Folded letters are those from
 * `a` to `z` and from `а` to `я`: expressions with classes of Unicode take long to compile.
 */
interface TimeWords {
  /** Words for a day, by how many days it is off. */
  days: Readonly<Record<number, string>>;
  last: string;
  this: string;
  next: string;
  /** `N` is the number and `U` the unit. */
  ago: string;
  in: string;
  units: readonly [day: string, week: string, month: string, year: string];
  /** From Sunday on. */
  weekdays: string;
  /** Whether `last` stands behind the unit: `la semaine dernière`. */
  isAfter?: true;
}

const LANGUAGES: readonly TimeWords[] = [
  {
    days: {
      [-2]: 'the day before yesterday',
      [-1]: 'yesterday|last night',
      0: 'today|tonight|this (?:morning|afternoon|evening)',
      1: 'tomorrow',
      2: 'the day after tomorrow',
    },
    last: 'last|past',
    this: 'this',
    next: 'next',
    ago: 'N U ago',
    in: 'in N U',
    units: ['days?', 'weeks?', 'months?', 'years?'],
    weekdays: 'sunday monday tuesday wednesday thursday friday saturday',
  },
  {
    days: { [-2]: 'vorgestern', [-1]: 'gestern', 0: 'heute', 1: 'morgen', 2: 'ubermorgen' },
    last: 'letzt\\w*|vergangen\\w*|vorig\\w*',
    this: 'dies\\w*',
    next: 'nachst\\w*|kommend\\w*',
    ago: 'vor N U',
    in: 'in N U',
    units: ['tag\\w*', 'woche\\w*', 'monat\\w*', 'jahr\\w*'],
    weekdays: 'sonntag montag dienstag mittwoch donnerstag freitag samstag',
  },
  {
    days: {
      [-2]: 'avant-hier',
      [-1]: 'hier',
      0: 'aujourd.hui|ce soir|ce matin',
      1: 'demain',
      2: 'apres-demain',
    },
    last: 'derniere?|passee?',
    this: 'cet(?:te)?|ce',
    next: 'prochaine?',
    ago: 'il y a N U',
    in: 'dans N U',
    units: ['jours?', 'semaines?', 'mois', 'ans?|annees?'],
    weekdays: 'dimanche lundi mardi mercredi jeudi vendredi samedi',
    isAfter: true,
  },
  {
    days: {
      [-2]: 'anteayer|antes de ayer',
      [-1]: 'ayer|anoche',
      0: 'hoy|esta noche',
      1: 'manana',
      2: 'pasado manana',
    },
    last: 'pasad[oa]',
    this: 'est[ea]',
    next: 'proxim[oa]|que viene',
    ago: 'hace N U',
    in: 'en N U|dentro de N U',
    units: ['dias?', 'semanas?', 'mes(?:es)?', 'anos?'],
    weekdays: 'domingo lunes martes miercoles jueves viernes sabado',
    isAfter: true,
  },
  {
    days: { [-2]: 'anteontem', [-1]: 'ontem', 0: 'hoje', 1: 'amanha', 2: 'depois de amanha' },
    last: 'passad[oa]',
    this: 'est[ea]',
    next: 'proxim[oa]|que vem',
    ago: 'ha N U|N U atras',
    in: 'em N U|daqui a N U',
    units: ['dias?', 'semanas?', 'mes(?:es)?', 'anos?'],
    weekdays: 'domingo segunda terca quarta quinta sexta sabado',
    isAfter: true,
  },
  {
    days: {
      [-2]: 'l.altro ieri|avantieri',
      [-1]: 'ieri',
      0: 'oggi|stasera',
      1: 'domani',
      2: 'dopodomani',
    },
    last: 'scors[oa]|passat[oa]',
    this: 'quest[oa]',
    next: 'prossim[oa]',
    ago: 'N U fa',
    in: 'tra N U|fra N U',
    units: ['giorn[oi]', 'settiman[ae]', 'mes[ei]', 'ann[oi]'],
    weekdays: 'domenica lunedi martedi mercoledi giovedi venerdi sabato',
    isAfter: true,
  },
  {
    days: {
      [-2]: 'eergisteren',
      [-1]: 'gisteren',
      0: 'vandaag|vanavond',
      1: 'morgen',
      2: 'overmorgen',
    },
    last: 'vorige?|afgelopen',
    this: 'deze|dit',
    next: 'volgende?',
    ago: 'N U geleden',
    in: 'over N U',
    units: ['dag(?:en)?', 'we(?:ek|ken)', 'maand(?:en)?', 'ja(?:ar|ren)'],
    weekdays: 'zondag maandag dinsdag woensdag donderdag vrijdag zaterdag',
  },
  {
    days: { [-1]: 'igar|i gar', 0: 'idag|i dag|i dag', 1: 'imorgon|i morgon|i morgen' },
    last: 'forra|sista|sidste|forrige',
    this: 'denna|detta|denne',
    next: 'nasta|naeste|neste',
    ago: 'for N U sedan|for N U siden',
    in: 'om N U',
    units: ['dag(?:ar|er|e)?', 'vecka|veckor|uger?|uker?', 'manad(?:er)?|maned(?:er)?', 'ar|aret'],
    weekdays: 'sondag mandag tisdag onsdag torsdag fredag lordag',
  },
  {
    days: {
      [-2]: 'przedwczoraj',
      [-1]: 'wczoraj|vcera',
      0: 'dzis|dzisiaj|dnes',
      1: 'jutro|zitra',
      2: 'pojutrze',
    },
    last: 'zeszl\\w*|ostatni\\w*|ubiegl\\w*|minul\\w*',
    this: 'tym|te[gj]o?|tento',
    next: 'przyszl\\w*|nastepn\\w*|pristi\\w*',
    ago: 'N U temu|pred N U',
    in: 'za N U',
    units: [
      'dni|dzien|dnu|dny',
      'tydzien|tygodni\\w*|tyden|tydn\\w*',
      'miesi\\w*|mesic\\w*',
      'rok\\w*|lat|lety',
    ],
    weekdays: 'niedziela poniedzialek wtorek sroda czwartek piatek sobota',
  },
  {
    days: { [-2]: 'позавчера', [-1]: 'вчера', 0: 'сегодня', 1: 'завтра', 2: 'послезавтра' },
    last: 'прошл[а-я]*',
    this: 'эт[а-я]*',
    next: 'следующ[а-я]*|будущ[а-я]*',
    ago: 'N U назад',
    in: 'через N U',
    units: ['д(?:ень|ня|неи|ней)', 'недел[а-я]*', 'месяц[а-я]*', 'год[а-я]*|лет'],
    weekdays: 'воскресенье понедельник вторник среда четверг пятница суббота',
  },
  {
    days: { [-1]: 'dun', 0: 'bugun', 1: 'yarin' },
    last: 'gecen',
    this: 'bu',
    next: 'gelecek|onumuzdeki',
    ago: 'N U once',
    in: 'N U sonra',
    units: ['gun', 'hafta', 'ay', 'y[iı]l|sene'],
    weekdays: 'pazar pazartesi sali carsamba persembe cuma cumartesi',
  },
  {
    days: { [-1]: 'eilen', 0: 'tanaan', 1: 'huomenna' },
    last: 'viime',
    this: 'tana|talla',
    next: 'ensi',
    ago: 'N U sitten',
    in: 'N U paasta',
    units: ['paiva\\w*', 'viik\\w*', 'kuu\\w*|kuukau\\w*', 'vuo\\w*'],
    weekdays: 'sunnuntai maanantai tiistai keskiviikko torstai perjantai lauantai',
  },
  {
    days: { [-1]: 'tegnap', 0: '\\bma\\b', 1: 'holnap' },
    last: 'mult|elozo',
    this: 'ez|ezen',
    next: 'jovo|kovetkezo',
    ago: 'N U(?:pel|vel|jal|tel)? ezelott',
    in: 'N U mulva',
    units: ['nap', 'het\\w*', 'honap\\w*', 'ev\\w*'],
    weekdays: 'vasarnap hetfo kedd szerda csutortok pentek szombat',
  },
  {
    days: { [-1]: 'ieri', 0: 'azi|astazi', 1: 'maine' },
    last: 'trecut\\w*',
    this: 'acest\\w*',
    next: 'viito\\w*',
    ago: 'acum N U',
    in: 'peste N U',
    units: ['zile?', 'saptaman\\w*', 'lun\\w*', 'an[iu]?\\w*'],
    weekdays: 'duminica luni marti miercuri joi vineri sambata',
    isAfter: true,
  },
  {
    days: { [-1]: 'kemarin', 0: 'hari ini', 1: 'besok' },
    last: 'lalu',
    this: 'ini',
    next: 'depan',
    ago: 'N U (?:yang )?lalu',
    in: 'dalam N U',
    units: ['hari', 'minggu', 'bulan', 'tahun'],
    weekdays: 'minggu senin selasa rabu kamis jumat sabtu',
    isAfter: true,
  },
];

/** Scripts without spaces: expression, unit, and how far off. */
const UNCASED: readonly (readonly [pattern: RegExp, unit: Unit, off: number])[] = [
  [/前天|一昨日|おととい|그저께/, 'day', -2],
  [/昨天|昨晚|昨日|어제|أمس|אתמול/, 'day', -1],
  [/今天|今晚|今日|오늘|اليوم|היום/, 'day', 0],
  [/明天|明日|내일|غدا|מחר/, 'day', 1],
  [/后天|後天|明後日|모레/, 'day', 2],
  [/上个?(?:星期|周|禮拜|礼拜)|上週|先週|지난\s?주/, 'week', -1],
  [/这(?:个?星期|周)|這週|今週|이번\s?주/, 'week', 0],
  [/下个?(?:星期|周|礼拜)|下週|来週|다음\s?주/, 'week', 1],
  [/上个?月|上個月|先月|지난\s?달/, 'month', -1],
  [/这个?月|這個月|本月|今月|이번\s?달/, 'month', 0],
  [/下个?月|下個月|来月|다음\s?달/, 'month', 1],
  [/去年|昨年|작년/, 'year', -1],
  [/今年|올해/, 'year', 0],
  [/明年|来年|내년/, 'year', 1],
];
const CJK_AGO =
  /([一二两兩三四五六七八九十]|\d{1,3})\s?(天|日|个?星期|周|週間|个?月|個月|か月|ヶ月|年)(前|以前|之前|后|後)/gu;

const WEEKEND =
  /(?<![a-zа-я])(?:[a-zа-я]{1,20} )?(?:week-?end|wochenende|fin de semana|fim de semana|fine settimana|helgen|helg|vikend[a-z]*|выходные|выходных|hafta sonu|viikonloppu[a-z]*|hetvege[a-z]*)(?![a-zа-я])|周末|週末|주말/gu;

type Unit = 'day' | 'week' | 'month' | 'year';
const UNITS: readonly Unit[] = ['day', 'week', 'month', 'year'];

/** What a fact says by words of time. */
export interface ResolvedTimes {
  /** Each phrase as it stands in the fact (folded), with the dates that it may mean. */
  phrases: { phrase: string; dates: string[] }[];
}

/**
 * Resolves words of time, such as `yesterday`, `letzten Freitag`, `il y a deux ans`, `上个月`, seen
 * from a day, in the languages that search knows. Dates are days, months and years; where a phrase
 * may mean one of several days, all of them.
 *
 * @param day as `2026-01-31`, where the fact was said.
 */
export function resolveTimes(fact: string, day: string): ResolvedTimes {
  const text = fold(fact);
  const now = Date.parse(`${day}T00:00:00Z`);
  const phrases: ResolvedTimes['phrases'] = [];
  const add = (phrase: string, dates: string[]) => {
    if (!phrases.some((known) => known.phrase.includes(phrase))) phrases.push({ phrase, dates });
  };
  for (const { any, readers } of COMPILED) {
    any.lastIndex = 0;
    for (let found = any.exec(text); found !== null; found = any.exec(text)) {
      const [phrase] = found;
      // Behind its first letter another one may begin: `Monday last week`.
      any.lastIndex = found.index + 1;
      if (phrases.some((known) => known.phrase === phrase)) continue;
      for (const { pattern, read } of readers) {
        const match = pattern.exec(phrase);
        const dates = match === null ? [] : read(match, now);
        if (dates.length > 0) add(phrase.trim(), dates);
      }
    }
  }
  for (const match of text.matchAll(WEEKEND)) {
    const days = Array.from({ length: 29 }, (_, index) => toDay(now, index - 14));
    add(
      match[0],
      days.filter((one) => [0, 6].includes(new Date(one).getUTCDay())),
    );
  }
  for (const [pattern, unit, off] of UNCASED) {
    const match = pattern.exec(text);
    if (match !== null) add(match[0], toDates(now, unit, off));
  }
  for (const [phrase, count = '', word = '', side = ''] of text.matchAll(CJK_AGO)) {
    const number = NUMBER_WORDS.get(count) ?? Number(count);
    const unit: Unit = /[天日]/.test(word)
      ? 'day'
      : /星期|周|週/.test(word)
        ? 'week'
        : /月/.test(word)
          ? 'month'
          : 'year';
    if (Number.isInteger(number))
      add(phrase, toDates(now, unit, /[后後]/.test(side) ? number : -number));
  }
  for (const [season, pattern] of IN_SEASONS.entries()) {
    for (const match of text.matchAll(pattern)) add(match[0], toSeason(match, season, day));
  }
  // A date without its year is the last one or the next one.
  for (const { year, month, day: of } of [...listDates(fact), ...findMonths(fact)]) {
    if (year === null) add(toIsoDate(0, month, of).slice(5), toNearest(now, month, of));
  }
  return { phrases };
}

/** Words for days of the week, from Sunday on, in a folded text. Some languages have endings. */
export function listWeekdays(folded: string): { text: string; weekday: number }[] {
  const named = (folded.match(/\p{L}+/gu) ?? []).flatMap((text) => {
    const weekday = WEEKDAYS.get(text) ?? WEEKDAYS.get(text.slice(0, -1)) ?? null;
    return weekday === null ? [] : [{ text, weekday }];
  });
  const uncased = [
    ...folded.matchAll(/(?:星期|周|週|礼拜|禮拜)([日天1-6])|([日月火水木金土])曜/gu),
  ];
  return [
    ...named,
    ...uncased.map(([text, chinese = '', japanese = '']) => ({
      text,
      weekday: japanese === '' ? Number(chinese) || 0 : '日月火水木金土'.indexOf(japanese),
    })),
  ];
}

/** Each name, and where it ends in a vowel also without it: Russian and Polish names have cases. */
const WEEKDAYS: ReadonlyMap<string, number> = new Map(
  LANGUAGES.flatMap(({ weekdays }) =>
    weekdays
      .split(' ')
      .flatMap((name, weekday) =>
        [name, name.replace(/[aeoаеоь]$/u, '')].map((form) => [form, weekday] as const),
      ),
  ),
);

function toNearest(now: number, month: number, day: number | null): string[] {
  const year = new Date(now).getUTCFullYear();
  const own = toIsoDate(year, month, day);
  return [own, toIsoDate(own <= toDay(now, 0) ? year + 1 : year - 1, month, day)];
}

/** The day that a moment is on in a time zone, as `2026-01-31`. */
export function toLocalDay(at: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(at);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

/** The English name of a day's weekday. */
export function toWeekday(day: string): string {
  const format = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' });
  return format.format(Date.parse(`${day}T00:00:00Z`));
}

interface Compiled {
  /** Finds the phrases of a language: one walk over a text, where one for each form takes a second. */
  any: RegExp;
  readers: { pattern: RegExp; read: (match: RegExpMatchArray, now: number) => string[] }[];
}

const COMPILED: readonly Compiled[] = LANGUAGES.map(compile);

function compile(words: TimeWords): Compiled {
  const forms: string[] = [];
  const readers: Compiled['readers'] = [];
  const add = (form: string, read: Compiled['readers'][number]['read']) => {
    forms.push(form);
    readers.push({ pattern: new RegExp(`^(?:${form})$`, 'u'), read });
  };
  for (const [off, form] of Object.entries(words.days)) {
    add(form, (_match, now) => [toDay(now, Number(off))]);
  }
  words.units.forEach((unit, index) => {
    const kind = UNITS[index] ?? 'day';
    for (const [form, sign] of [
      [words.ago, -1],
      [words.in, 1],
    ] as const) {
      const whole = form
        .replaceAll('N', '([a-zа-я]{1,10}|\\d{1,3})')
        .replaceAll('U', `(?:${unit})`);
      add(whole, (match, now) => {
        const said = match.slice(1).find((group) => group !== undefined) ?? '';
        const number = NUMBER_WORDS.get(said) ?? Number(said);
        return Number.isInteger(number) ? toDates(now, kind, sign * number) : [];
      });
    }
    if (kind === 'day') return;
    for (const [form, off] of [
      [words.last, -1],
      [words.this, 0],
      [words.next, 1],
    ] as const) {
      const behind = words.isAfter && off !== 0 ? `(?:${unit}) (?:${form})|` : '';
      add(`${behind}(?:${form}) (?:${unit})`, (_match, now) => toDates(now, kind, off));
    }
  });
  const last = new RegExp(`^(?:${words.last})$`, 'u');
  const next = new RegExp(`^(?:${words.next})$`, 'u');
  words.weekdays.split(' ').forEach((name, weekday) => {
    const form = `(?:(${words.last}|${words.this}|${words.next}) )?${name}s?(?: (${words.last}|${words.next}))?`;
    add(form, (match, now) => {
      const said = match[1] ?? match[2] ?? '';
      // `last Friday` may be the one before the last.
      const [from, to] = last.test(said) ? [-14, -1] : next.test(said) ? [1, 14] : [-7, 7];
      const offs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
      const days = offs.map((off) => toDay(now, off));
      return days.filter((day) => new Date(day).getUTCDay() === weekday);
    });
  });
  const any = new RegExp(`(?<![a-zа-я])(?:${forms.join('|')})(?![a-zа-я])`, 'gu');
  return { any, readers };
}

/** Spring, summer, autumn and winter; folded. */
const SEASONS = [
  'spring|fruhling|fruhjahr|printemps|primavera|voorjaar|lente|var|varen|forar\\w*|wiosn\\w*|jar[aeou]|весн[а-я]*|ilkbahar|kevaa\\w*|tavas\\w*',
  'summer|sommer\\w*|ete|verano|estate|verao|zomer|sommaren|lat[oa]|let[eao]|лет[оа]|летом|yaz|kesa\\w*|nyar\\w*|vara',
  'autumn|fall|herbst|automne|otono|autunno|outono|herfst|host|hosten|efterar\\w*|jesien\\w*|podzim\\w*|осен[а-я]*|sonbahar|syksy\\w*|osz\\w*|toamna',
  'winter|hiver|invierno|inverno|vintern?|zim[ayieu]|зим[а-я]*|kis|talve\\w*|tel|iarna',
];
const LAST = LANGUAGES.map(({ last }) => last).join('|');
const THIS = LANGUAGES.map((words) => words.this).join('|');
const CJK_SEASONS = ['春|봄', '夏|여름', '秋|가을', '冬|겨울'];
/** `last spring`, `l’été dernier`, `spring 2023`, `去年夏天`: a season alone is no time. */
const IN_SEASONS = SEASONS.map((names, season) => {
  const bound = '(?![a-zа-я])';
  return new RegExp(
    `(?<![a-zа-я])(?:(?:(?<last>${LAST})|(?:${THIS})) (?:${names})${bound}|` +
      `(?:${names}) (?:(?<after>${LAST})${bound}|(?:of |de |del |do )?(?<year>\\d{4})(?!\\p{Nd})))|` +
      `(?:(?<lastYear>去年|昨年|작년|지난)|今年|この|올해|이번)[のに的\\s]?(?:${CJK_SEASONS[season]})`,
    'gu',
  );
});

/** The months of a season, as on the northern half. The last one is over. */
function toSeason({ groups }: RegExpMatchArray, season: number, day: string): string[] {
  const monthsOf = (first: number) =>
    [3, 4, 5].map((month) => {
      const number = month + 3 * season;
      return number > 12 ? toIsoDate(first + 1, number - 12, null) : toIsoDate(first, number, null);
    });
  const thisYear = Number(day.slice(0, 4));
  if (groups?.['year'] !== undefined) return monthsOf(Number(groups['year']));
  const isLast = (groups?.['last'] ?? groups?.['after'] ?? groups?.['lastYear']) !== undefined;
  let year = thisYear;
  while (isLast && !monthsOf(year).every((month) => month < day.slice(0, 7))) year -= 1;
  return monthsOf(year);
}

/** A day; each day of a week; a month; a year with its months near that time. */
function toDates(now: number, unit: Unit, off: number): string[] {
  const date = new Date(now);
  switch (unit) {
    case 'day':
      return [toDay(now, off)];
    case 'week': {
      // Weeks begin on one day or another.
      const middle = off * 7;
      return Array.from({ length: 13 }, (_, index) => toDay(now, middle - 6 + index)).filter(
        (day) => Math.sign(off) >= 0 || day < toDay(now, 0),
      );
    }
    case 'month': {
      const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + off, 1));
      return [toIsoDate(first.getUTCFullYear(), first.getUTCMonth() + 1, null)];
    }
    case 'year': {
      const year = date.getUTCFullYear() + off;
      const months = Math.abs(off) === 1 ? [] : [toIsoDate(year, date.getUTCMonth() + 1, null)];
      return [String(year), ...months];
    }
  }
}

function toDay(now: number, off: number): string {
  return new Date(now + off * DAY_MS).toISOString().slice(0, 10);
}
