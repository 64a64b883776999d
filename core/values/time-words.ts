import { groupBy } from '../lists/group-by.ts';
import { WordTable } from './word-table.ts';

/**
 * The words of time of one language. `|` divides words that mean the same, `*` stands for any ending,
 * and `s?` for an `s` that may be missing.
 */
export interface TimeWords {
  /** From the day before yesterday to the day after tomorrow. */
  days: string;
  /** Last, this, next. */
  turns: string;
  /** Ago, ahead; `N` is the number and `U` the unit. */
  spans: string;
  /** Day, week, month, year. */
  units: string;
  /** From Sunday on. */
  weekdays: string;
  /** Whether `last` stands behind the unit: `la semaine dernière`. */
  isAfter?: true;
}

const LANGUAGES: readonly TimeWords[] = [
  {
    days: 'the day before yesterday, yesterday|last night, today|tonight|this morning|this afternoon|this evening, tomorrow, the day after tomorrow',
    turns: 'last|past, this, next',
    spans: 'N U ago, in N U',
    units: 'days?, weeks?, months?, years?',
    weekdays: 'sunday monday tuesday wednesday thursday friday saturday',
  },
  {
    days: 'vorgestern, gestern, heute, morgen, ubermorgen',
    turns: 'letzt*|vergangen*|vorig*, dies*, nachst*|kommend*',
    spans: 'vor N U, in N U',
    units: 'tag*, woche*, monat*, jahr*',
    weekdays: 'sonntag montag dienstag mittwoch donnerstag freitag samstag',
  },
  {
    days: 'avant hier, hier, aujourd hui|ce soir|ce matin, demain, apres demain',
    turns: 'dernier|derniere|passe|passee, ce|cet|cette, prochain|prochaine',
    spans: 'il y a N U, dans N U',
    units: 'jours?, semaines?, mois, ans?|annees?',
    weekdays: 'dimanche lundi mardi mercredi jeudi vendredi samedi',
    isAfter: true,
  },
  {
    days: 'anteayer|antes de ayer, ayer|anoche, hoy|esta noche, manana, pasado manana',
    turns: 'pasado|pasada, este|esta, proximo|proxima|que viene',
    spans: 'hace N U, en N U|dentro de N U',
    units: 'dias?, semanas?, mes|meses, anos?',
    weekdays: 'domingo lunes martes miercoles jueves viernes sabado',
    isAfter: true,
  },
  {
    days: 'anteontem, ontem, hoje, amanha, depois de amanha',
    turns: 'passado|passada, este|esta, proximo|proxima|que vem',
    spans: 'ha N U|N U atras, em N U|daqui a N U',
    units: 'dias?, semanas?, mes|meses, anos?',
    weekdays: 'domingo segunda terca quarta quinta sexta sabado',
    isAfter: true,
  },
  {
    days: 'l altro ieri|avantieri, ieri, oggi|stasera, domani, dopodomani',
    turns: 'scorso|scorsa|passato|passata, questo|questa, prossimo|prossima',
    spans: 'N U fa, tra N U|fra N U',
    units: 'giorno|giorni, settimana|settimane, mese|mesi, anno|anni',
    weekdays: 'domenica lunedi martedi mercoledi giovedi venerdi sabato',
    isAfter: true,
  },
  {
    days: 'eergisteren, gisteren, vandaag|vanavond, morgen, overmorgen',
    turns: 'vorig|vorige|afgelopen, deze|dit, volgend|volgende',
    spans: 'N U geleden, over N U',
    units: 'dag|dagen, week|weken, maand|maanden, jaar|jaren',
    weekdays: 'zondag maandag dinsdag woensdag donderdag vrijdag zaterdag',
  },
  {
    days: ', igar|i gar, idag|i dag, imorgon|i morgon|i morgen, ',
    turns: 'forra|sista|sidste|forrige, denna|detta|denne, nasta|naeste|neste',
    spans: 'for N U sedan|for N U siden, om N U',
    units:
      'dag|dagar|dage|dager, vecka|veckor|uge|uger|uke|uker, manad|manader|maned|maneder, ar|aret',
    weekdays: 'sondag mandag tisdag onsdag torsdag fredag lordag',
  },
  {
    days: 'przedwczoraj, wczoraj|vcera, dzis|dzisiaj|dnes, jutro|zitra, pojutrze',
    turns: 'zeszl*|ostatni*|ubiegl*|minul*, tym|tego|tej|tento, przyszl*|nastepn*|pristi*',
    spans: 'N U temu|pred N U, za N U',
    units: 'dni|dzien|dnu|dny, tydzien|tygodni*|tyden|tydn*, miesi*|mesic*, rok*|lat|lety',
    weekdays: 'niedziela poniedzialek wtorek sroda czwartek piatek sobota',
  },
  {
    days: 'позавчера, вчера, сегодня, завтра, послезавтра',
    turns: 'прошл*, эт*, следующ*|будущ*',
    spans: 'N U назад, через N U',
    units: 'день|дня|дней, недел*, месяц*, год*|лет',
    weekdays: 'воскресенье понедельник вторник среда четверг пятница суббота',
  },
  {
    days: ', dun, bugun, yarin, ',
    turns: 'gecen, bu, gelecek|onumuzdeki',
    spans: 'N U once, N U sonra',
    units: 'gun, hafta, ay, yil|sene',
    weekdays: 'pazar pazartesi sali carsamba persembe cuma cumartesi',
  },
  {
    days: ', eilen, tanaan, huomenna, ',
    turns: 'viime, tana|talla, ensi',
    spans: 'N U sitten, N U paasta',
    units: 'paiva*, viik*, kuu*, vuo*',
    weekdays: 'sunnuntai maanantai tiistai keskiviikko torstai perjantai lauantai',
  },
  {
    days: ', tegnap, ma, holnap, ',
    turns: 'mult|elozo, ez|ezen, jovo|kovetkezo',
    spans: 'N U ezelott, N U mulva',
    units: 'nap|nappal, het*, honap*, ev*',
    weekdays: 'vasarnap hetfo kedd szerda csutortok pentek szombat',
  },
  {
    days: ', ieri, azi|astazi, maine, ',
    turns: 'trecut*, acest*, viito*',
    spans: 'acum N U, peste N U',
    units: 'zil|zile, saptaman*, lun*, an*',
    weekdays: 'duminica luni marti miercuri joi vineri sambata',
    isAfter: true,
  },
  {
    days: ', kemarin, hari ini, besok, ',
    turns: 'lalu, ini, depan',
    spans: 'N U lalu|N U yang lalu, dalam N U',
    units: 'hari, minggu, bulan, tahun',
    weekdays: 'minggu senin selasa rabu kamis jumat sabtu',
    isAfter: true,
  },
];

