import { fold } from './fold.ts';

/** What a number counts: its key is the same in all languages. */
export interface Unit {
  kind: 'amount' | 'unit';
  /** More than one where a word may mean several: `dollars`, `kronor`, `pounds`. */
  keys: readonly string[];
}

/** The units that `Intl` knows by name. */
const NAMED = (
  'percent kilogram gram pound ounce stone kilometer meter centimeter millimeter mile foot inch yard acre hectare ' +
  'liter milliliter gallon byte kilobyte megabyte gigabyte terabyte second minute hour day week month year celsius fahrenheit degree'
).split(' ');

const CURRENCIES =
  'EUR USD GBP JPY CNY KRW CHF PLN SEK NOK DKK CZK HUF RON TRY RUB UAH INR BRL MXN CAD AUD ILS AED SAR EGP IRR IDR THB'.split(
    ' ',
  );

/** Signs and short forms that are the same in many languages. */
const SIGNS: Readonly<Record<string, string>> = {
  '%': 'percent',
  '％': 'percent',
  '٪': 'percent',
  '°c': 'celsius',
  '℃': 'celsius',
  '°f': 'fahrenheit',

  kg: 'kilogram',
  g: 'gram',
  mg: 'mg',
  µg: 'µg',
  mcg: 'µg',
  lb: 'pound',
  lbs: 'pound',
  oz: 'ounce',
  km: 'kilometer',
  m: 'meter',
  cm: 'centimeter',
  mm: 'millimeter',
  mi: 'mile',
  ft: 'foot',

  l: 'liter',
  cl: 'cl',
  dl: 'dl',
  ml: 'milliliter',
  kb: 'kilobyte',
  mb: 'megabyte',
  gb: 'gigabyte',

  tb: 'terabyte',
  kib: 'kib',
  mib: 'mib',
  gib: 'gib',
  tib: 'tib',
  go: 'gigabyte',
  mo: 'megabyte',

  h: 'hour',
  hr: 'hour',
  hrs: 'hour',
  min: 'minute',
  s: 'second',
  kwh: 'kwh',
  kw: 'kw',
  w: 'w',
  v: 'v',

  kcal: 'kcal',
  mmhg: 'mmhg',
  mph: 'mph',
  'km/h': 'km/h',
  mbps: 'mbps',
  gbps: 'gbps',
  hz: 'hz',
  ghz: 'ghz',

  мг: 'mg',
  мкг: 'µg',
  кг: 'kilogram',
  км: 'kilometer',
  м: 'meter',
  см: 'centimeter',
  мл: 'milliliter',

  ملغ: 'mg',
  كغ: 'kilogram',
  كم: 'kilometer',
  кбайт: 'kilobyte',
  гб: 'gigabyte',
  мб: 'megabyte',

  ミリグラム: 'mg',
  毫克: 'mg',
  밀리그램: 'mg',
  キロ: 'kilometer',
  公里: 'kilometer',
  킬로미터: 'kilometer',

  milligram: 'mg',
  milligrams: 'mg',
  milligramm: 'mg',
  milligrammes: 'mg',
  miligramos: 'mg',
  milligrammi: 'mg',
};

const MONEY: Readonly<Record<string, string>> = {
  $: 'USD',
  us$: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY CNY',
  '￥': 'JPY CNY',
  '₩': 'KRW',
  '₽': 'RUB',

  '₺': 'TRY',
  '₹': 'INR',
  '₴': 'UAH',
  '₪': 'ILS',
  zł: 'PLN',
  zl: 'PLN',
  kr: 'SEK NOK DKK',
  kč: 'CZK',
  kc: 'CZK',

  ft: 'HUF',
  fr: 'CHF',
  r$: 'BRL',
  元: 'CNY',
  块: 'CNY',
  塊: 'CNY',
  円: 'JPY',
  원: 'KRW',
  欧元: 'EUR',
  歐元: 'EUR',

  美元: 'USD',
  ユーロ: 'EUR',
  ドル: 'USD',
  달러: 'USD',
  유로: 'EUR',
  руб: 'RUB',
  rmb: 'CNY',
  tl: 'TRY',
  lei: 'RON',
  dollar: 'USD',
  dollars: 'USD',
  bucks: 'USD',
  quid: 'GBP',
  پوند: 'GBP',
  درصد: 'percent',
};

/** Words for parts of a hundred that `Intl` does not give. */
const PERCENT =
  'percent procent prozent pourcent percento porcento procento بالمئة بالمائة パーセント 퍼센트 프로 %';

const TABLES = new Map<string, ReadonlyMap<string, Unit>>();

/** The words of one language behind or in front of a number; folded. */
function unitsOf(language: string): ReadonlyMap<string, Unit> {
  let table = TABLES.get(language);
  if (table === undefined) TABLES.set(language, (table = makeTable(language)));
  return table;
}

