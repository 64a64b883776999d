import type { Finding } from './finding.ts';
import { isLuhn } from './numbers.ts';

/** A national id: its form, its checksum, and words without which a bare number is not one. */
interface IdForm {
  form: string;
  isValid?: (digits: string, text: string) => boolean;
  words?: RegExp;
}

const sum = (digits: string, weights: readonly number[]) =>
  weights.reduce((total, weight, at) => total + weight * Number(digits[at]), 0);

const ID_FORMS: readonly IdForm[] = [
  // United States: SSN.
  { form: '(?!000|666|9)\\d{3}-(?!00)\\d\\d-(?!0000)\\d{4}' },
  // United Kingdom: National Insurance number.
  {
    form: '(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d\\d ?\\d\\d ?\\d\\d ?[A-D]',
  },
  // Spain: DNI and NIE.
  {
    form: '(?:\\d{8}|[XYZ]-?\\d{7})-?[A-HJ-NP-TV-Z]',
    isValid: (_, text) => {
      const plain = text.replaceAll(/[^\dA-Z]/g, '');
      const number = Number(
        plain.slice(0, -1).replace(/^[XYZ]/, (sign) => String('XYZ'.indexOf(sign))),
      );
      return 'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23] === plain.at(-1);
    },
  },
  // Italy: codice fiscale.
  { form: '[A-Z]{6}\\d\\d[A-EHLMPRST]\\d\\d[A-Z]\\d{3}[A-Z]' },
  // France: NIR.
  {
    form: '[12] ?\\d\\d ?(?:0[1-9]|1[0-2]|[2-9]\\d) ?(?:\\d\\d|2[AB]) ?\\d{3} ?\\d{3} ?\\d\\d',
    isValid: (_, text) => {
      const plain = text.replaceAll(' ', '').replace('2A', '19').replace('2B', '18');
      return 97n - (BigInt(plain.slice(0, 13)) % 97n) === BigInt(plain.slice(13));
    },
  },
  // Brazil: CPF.
  { form: '\\d{3}\\.\\d{3}\\.\\d{3}-\\d\\d', isValid: isCpf },
  { form: '\\d{11}', isValid: isCpf, words: /\bcpf\b/i },
  // Switzerland: AHV number.
  {
    form: '756\\.?\\d{4}\\.?\\d{4}\\.?\\d\\d',
    isValid: (digits) => {
      const rest = sum(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10;
      return (10 - rest) % 10 === Number(digits[12]);
    },
  },
  // China: resident identity card.
  {
    form: '[1-8]\\d{5}(?:19|20)\\d\\d(?:0[1-9]|1[0-2])(?:[0-2]\\d|3[01])\\d{3}[\\dXx]',
    isValid: (_, text) => {
      const rest = sum(text, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
      return '10X98765432'[rest] === text[17]?.toUpperCase();
    },
  },
  // Korea: resident registration number.
  { form: '\\d\\d(?:0[1-9]|1[0-2])(?:[0-2]\\d|3[01])-[1-8]\\d{6}' },
  // Poland: PESEL.
  {
    form: '\\d\\d(?:[02468][1-9]|[13579][0-2])(?:[0-2]\\d|3[01])\\d{5}',
    isValid: (digits) =>
      (10 - (sum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === Number(digits[10]),
    words: /pesel/i,
  },
  // Sweden and Denmark: personnummer, CPR.
  {
    form: '(?:19|20)?\\d\\d(?:0[1-9]|1[0-2])(?:[0-2]\\d|3[01])[-+]\\d{4}',
    isValid: (digits) => isLuhn(digits.slice(-10)),
  },
  { form: '(?:[0-2]\\d|3[01])(?:0[1-9]|1[0-2])\\d\\d-?\\d{4}', words: /\bcpr\b/i },
  // Finland: henkilötunnus.
  {
    form: '(?:[0-2]\\d|3[01])(?:0[1-9]|1[0-2])\\d\\d[-+A]\\d{3}[0-9A-FHJ-NPR-Y]',
    isValid: (_, text) =>
      '0123456789ABCDEFHJKLMNPRSTUVWXY'[Number(text.slice(0, 6) + text.slice(7, 10)) % 31] ===
      text[10],
  },
  // Turkey: T.C. kimlik no.
  { form: '[1-9]\\d{10}', isValid: isTckn, words: /kimlik|\btckn?\b|\bt\.?c\.?\b/i },
  // Germany: Steuer-ID.
  {
    form: '[1-9]\\d ?\\d{3} ?\\d{3} ?\\d{3}',
    isValid: isSteuerId,
    words: /steuer|\bidnr|\btax[ -]?id|identifikationsnummer/i,
  },
  // The Netherlands: BSN.
  {
    form: '\\d{9}',
    isValid: (digits) => sum(digits, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0,
    words: /\bbsn\b|burgerservice/i,
  },
  // Portugal: NIF.
  {
    form: '\\d{3} ?\\d{3} ?\\d{3}',
    isValid: (digits) => {
      const rest = sum(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11;
      return (rest < 2 ? 0 : 11 - rest) === Number(digits[8]);
    },
    words: /\bnif\b|contribuinte/i,
  },
  // Russia: SNILS.
  {
    form: '\\d{3}-\\d{3}-\\d{3}[ -]\\d\\d',
    isValid: (digits) => {
      const total = sum(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101;
      return (total === 100 ? 0 : total) === Number(digits.slice(9));
    },
  },
  // Canada: SIN.
  {
    form: '\\d{3}[ -]\\d{3}[ -]\\d{3}',
    isValid: isLuhn,
    words: /\bsin\b|\bnas\b|social insurance/i,
  },
  // India: Aadhaar, PAN.
  { form: '[2-9]\\d{3}[ -]\\d{4}[ -]\\d{4}', isValid: isVerhoeff },
  { form: '[2-9]\\d{11}', isValid: isVerhoeff, words: /aadhaar|आधार|uidai/i },
  { form: '[A-Z]{3}[ABCFGHJLPT][A-Z]\\d{4}[A-Z]', words: /\bpan\b/i },
  // Japan: My Number.
  { form: '\\d{4}[ -]?\\d{4}[ -]?\\d{4}', words: /マイナンバー|個人番号|my number/i },
  // Elsewhere, and passports: by the words in front.
  {
    form: '[A-Z]{0,2}\\d{6,10}[A-Z]?\\d?',
    words:
      /(?:passport|reisepass|passeport|pasaporte|passaporto|passaporte|paspoort|paszport|паспорт|pasaport|ausweis|id[- ]?card|护照|護照|旅券|여권|身份证|personalausweis|social security|sozialversicherung|sécurité sociale|rijbewijs|führerschein|driver'?s? licen[cs]e)\P{L}{0,3}(?:\p{L}{1,12}\P{L}{1,3}){0,2}$/iu,
  },
];

/** How far in front of a number the words stand that make an id of it. */
const WORDS_BEFORE = 40;
const IDS = new RegExp(
  `(?<![\\dA-Za-z_.,/+=-])(?=[\\dA-Z]{2})${ID_FORMS.map(({ form }) => `(?:(?=(${form})(?![\\dA-Za-z_/+=-]))|)`).join('')}`,
  'g',
);

/** Finds national ids: by form and checksum, or by the words in front where the form says too little. */
function findNationalIds(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const match of text.matchAll(IDS)) {
    const { index } = match;
    let before: string | undefined;
    for (const [at, { isValid, words }] of ID_FORMS.entries()) {
      const found = match[at + 1];
      if (found === undefined) continue;
      before ??= text.slice(Math.max(0, index - WORDS_BEFORE), index);
      if (words?.test(before) === false) continue;
      if (isValid?.(found.replaceAll(/\D/g, ''), found) === false) continue;
      const end = index + found.length;
      findings.push({
        kind: 'national_id',
        name: 'a national id',
        policy: 'personal',
        start: index,
        end,
      });
      break;
    }
  }
  return findings;
}

function isCpf(digits: string): boolean {
  if (/^(\d)\1+$/.test(digits)) return false;
  return [9, 10].every((length) => {
    const weights = Array.from({ length }, (_, at) => length + 1 - at);
    return ((sum(digits, weights) * 10) % 11) % 10 === Number(digits[length]);
  });
}

function isTckn(digits: string): boolean {
  const tenth = (sum(digits, [7, -1, 7, -1, 7, -1, 7, -1, 7]) + 110) % 10;
  const last = sum(digits, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) % 10;
  return tenth === Number(digits[9]) && last === Number(digits[10]);
}

/** ISO/IEC 7064, mod 11, 10. */
function isSteuerId(digits: string): boolean {
  let product = 10;
  for (const digit of digits.slice(0, 10)) {
    const total = (Number(digit) + product) % 10 || 10;
    product = (total * 2) % 11;
  }
  return (11 - product) % 10 === Number(digits[10]);
}

const DIHEDRAL =
  '0123456789123406789523401789563401289567401239567859876043216598710432765982104387659321049876543210';
const TURNS = '01234567891576283094580379614289160435279453126870428657390127938064157046913258';

/** Verhoeff's check digit. */
function isVerhoeff(digits: string): boolean {
  let state = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = Number(digits[digits.length - 1 - at]);
    const turned = Number(TURNS[(at % 8) * 10 + digit]);
    state = Number(DIHEDRAL[state * 10 + turned]);
  }
  return state === 0;
}

const EMAIL =
  /(?<![\p{L}\p{N}_.%+-])[\p{L}\p{N}_%+-](?:[\p{L}\p{N}_.%+-]{0,62}[\p{L}\p{N}_%+-])?@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,5}\p{L}{2,24}(?![\p{L}\p{N}@-])/gu;

const PHONE =
  /(?<![\p{L}\d_.,:/=+-])(?:\+|00)[1-9]\d{0,2}(?:[ .()/-]{0,3}\d){6,12}(?![\d\p{L}])|(?<![\d_.,:/=+-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d-])/gu;
const PHONE_WORDS =
  /(?:phone|mobile|cell|tel(?:[.:]|efon|éfono|efono|eléfono|efone|efoon)?|call (?:me|him|her|them) (?:at|on)|handy|mobil\p{L}*|móvil|celular|cellulare|telemóvel|portable|whats ?app|sms|тел(?:ефон)?|телефон|komórka|tlf|puh(?:elin)?|cep|电话|手机|電話|携帯|전화|핸드폰|هاتف|جوال|फ़ोन|फोन|मोबाइल)[^\n\d]{0,24}(\d(?:[ .()/-]{0,2}\d){6,13})(?![\d\p{L}])/giu;

/** Finds national ids, e-mail addresses and phone numbers, in linear time. */
export function findPersonal(text: string): Finding[] {
  const findings = /\d/.test(text) ? findNationalIds(text) : [];
  if (text.includes('@')) {
    for (const { 0: found, index } of text.matchAll(EMAIL)) {
      findings.push({
        kind: 'email',
        name: 'an e-mail address',
        policy: 'personal',
        start: index,
        end: index + found.length,
      });
    }
  }
  for (const { 0: found, index } of text.matchAll(PHONE)) {
    findings.push({
      kind: 'phone',
      name: 'a phone number',
      policy: 'personal',
      start: index,
      end: index + found.length,
    });
  }
  for (const match of text.matchAll(PHONE_WORDS)) {
    const { 0: whole, 1: number = '', index } = match;
    const start = index + whole.length - number.length;
    if (/^\d{4}-\d\d-\d\d/.test(number)) continue;
    findings.push({
      kind: 'phone',
      name: 'a phone number',
      policy: 'personal',
      start,
      end: start + number.length,
    });
  }
  return findings;
}