/** Spring, summer, autumn and winter in all languages. */
const SEASONS = [
  'spring|fruhling|fruhjahr|printemps|primavera|voorjaar|lente|var|varen|forar*|wiosn*|jara|jare|jaro|jaru|весн*|ilkbahar|kevaa*|tavas*',
  'summer|sommer*|ete|verano|estate|verao|zomer|sommaren|lato|lata|leto|lete|leta|лето|лета|летом|yaz|kesa*|nyar*|vara',
  'autumn|fall|herbst|automne|otono|autunno|outono|herfst|host|hosten|efterar*|jesien*|podzim*|осен*|sonbahar|syksy*|osz*|toamna',
  'winter|hiver|invierno|inverno|vinter|vintern|zima|zime|zimi|zimu|zimy|зим*|kis|talve*|tel|iarna',
];
const WEEKEND =
  'weekend|week end|wochenende|fin de semana|fim de semana|fine settimana|helgen|helg|vikend*|выходные|выходных|hafta sonu|viikonloppu*|hetvege*';

/** What words of time mean by themselves. */
export interface TimeMeaning {
  /** A `turn` is last, this or next. */
  is: 'day' | 'turn' | 'unit' | 'weekday' | 'season' | 'weekend';
  /** Days or turns off; a unit from the day on, a day of the week from Sunday on, a season from spring on. */
  value: number;
  /** `null` for all. */
  language: TimeWords | null;
}

/** By the words, of which there are at most five in a row. */
export const TIME_WORDS = new WordTable<TimeMeaning>();

function add(
  is: TimeMeaning['is'],
  words: readonly string[],
  { first = 0, language = null }: { first?: number; language?: TimeWords | null },
): void {
  words.forEach((same, at) => TIME_WORDS.add(same.split('|'), { is, value: at + first, language }));
}

for (const language of LANGUAGES) {
  add('day', language.days.split(', '), { first: -2, language });
  add('turn', language.turns.split(', '), { first: -1, language });
  add('unit', language.units.split(', '), { language });
  add('weekday', language.weekdays.replace(/\S+/g, '$&s?').split(' '), { language });
}
add('season', SEASONS, {});
add('weekend', [WEEKEND], {});

/** `N U ago` and the like, word by word, by the first of their parts; `sign` is -1 for the past. */
export const SPANS = groupBy(
  LANGUAGES.flatMap((language) =>
    language.spans
      .split(', ')
      .flatMap((forms, index) =>
        forms.split('|').map((form) => ({ language, parts: form.split(' '), sign: 2 * index - 1 })),
      ),
  ),
  ({ parts }) => parts[0] ?? '',
);