function makeTable(language: string): Map<string, Unit> {
  const table = new Map<string, Unit>();
  const add = (word: string, kind: Unit['kind'], keys: readonly string[]) => {
    const key = toKey(word);
    if (key === '' || /\d/.test(key)) return;
    const known = table.get(key);
    if (known === undefined || known.kind === kind) {
      table.set(key, { kind, keys: [...new Set([...(known?.keys ?? []), ...keys])] });
    }
  };
  for (const [sign, codes] of Object.entries(MONEY)) {
    add(sign, 'amount', codes.split(' '));
  }
  for (const word of PERCENT.split(' ')) add(word, 'amount', ['percent']);
  for (const currency of CURRENCIES) {
    add(currency, 'amount', [currency]);
    const names = namesOf(language, { style: 'currency', currency, currencyDisplay: 'name' });
    for (const name of names) {
      const words = name.split(/[\s-]/u).filter((word) => word.length > 2);
      // The noun is the first word of "dollar américain", and the last one of "US dollar".
      const nouns = NOUN_FIRST.has(language) ? [words[0], words.at(-1)] : [words.at(-1)];
      for (const word of [name, ...nouns]) add(word ?? '', 'amount', [currency]);
    }
  }
  for (const unit of NAMED) {
    for (const unitDisplay of ['long'] as const) {
      const isPercent = unit === 'percent';
      for (const name of namesOf(language, { style: 'unit', unit, unitDisplay })) {
        if (toKey(name).length > 1 || isPercent) add(name, isPercent ? 'amount' : 'unit', [unit]);
      }
    }
  }
  for (const [sign, unit] of Object.entries(SIGNS)) {
    if (!table.has(toKey(sign))) add(sign, unit === 'percent' ? 'amount' : 'unit', [unit]);
  }
  return table;
}

const COUNTS = [1, 2, 5, 21, 1.5];
const NOUN_FIRST: ReadonlySet<string> = new Set(
  'fr es it pt ro pl ar fa he ru uk id vi'.split(' '),
);

/** The names of a unit or currency behind one, two, and more. */
function namesOf(language: string, options: Intl.NumberFormatOptions): Set<string> {
  const format = new Intl.NumberFormat(language, options);
  return new Set(
    COUNTS.map((count) =>
      format
        .formatToParts(count)
        .filter(({ type }) => type === 'unit' || type === 'currency' || type === 'percentSign')
        .map(({ value }) => value)
        .join(' ')
        .trim(),
    ),
  );
}

function toKey(word: string): string {
  return fold(word).replace(/\.$/u, '').replaceAll('\u00a0', ' ').trim();
}

/** Marks and words of several letters that stand for units in scripts without spaces: the longest is tried first. */
const MOST_SIGNS = 8;

/** The unit that a text begins with, of one or two words, and its length; `null` for other texts. */
export function readUnit(
  text: string,
  languages: readonly string[],
): { unit: Unit; length: number } | null {
  const [, space = '', first = '', second = ''] =
    /^([ \u00a0\u202f-]?)((?:us|r)\$|\p{Sc}|[%％٪]|°[cf]|℃|km\/h|[\p{L}µ][\p{L}\p{M}]*\.?)( ?[\p{L}\p{M}]+)?/iu.exec(
      text,
    ) ?? [];
  if (first === '') return null;
  const isRun = /^[\p{Script=Han}\p{Script=Katakana}\p{Script=Hangul}ー]/u.test(first);
  const candidates = isRun
    ? Array.from({ length: Math.min(MOST_SIGNS, first.length) }, (_, at) =>
        first.slice(0, first.length - at),
      ).filter((one) => one.length <= MOST_SIGNS)
    : [`${first}${second}`, first];
  for (const language of languages) {
    for (const word of candidates) {
      const unit = unitsOf(language).get(toKey(word));
      if (unit !== undefined) return { unit, length: space.length + word.length };
    }
  }
  return null;
}

/** The currency or per cent that a text ends with, as in `$`, `EUR ` and `yüzde `. */
export function readUnitBefore(
  text: string,
  languages: readonly string[],
): { unit: Unit; length: number } | null {
  const [whole = '', sign = ''] =
    /((?:us|r)\$|\p{Sc}|(?<!\p{L})(?:[A-Z]{3}|y[uü]zde))[ \u00a0]?$/iu.exec(text) ?? [];
  if (sign === '') return null;
  if (/^y[uü]zde$/iu.test(sign)) {
    return { unit: { kind: 'amount', keys: ['percent'] }, length: whole.length };
  }
  const unit = unitsOf(languages[0] ?? 'en').get(toKey(sign));
  return unit?.kind === 'amount' ? { unit, length: whole.length } : null;
}
