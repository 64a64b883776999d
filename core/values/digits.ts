import { findNumberWords, toOrdinalNumber, toScale } from './number-words.ts';
import { toMonth } from './calendar.ts';

/**
 * A text with its numbers in digits: those of other scripts (`٢٥`, `２５`), of Chinese, Japanese and Korean
 * (`百二十`, `스물일곱`), and those in words of the text's languages (`mille deux cents`, `25 thousand`).
 */
export function toDigits(text: string, languages: readonly string[]): string {
  const plain = text
    .replace(/[\p{Nd}٫٬]/gu, toAscii)
    .replace(/百分之([〇零一二两兩三四五六七八九十百千\d.]+)/gu, '$1%');
  const uncased = withKorean(withHan(plain));
  return withOrdinals(withWords(withScales(uncased, languages), languages), languages);
}

function toAscii(sign: string): string {
  if (/[0-9]/.test(sign)) return sign;
  if (sign === '٫') return '.';
  if (sign === '٬') return ',';
  const code = sign.codePointAt(0) ?? 0;
  // Digits of a script stand in a row, from one whose neighbour in front is no digit.
  for (let zero = code; zero > code - 10; zero -= 1) {
    if (!/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) return String(code - zero);
  }
  return String((code - 0x1d7ce) % 10);
}

function withWords(text: string, languages: readonly string[]): string {
  let digits = '';
  let at = 0;
  for (const { start, end, value } of findNumberWords(text, languages)) {
    digits += text.slice(at, start) + String(value);
    at = end;
  }
  return digits + text.slice(at);
}

/** `the third of March` is the 3. of March: an ordinal beside the name of a month. */
function withOrdinals(text: string, languages: readonly string[]): string {
  return text.replace(
    /([\p{L}\p{M}]{3,24})(?= (?:of |de |d’|di |du )?([\p{L}\p{M}]{3,16}))/gu,
    (word, ordinal: string, month: string) => {
      if (toMonth(month, languages) === null) return word;
      const value = toOrdinalNumber(ordinal, languages);
      return value === null ? word : `${value}.`;
    },
  );
}

/** `25 thousand`, `1,5 Millionen`, `3 mil`. */
function withScales(text: string, languages: readonly string[]): string {
  return text.replace(
    /(?<![\p{L}\p{Nd}.,])(\d{1,6})(?:([.,])(\d{1,3}))? ?(\p{L}{2,16})/gu,
    (whole, number: string, sign: string | undefined, part: string | undefined, word: string) => {
      const scale = toScale(word, languages);
      if (scale === null) return whole;
      const value = Number(sign === undefined ? number : `${number}.${part}`) * scale;
      return String(Math.round(value * 1e6) / 1e6);
    },
  );
}

const HAN_DIGITS = '〇一二三四五六七八九';
const HAN_UNITS: Readonly<Record<string, number>> = {
  十: 10,
  百: 100,
  千: 1_000,
  万: 1e4,
  萬: 1e4,
  亿: 1e8,
  億: 1e8,
};

/** A single 一 is as often a part of a word, and so are some pairs. */
function withHan(text: string): string {
  return text
    .replace(
      /十分|万一|千万(?!\p{Sc}|[元円])|一(?![月号號日時时点點])(?![〇一二两兩三四五六七八九十百千万萬亿億])|(?:\d[\d,.]{0,15})?[〇零一二两兩三四五六七八九十百千万萬亿億]+(?:\d{1,4}[十百千万萬亿億]+)*/gu,
      (numeral) => {
        if (/^(?:十分|万一|千万|一(?!.))$/u.test(numeral) && !/^一[月号]/u.test(numeral)) {
          return numeral;
        }
        return readHan(numeral.replace(/[两兩]/gu, '二').replaceAll('零', '〇')) ?? numeral;
      },
    )
    .replace(/一(?=[月号號日時时点點])/gu, '1');
}

function readHan(numeral: string): string | null {
  const signs = numeral.match(/\d[\d,.]*|./gu) ?? [];
  if (!signs.some((sign) => sign in HAN_UNITS)) {
    return signs.length === 1 || !/\d/.test(numeral)
      ? signs.map((sign) => HAN_DIGITS.indexOf(sign)).join('')
      : null;
  }
  let [value, part, digit] = [0, 0, 0];
  for (const sign of signs) {
    const unit = HAN_UNITS[sign];
    if (unit === undefined) {
      digit = /\d/.test(sign) ? Number(sign.replaceAll(',', '')) : HAN_DIGITS.indexOf(sign);
    } else if (unit >= 1e4) {
      value += (part + digit || 1) * unit;
      [part, digit] = [0, 0];
    } else {
      part += (digit || 1) * unit;
      digit = 0;
    }
  }
  return String(value + part + digit);
}

const NATIVE_TENS = ['', '열', '스물', '서른', '마흔', '쉰', '예순', '일흔', '여든', '아흔'];
const NATIVE: readonly string[] = '한|하나 두|둘 세|셋 네|넷 다섯 여섯 일곱 여덟 아홉'.split(' ');
/** What is counted with the numbers of one syllable: without it they are parts of words. */
const COUNTED =
  '시간|시|명|개|살|마리|번|권|잔|장|대|달|주|가지|병|분|초|원|년|월|일|층|석|퍼센트|프로|킬로|세|호|배|인분|박|도|엔|달러|유로';
const KOREAN_NATIVE = new RegExp(
  `(?<!\\p{Script=Hangul})(?:(열|스물|서른|마흔|쉰|예순|일흔|여든|아흔)(${NATIVE.join('|')})?|(스무)|(${NATIVE.join('|')}))(?=\\s?(?:${COUNTED}))|(?<!\\p{Script=Hangul})(스물|서른|마흔|예순|일흔|여든|아흔)?(${NATIVE.slice(4).join('|')})(?!\\p{Script=Hangul})`,
  'gu',
);
const SINO = '영일이삼사오육칠팔구';
const KOREAN_SINO = new RegExp(
  `(?<!\\p{Script=Hangul})(?:[일이삼사오육칠팔구]?[십백천만억][일이삼사오육칠팔구십백천만억]*(?: [일이삼사오육칠팔구]?[십백천][일이삼사오육칠팔구십백천]*)?(?=\\s?(?:${COUNTED})|\\s|$)|[일이삼사오육칠팔구]+(?=\\s?(?:${COUNTED})))`,
  'gu',
);

function withKorean(text: string): string {
  if (!/\p{Script=Hangul}/u.test(text)) return text;
  const toUnit = (word = '') => NATIVE.findIndex((forms) => forms.split('|').includes(word)) + 1;
  return text
    .replace(
      KOREAN_NATIVE,
      (
        _whole,
        tens?: string,
        one?: string,
        twenty?: string,
        alone?: string,
        more?: string,
        last?: string,
      ) =>
        String(
          twenty === undefined
            ? 10 * Math.max(0, NATIVE_TENS.indexOf(tens ?? more ?? '')) +
                toUnit(one ?? alone ?? last)
            : 20,
        ),
    )
    .replace(KOREAN_SINO, (numeral) => {
      const han = numeral
        .replaceAll(' ', '')
        .replace(/[일이삼사오육칠팔구]/gu, (sign) => HAN_DIGITS[SINO.indexOf(sign)] ?? sign)
        .replace(/[십백천만억]/gu, (sign) => '十百千万億'['십백천만억'.indexOf(sign)] ?? sign);
      return readHan(han) ?? numeral;
    });
}
