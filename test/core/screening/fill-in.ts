const PASSWORDS = [
  'Sommer2024!',
  'hunter22x',
  'tr0ub4dor&3',
  'kX9#mQ2v',
  'Blue-Horse-77',
  'qwerty12345',
  'M4rz!enkaefer',
  'p@ssw0rd99',
  'Zima_2023$',
  'letmein2025',
  'aB3dE6gH9',
  'Kaffee!Tasse4',
];
const SIGNS = {
  b62: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  hex: '0123456789abcdef',
  upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  digits: '1234567890',
};

/** Makes values from a seed, so that a failure can be repeated. */
export function createFillIn(seed: number): (line: string) => string {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = (signs: string, length: number) =>
    Array.from({ length }, () => signs[next(signs.length)]).join('');
  const inFours = (value: string) => value.replaceAll(/.{4}(?=.)/g, '$& ');
  const card = () => {
    const digits = `${['4', '51', '55', '2221'][next(4)]}${text(SIGNS.digits, 15)}`.slice(0, 15);
    return digits + checkDigit(digits);
  };
  const iban = () => {
    const account = text(SIGNS.digits, 18);
    return `DE${String(98 - mod97(`${account}131400`)).padStart(2, '0')}${account}`;
  };
  const make: Record<string, (length: number) => string> = {
    ...Object.fromEntries(
      Object.entries(SIGNS).map(([name, signs]) => [name, (length: number) => text(signs, length)]),
    ),
    pw: () => PASSWORDS[next(PASSWORDS.length)] as string,
    card,
    card4: () => inFours(card()),
    iban,
    iban4: () => inFours(iban()),
    uuid: () => [8, 4, 4, 4, 12].map((length) => text(SIGNS.hex, length)).join('-'),
  };
  return (line) =>
    line.replaceAll(/\{([a-z0-9]+)(?::(\d+))?\}/g, (_, name: string, length: string | undefined) =>
      (make[name] as (length: number) => string)(Number(length ?? 0)),
    );
}

/** Luhn. */
function checkDigit(digits: string): number {
  let sum = 0;
  for (const [at, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (at % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return (10 - (sum % 10)) % 10;
}

function mod97(digits: string): number {
  let rest = 0;
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97;
  return rest;
}
