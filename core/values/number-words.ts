import { takeStart } from '../encoding/take-text.ts';
import * as ar from 'n2words/ar-SA';
import * as cs from 'n2words/cs-CZ';
import * as da from 'n2words/da-DK';
import * as de from 'n2words/de-DE';
import * as el from 'n2words/el-GR';
import * as enGB from 'n2words/en-GB';
import * as enUS from 'n2words/en-US';
import * as es from 'n2words/es-ES';
import * as fa from 'n2words/fa-IR';
import * as fi from 'n2words/fi-FI';
import * as frBE from 'n2words/fr-BE';
import * as fr from 'n2words/fr-FR';
import * as he from 'n2words/he-IL';
import * as hi from 'n2words/hi-IN';
import * as hu from 'n2words/hu-HU';
import * as id from 'n2words/id-ID';
import * as it from 'n2words/it-IT';
import * as nb from 'n2words/nb-NO';
import * as nl from 'n2words/nl-NL';
import * as pl from 'n2words/pl-PL';
import * as pt from 'n2words/pt-PT';
import * as ro from 'n2words/ro-RO';
import * as ru from 'n2words/ru-RU';
import * as sv from 'n2words/sv-SE';
import * as tr from 'n2words/tr-TR';
import * as uk from 'n2words/uk-UA';

/** What spells numbers of a language: `n2words`. */
interface Speller {
  toCardinal(value: number, options?: { gender: 'masculine' | 'feminine' }): string;
  toOrdinal(value: number, options?: { gender: 'masculine' | 'feminine' }): string;
}

const SPELLERS: Readonly<Record<string, readonly unknown[]>> = {
  ar: [ar],
  cs: [cs],
  da: [da],
  de: [de],
  el: [el],
  en: [enUS, enGB],
  es: [es],
  fa: [fa],
  fi: [fi],
  fr: [fr, frBE],
  he: [he],
  hi: [hi],
  hu: [hu],
  id: [id],
  it: [it],
  nb: [nb],
  nl: [nl],
  pl: [pl],
  pt: [pt],
  ro: [ro],
  ru: [ru],
  sv: [sv],
  tr: [tr],
  uk: [uk],
};

/** Forms that the speller does not give: cases, mostly, and words for a pair. */
const FORMS: Readonly<Record<string, string>> = {
  pl: '2 dwie dwoch dwaj dwom dwoma|3 trzech trzej trzem|4 czterech czterej czterem|5 pieciu|6 szesciu|7 siedmiu|8 osmiu|9 dziewieciu|10 dziesieciu|11 jedenastu|12 dwunastu|20 dwudziestu|30 trzydziestu|40 czterdziestu|50 piecdziesieciu|100 stu',
  cs: '2 dve dvou dvema|3 tri tremi|4 ctyr ctyri|5 peti|6 sesti|7 sedmi|8 osmi|9 deviti|10 deseti|12 dvanacti|20 dvaceti',
  ru: '2 двух двум двумя|3 трех трем тремя|4 четырех четырем|5 пяти пятью|6 шести шестью|7 семи семью|8 восьми восемью|9 девяти девятью|10 десяти десятью|11 одиннадцати|12 двенадцати|15 пятнадцати|20 двадцати|30 тридцати|40 сорока|50 пятидесяти|100 ста',
  uk: '2 двох двом|3 трьох трьом|4 чотирьох|5 пяти|6 шести|7 семи|8 восьми|9 девяти|10 десяти|12 дванадцяти|20 двадцяти',
  de: '2 zwo|3 dreie',
  pt: '16 dezesseis|17 dezessete|19 dezenove|14 quatorze',
  fi: '2 kahden kahdella kahteen|3 kolmen kolmella|4 neljan neljalla|5 viiden viidella|6 kuuden|7 seitseman|8 kahdeksan|9 yhdeksan|10 kymmenen',
  ar: '2 اثنين اثنتين اثنتان|3 ثلاث|8 ثمان ثماني|11 احد عشر|12 اثنا عشر اثني عشر',
  hu: '2 ket',
  es: '16 dieciseis|100 ciento',
};

/** Endings that a number may have in languages that write them behind it: `yedide`, `hétkor`. */
const ENDINGS: Readonly<Record<string, RegExp>> = {
  tr: /(?:[dt][ea]n?|s[iu]|[yn]?[iu]n?|[yn]?[ea])$/u,
  hu: /(?:kor|ra|re|ot|et|t|n)$/u,
  fi: /(?:lta|lla|lle|ta|n)$/u,
};

/** The words for numbers of one language, written without what stands between them. */
interface NumberWords {
  /** From 1 to 999. */
  small: ReadonlyMap<string, number>;
  /** From 1 to 31, for days and hours. */
  ordinals: ReadonlyMap<string, number>;
  /** A million first; the longest form of each first. */
  scales: readonly (readonly [value: number, forms: readonly string[]])[];
  /** The beginnings of all of these. */
  starts: ReadonlySet<string>;
  ending: RegExp | null;
  parsed: Map<string, number | null>;
}

