import type { Finding } from './finding.ts';

const CARD =
  /(?<![\dA-Za-z_.,:/=+-])(?:\d[ \u00a0.-]?){12,18}\d(?![\d A-Za-z_/=+]{0,1}\d|[A-Za-z_/=+])/g;
/** The lengths of cards by the digits that they begin with. */
const BRANDS: readonly { starts: RegExp; lengths: readonly number[] }[] = [
  { starts: /^4/, lengths: [16, 19] },
  { starts: /^(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)/, lengths: [16] },
  { starts: /^3[47]/, lengths: [15] },
  { starts: /^(?:6011|65|64[4-9])/, lengths: [16, 19] },
  { starts: /^62/, lengths: [16, 17, 18, 19] },
  { starts: /^35(?:2[89]|[3-8]\d)/, lengths: [16] },
  { starts: /^(?:30[0-5]|36|38|39)/, lengths: [14] },
  { starts: /^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, lengths: [16, 18, 19] },
  { starts: /^220[0-4]/, lengths: [16] },
];
/** How cards are printed; other groups of digits are other numbers. */
const GROUPS =
  /^(?:\d+|\d{4}(?:\D\d{4}){2}\D\d{1,7}|\d{4}\D\d{6}\D\d{4,5}|\d{4}\D\d{7}\D\d{4,5}|\d{4}(?:\D\d{4}){3}\D\d{1,3}|\d{6}\D\d{10,13})$/;

/** Finds card numbers by their length, first digits and check digit (Luhn). */
export function findCards(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const { 0: found, index } of text.matchAll(CARD)) {
    const digits = found.replaceAll(/\D/g, '');
    const fits = BRANDS.some(
      ({ starts, lengths }) => starts.test(digits) && lengths.includes(digits.length),
    );
    if (!fits || !GROUPS.test(found) || /^(\d)\1+$/.test(digits) || !isLuhn(digits)) continue;
    findings.push({
      kind: 'card',
      name: 'a card number',
      policy: 'secrets',
      start: index,
      end: index + found.length,
    });
  }
  return findings;
}

/** Whether the last digit is the check digit of the others by Luhn's formula (ISO/IEC 7812-1). */
export function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, isDouble = false; at >= 0; at -= 1, isDouble = !isDouble) {
    const digit = Number(digits[at]) * (isDouble ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** Lengths of IBANs by country: the IBAN registry of SWIFT, release 99. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
    .split(' ')
    .map((each) => [each.slice(0, 2), Number(each.slice(2))]),
);
const IBAN = /(?<![A-Za-z0-9_/+=-])[A-Za-z]{2}\d\d(?:[ \u00a0-]?[A-Za-z0-9]){11,29}/g;

/** Finds IBANs by their country's length and their checksum (ISO 13616, mod 97). */
export function findIbans(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const { 0: found, index } of text.matchAll(IBAN)) {
    const length = IBAN_LENGTHS[found.slice(0, 2).toUpperCase()];
    if (length === undefined) continue;
    // Words may follow it: only as many signs as the country has.
    let end = 0;
    for (let signs = 0; end < found.length && signs < length; end += 1) {
      if (/[A-Za-z0-9]/.test(found[end] as string)) signs += 1;
    }
    const compact = found
      .slice(0, end)
      .replaceAll(/[ \u00a0-]/g, '')
      .toUpperCase();
    const next = text[index + end] ?? '';
    if (compact.length !== length || /[A-Za-z0-9_]/.test(next) || mod97(compact) !== 1) continue;
    findings.push({
      kind: 'iban',
      name: 'an IBAN',
      policy: 'secrets',
      start: index,
      end: index + end,
    });
  }
  return findings;
}

function mod97(iban: string): number {
  let rest = 0;
  for (const sign of iban.slice(4) + iban.slice(0, 4)) {
    const value = parseInt(sign, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}
