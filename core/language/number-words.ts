/** Numbers in the words of the languages that search knows, and of some more; folded. */
const WORDS: Readonly<Record<number, string>> = {
  1: 'one a an once eins ein eine einem einen einer einmal un una une uno um uma een en ett jeden один одну yksi egy bir satu 一 하나 한',
  2: 'two twice zwei zweimal deux dos due dois duas twee tva to dwa dva iki kaksi ket ketto doi doua два две dua 二 两 兩 둘 두',
  3: 'three drei trois tres tre drie trzy tri uc kolme harom trei три tiga 三 셋 세',
  4: 'four vier quatre cuatro quattro quatro fyra fire cztery ctyri dort nelja negy patru четыре empat 四 넷 네',
  5: 'five funf cinq cinco cinque vijf fem piec pet bes viisi ot cinci пять lima 五 다섯',
  6: 'six sechs seis sei zes sex seks szesc sest alti kuusi hat sase шесть enam 六 여섯',
  7: 'seven sieben sept siete sette sete zeven sju syv siedem sedm yedi seitseman het sapte семь tujuh 七 일곱',
  8: 'eight acht huit ocho otto oito atta otte osiem osm sekiz kahdeksan nyolc opt восемь delapan 八 여덟',
  9: 'nine neun neuf nueve nove negen nio ni dziewiec devet dokuz yhdeksan kilenc noua девять sembilan 九 아홉',
  10: 'ten zehn dix diez dieci dez tien tio ti dziesiec deset on kymmenen tiz zece десять sepuluh 十 열',
  11: 'eleven elf onze once undici elva elleve jedenascie',
  12: 'twelve zwolf douze doce dodici doze twaalf tolv dwanascie',
  13: 'thirteen treize trece tredici treze dertien tretton',
  14: 'fourteen quatorze catorce quattordici catorze veertien fjorton',
  15: 'fifteen funfzehn quinze quince quindici vijftien femton',
  16: 'sixteen sechzehn seize dieciseis sedici dezesseis zestien sexton',
  17: 'seventeen siebzehn diecisiete diciassette dezessete zeventien sjutton',
  18: 'eighteen dieciocho diciotto dezoito achttien arton',
  19: 'nineteen diecinueve diciannove dezenove negentien nitton',
  20: 'twenty zwanzig vingt vingts veinte veinti venti vinte twintig tjugo двадцать',
  30: 'thirty dreissig trente treinta trenta trinta dertig trettio тридцать',
  40: 'forty vierzig quarante cuarenta quaranta quarenta veertig fyrtio сорок',
  50: 'fifty funfzig cinquante cincuenta cinquanta cinquenta vijftig femtio пятьдесят',
  60: 'sixty sechzig soixante sesenta sessanta sessenta zestig',
  70: 'seventy siebzig setenta settanta zeventig sjuttio',
  80: 'eighty achtzig ochenta ottanta oitenta tachtig attio',
  90: 'ninety neunzig noventa novanta negentig nittio',
  100: 'hundred hundert cent cien ciento cento cem honderd hundra сто 百',
  1_000: 'thousand tausend mille mil duizend tusen тысяча 千',
};

/** The value of each word. One that is two numbers (`once`: 1 in English, 11 in Spanish) is the larger. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  Object.entries(WORDS).flatMap(([value, words]) =>
    words.split(' ').map((word) => [word, Number(value)] as const),
  ),
);

/**
 * The value of a word, also of one that is made of several: `siebenundzwanzig`, `duecento`,
 * `quatre-vingt-dix`. `null` for others.
 */
export function toNumber(word: string): number | null {
  return NUMBER_WORDS.get(word) ?? addParts(word, 0);
}

/** Words like `trecento` begin with another number, too: then the next part is tried. */
function addParts(word: string, value: number): number | null {
  if (word === '') return value === 0 ? null : value;
  for (const part of PARTS) {
    if (!word.startsWith(part)) continue;
    const number = NUMBER_WORDS.get(part) ?? 0;
    // `two hundred` and `quatre-vingt`, but `twenty-two`.
    const isFactor = number >= 100 || (number === 20 && value === 4);
    const sum = isFactor ? Math.max(1, value) * number : value + number;
    const rest = word.slice(part.length).replace(/^(?:und|and|en|e|y|-)(?=.)/, '');
    const whole = addParts(rest, sum);
    if (whole !== null) return whole;
  }
  return null;
}

/** The longest first. Short ones are beginnings of too many other words. */
const PARTS = [...NUMBER_WORDS.keys()]
  .filter((word) => word.length >= 3 && !/\P{Script=Latin}/u.test(word))
  .sort((a, b) => b.length - a.length);

const HAN_DIGITS = '〇一二三四五六七八九';
const HAN_UNITS: Readonly<Record<string, number>> = {
  十: 10,
  百: 100,
  千: 1_000,
  万: 10_000,
  萬: 10_000,
};

/** A text with Chinese numerals as digits: `三千元` is `3000元`. A single 一 is as often a part of a word. */
export function withDigits(text: string): string {
  return text.replace(/[〇一二两兩三四五六七八九十百千万萬]+/gu, (numeral) => {
    if (numeral === '一') return numeral;
    const signs = [...numeral.replace(/[两兩]/gu, '二')];
    if (!signs.some((sign) => sign in HAN_UNITS)) {
      return signs.map((sign) => HAN_DIGITS.indexOf(sign)).join('');
    }
    let value = 0;
    let digit = 0;
    for (const sign of signs) {
      const unit = HAN_UNITS[sign];
      if (unit === undefined) digit = HAN_DIGITS.indexOf(sign);
      else if (unit === 10_000) value = (value + digit || 1) * unit;
      else value += (digit || 1) * unit;
      if (unit !== undefined) digit = 0;
    }
    return String(value + digit);
  });
}