/** Numbers of one language that were looked up are kept, at most. */
const KEPT = 5_000;
const START = 2;
/** Words of one number, at most. */
const MOST_WORDS = 9;
const WORD = /[\p{L}\p{M}]+/gu;

/** A number in words, with its place in a text. */
interface FoundNumber {
  start: number;
  end: number;
  value: number;
}

/**
 * The numbers of a text that are written in words of these languages, the longest at each place: `mille deux
 * cent cinquante` is 1250. A word for one is none by itself, as it is an article too.
 */
export function findNumberWords(
  text: string,
  languages: readonly string[],
  { hasOnes = false }: { hasOnes?: boolean } = {},
): FoundNumber[] {
  const tables = languages.flatMap((language) => TABLES.get(language) ?? []);
  if (tables.length === 0) return [];
  const words = [...text.matchAll(WORD)].map(({ 0: word, index }) => ({
    key: toKey(word),
    start: index,
    end: index + word.length,
  }));
  const found: FoundNumber[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const first = words[at];
    if (first === undefined) break;
    const starting = tables.filter(({ starts }) => starts.has(takeStart(first.key, START)));
    if (starting.length === 0) continue;
    let joined = '';
    let best: { to: number; value: number } | null = null;
    for (let to = at; to < Math.min(words.length, at + MOST_WORDS); to += 1) {
      const word = words[to];
      const between = to === at ? '' : text.slice(words[to - 1]?.end, word?.start);
      if (word === undefined || !/^[ \u00a0-]?$/u.test(between)) break;
      joined += word.key;
      for (const table of starting) {
        const value = toNumber(joined, table);
        if (value !== null) best = { to, value };
      }
    }
    if (best === null || (best.value === 1 && !hasOnes)) continue;
    found.push({ start: first.start, end: words[best.to]?.end ?? first.end, value: best.value });
    at = best.to;
  }
  return found;
}

/**
 * The languages in which a word may be a number, by how it begins. The tables of all languages take a second
 * to make; this takes a fiftieth of it.
 */
export function mayCountIn(word: string): readonly string[] {
  const key = toKey(word);
  return BEGINNINGS.flatMap((length) => beginnings().get(key.slice(0, length)) ?? []);
}

/** Letters that a beginning has: all of a short word, else those. */
const BEGINNINGS = [3, 4] as const;
/** What the numbers of every language are made of. */
const BASIC = [
  ...Array.from({ length: 20 }, (_, at) => at + 1),
  ...[30, 40, 50, 60, 70, 80, 90, 100, 1_000, 1_000_000],
];

let begun: ReadonlyMap<string, readonly string[]> | null = null;

function beginnings(): ReadonlyMap<string, readonly string[]> {
  if (begun !== null) return begun;
  const languages = new Map<string, string[]>();
  for (const [language, spellers] of Object.entries(SPELLERS)) {
    const words = (spellers as readonly Speller[]).flatMap((speller) =>
      BASIC.flatMap((value) => GENDERS.map((gender) => speller.toCardinal(value, gender))),
    );
    for (const start of new Set(words.map((word) => toKey(word).slice(0, 4)))) {
      languages.set(start, [...(languages.get(start) ?? []), language]);
    }
  }
  return (begun = languages);
}

/** The value of an ordinal from 1 to 31, in any gender and case; `null` for other words. */
export function toOrdinalNumber(word: string, languages: readonly string[]): number | null {
  const key = toKey(word);
  for (const language of languages) {
    const value = TABLES.get(language)?.ordinals.get(key);
    if (value !== undefined) return value;
  }
  return null;
}

/** The factor of a word behind digits, as in `25 thousand`; `null` for other words. */
export function toScale(word: string, languages: readonly string[]): number | null {
  const key = toKey(word);
  for (const language of languages) {
    const scale = TABLES.get(language)?.scales.find(([, forms]) => forms.includes(key));
    if (scale !== undefined) return scale[0];
  }
  return null;
}

function toNumber(joined: string, table: NumberWords): number | null {
  const known = table.parsed.get(joined);
  if (known !== undefined) return known;
  const value = parseJoined(joined, table);
  if (table.parsed.size > KEPT) table.parsed.clear();
  table.parsed.set(joined, value);
  return value;
}

function parseJoined(joined: string, table: NumberWords): number | null {
  const { small, scales, ending } = table;
  const own = small.get(joined) ?? (ending && small.get(joined.replace(ending, ''))) ?? null;
  if (own !== null) return own;
  for (const [scale, forms] of scales) {
    for (const form of forms) {
      const at = joined.indexOf(form);
      if (at === -1) continue;
      const [before, behind] = [joined.slice(0, at), joined.slice(at + form.length)];
      const factor = before === '' ? 1 : (small.get(before) ?? null);
      const rest = behind === '' ? 0 : parseJoined(behind.replace(AND, ''), table);
      if (factor !== null && rest !== null && rest < scale) return factor * scale + rest;
    }
  }
  return null;
}

