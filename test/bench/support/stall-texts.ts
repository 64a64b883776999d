/** A random number from 0 to below 1, the same ones for the same seed (mulberry32). */
export type Random = () => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/**
 * What a text is made of again and again: each kind is the worst for some reader of text that is
 * not quite linear. A function makes each piece another one.
 */
const PIECES: Readonly<Record<string, string | ((n: number) => string)>> = {
  letter: 'a',
  'line ends': '\n',
  'short lines': 'x\n',
  'different lines': (n) => `${n.toString(36)}\n`,
  'two lines': (n) => (n % 2 === 0 ? 'a\n' : 'b\n'),
  'carriage returns': '\r\n',
  spaces: ' ',
  tabs: '\t',
  headings: '# a\n',
  'different headings': (n) => `${'#'.repeat((n % 6) + 1)} ${n.toString(36)}\n`,
  hashes: '#',
  items: '- a\n',
  'nested items': (n) => `${' '.repeat(n % 40)}- ${n.toString(36)}\n`,
  fences: '```\n',
  'open fences': '~~~~',
  tables: '|a|b|\n',
  underlines: 'a\n=\n',
  'front matter': '---\n',
  brackets: '[',
  'wiki links': '[[a]]',
  'different wiki links': (n) => `[[${n.toString(36)}]]\n`,
  links: '[a](b.md)',
  'different links': (n) => `[a](${n.toString(36)}.md)\n`,
  'open links': '[a](',
  'long paths': '[a](a/../a/../a/../a/../a/../a/../a/../a/../b.md)',
  'escaped links': '[a](%41%41%41)',
  angles: '<',
  emphasis: '*_`',
  pins: '<!-- pin -->\n',
  'open pins': '<!-- pin -->\n\n',
  words: (n) => `${n.toString(36)}w `,
  sentences: (n) => `The user likes tea number ${n} and not coffee.\n`,
  'same sentence': 'The user likes green tea in the morning. ',
  'similar lines': (n) => `alpha beta gamma delta epsilon zeta eta theta ${n.toString(36)}\n`,
  'permuted lines': (n) => `${permuted(n)}\n`,
  facts: (n) => `key: value ${n}\n`,
  numbers: '1,234,567 ',
  'digits with commas': '1,111',
  'digits with dots': '1.1.',
  'digits with hyphens': '1-',
  'money and units': '$2,500 percent ',
  dates: '2024-01-31 3 March 2023 ',
  times: (n) => `${n % 999} weeks ago `,
  'names in capitals': 'Ana Bob. ',
  'camel case': 'aAbB',
  connected: 'a-b_c.',
  addresses: 'a@b.c ',
  'at signs': 'a@',
  urls: 'https://a.b/c?d=e ',
  'open urls': 'ab://',
  'passwords in urls': 'ab://cd:ef',
  'secret names': 'password is ',
  'secret beginnings': 'AKIA sk- ghp_ eyJ ',
  'hex digits': '0123456789abcdef',
  'instruction beginnings': 'ignore send you always ',
  apostrophes: "n't ",
  accents: 'é',
  'combining marks': 'e\u0301\u0302\u0303',
  'many marks': (n) => (n % 64 === 0 ? 'e' : '\u0301'),
  'wide ligatures': '\ufdfa',
  'full width': 'ａＢ１',
  'capital I with a dot': 'İ',
  hangul: '한국어',
  'hangul letters': '\u1112\u1161\u11ab',
  chinese: '中文字',
  'different chinese': (n) => String.fromCharCode(0x4e00 + (n % 20_000)),
  thai: 'ภาษาไทย',
  emoji: '😀',
  flags: '🇩🇪🇫🇷',
  'joined emoji': '👩\u200d👩\u200d👧',
  'mathematical letters': '𝐀𝟙',
  'zero width': 'a\u200b\u00ad',
};

export const KINDS: readonly string[] = Object.keys(PIECES);

/** A text of one kind, of at most so many bytes. */
export function makeText(kind: string, bytes: number): string {
  const piece = PIECES[kind] ?? kind;
  if (typeof piece === 'string') {
    return piece.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(piece))));
  }
  const parts: string[] = [];
  let size = 0;
  for (let n = 0; ; n += 1) {
    const part = piece(n);
    size += Buffer.byteLength(part);
    if (size > bytes) return parts.join('');
    parts.push(part);
  }
}

/** The ways in which a text becomes another one of about the same size. */
export const CHANGES: Readonly<Record<string, (text: string, random: Random) => string>> = {
  'lines reversed': (text) => text.split('\n').reverse().join('\n'),
  'lines shuffled': (text, random) => {
    const lines = text.split('\n');
    for (let index = lines.length - 1; index > 0; index -= 1) {
      const other = Math.floor(random() * (index + 1));
      [lines[index], lines[other]] = [lines[other] as string, lines[index] as string];
    }
    return lines.join('\n');
  },
  'every other line changed': (text) =>
    text
      .split('\n')
      .map((line, index) => (index % 2 === 0 ? line : `${line.slice(1)}y`))
      .join('\n'),
  'every line changed at its end': (text) =>
    text
      .split('\n')
      .map((line) => `${line.slice(0, -1)}z`)
      .join('\n'),
  'every third line gone': (text) =>
    text
      .split('\n')
      .filter((_, index) => index % 3 > 0)
      .join('\n'),
  'halves swapped': (text) => {
    const half = text.indexOf('\n', text.length / 2) + 1 || Math.floor(text.length / 2);
    return text.slice(half).toWellFormed() + text.slice(0, half).toWellFormed();
  },
  'a letter in the middle': (text) => {
    const half = Math.floor(text.length / 2);
    return `${text.slice(0, half)}Q${text.slice(half + 1)}`.toWellFormed();
  },
};

function permuted(n: number): string {
  const words = ['red', 'tea', 'sun', 'cup', 'sea', 'fox', 'ice', 'oak', 'ink', 'owl'];
  const said: string[] = [];
  let left = n * 2_654_435_761;
  while (words.length > 0) {
    said.push(words.splice(left % words.length, 1)[0] as string);
    left = Math.floor(left / 3);
  }
  return said.join(' ');
}

/** A text cut to what a file may hold. */
export function fit(changed: string, bytes: number): string {
  const text = changed.toWellFormed();
  if (Buffer.byteLength(text) <= bytes) return text;
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '');
}