/** Between the thousands and what follows: `mil e duzentos`. */
const AND = /^(?:und|and|och|og|en|et|e|y|i|si|و)(?=.{2})/u;

/** The tables, each made when its language is first met. */
const TABLES = {
  made: new Map<string, NumberWords | null>(),
  get(language: string): NumberWords | null {
    let table = this.made.get(language);
    if (table === undefined) {
      const spellers = SPELLERS[language] as readonly Speller[] | undefined;
      table = spellers === undefined ? null : makeTable(language, spellers);
      this.made.set(language, table);
    }
    return table;
  },
};

const GENDERS = [{ gender: 'masculine' }, { gender: 'feminine' }] as const;

function makeTable(language: string, spellers: readonly Speller[]): NumberWords {
  const small = new Map<string, number>();
  const add = (word: string, value: number) => {
    const forms = [word, toOtherCase(language, word), word.replace(/ (?:och|og|and) /u, ' ')];
    for (const form of new Set(forms)) {
      const key = toKey(form);
      if (key !== '' && !small.has(key)) small.set(key, value);
    }
  };
  const spell = (value: number) =>
    spellers.flatMap((speller) => GENDERS.map((gender) => speller.toCardinal(value, gender)));
  for (let value = 1; value < 1_000; value += 1) {
    for (const word of new Set(spell(value))) add(word, value);
  }
  for (const row of (FORMS[language] ?? '').split('|').filter((one) => one !== '')) {
    const [value, ...words] = row.split(' ');
    words.forEach((word) => add(word, Number(value)));
  }
  // `hundred`, beside `one hundred`; `zwölfhundert`.
  const hundreds = toScaleForms(100, [1, 2, 3, 5], spell);
  for (const form of hundreds) {
    add(form, 100);
    for (let value = 11; value < 20; value += 1) {
      spell(value).forEach((word) => add(`${word}${form}`, value * 100));
    }
  }
  const ordinals = new Map<string, number>();
  for (let value = 1; value <= 31; value += 1) {
    const words = spellers.flatMap((speller) =>
      GENDERS.map((one) => speller.toOrdinal(value, one)),
    );
    for (const word of words.flatMap((one) => toCases(language, one)))
      ordinals.set(toKey(word), value);
  }
  const scales = [1_000_000, 1_000].map(
    (scale) => [scale, toScaleForms(scale, [1, 2, 3, 5, 25], spell)] as const,
  );
  const keys = [...small.keys(), ...scales.flatMap(([, forms]) => forms)];
  return {
    small,
    ordinals,
    scales,
    starts: new Set(keys.map((key) => takeStart(key, START))),
    ending: ENDINGS[language] ?? null,
    parsed: new Map(),
  };
}

/** The words for a hundred, a thousand or a million behind a number, the longest first. */
function toScaleForms(
  scale: number,
  factors: readonly number[],
  spell: (value: number) => string[],
): string[] {
  const forms = factors.flatMap((factor) => {
    const heads = spell(factor).map(toKey);
    return spell(factor * scale).map((word) => {
      const key = toKey(word);
      const head = heads.find((one) => key.startsWith(one) && key.length > one.length + 1);
      return key.slice(head?.length ?? 0);
    });
  });
  return [...new Set(forms)].filter((form) => form.length > 1).sort((a, b) => b.length - a.length);
}

/** Arabic numbers have another ending behind some words. */
function toOtherCase(language: string, word: string): string {
  return language === 'ar' ? word.replaceAll('ون', 'ين') : word;
}

/** An ordinal in the genders and cases that hours and days have. */
function toCases(language: string, word: string): string[] {
  const forms: Readonly<Record<string, readonly string[]>> = {
    ru: [word.replace(/[оыи]й$/u, 'ого'), word.replace(/тий$/u, 'тьего')],
    uk: [
      word.replace(/[иі]й$/u, 'ого'),
      word.replace(/[иі]й$/u, 'ої'),
      word.replace(/[иі]й$/u, 'а'),
    ],
    pl: [word.replace(/[yi]$/u, 'ej'), word.replace(/[yi]$/u, 'a'), word.replace(/[yi]$/u, 'ego')],
    cs: [word.replace(/ý$/u, 'é'), word.replace(/ý$/u, 'ého')],
    de: [`${word}n`, `${word}r`],
    it: [word.replace(/o$/u, 'a')],
    pt: [word.replace(/o$/u, 'a')],
  };
  return [word, ...(forms[language] ?? [])];
}

/** Letters alone, in lower case, without accents and vowel marks. */
function toKey(word: string): string {
  // The most frequent case, in a tenth of the time.
  if (/^[a-z -]*$/.test(word)) return word.replace(/[ -]/g, '');
  return word
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '')
    .replace(/[łøđı]/gu, (letter) => PLAIN[letter] ?? letter)
    .replace(/ß/gu, 'ss')
    .replace(/(?<=\p{Script=Cyrillic})i|i(?=\p{Script=Cyrillic})/gu, 'і');
}

const PLAIN: Readonly<Record<string, string>> = { ł: 'l', ø: 'o', đ: 'd', ı: 'i' };
