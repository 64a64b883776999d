import { LRUCache } from 'lru-cache';
import { isStopWord } from '../search/text/english.ts';
import { isEnglishText } from '../search/text/tokenise.ts';
import { isOpener } from '../language/sentence-starters.ts';
import { findDates, type NamedDate } from '../language/dates.ts';
import { fold } from '../language/fold.ts';
import { toNumber, withDigits } from '../language/number-words.ts';
import { listWeekdays } from '../language/time-words.ts';
import { isTopic, relationOf } from '../language/words.ts';
import { takeStart } from '../encoding/take-text.ts';

export type SpecificKind =
  'number' | 'amount' | 'date' | 'time' | 'address' | 'link' | 'quote' | 'name';

/** Something in a text that must be neither lost nor made up. */
export interface Specific {
  kind: SpecificKind;
  /** As it stands in the text. */
  text: string;
  /** Its value, in each form in which it may be read: `2.500` is 2500 and 2.5. */
  keys: readonly string[];
}

/** The numbers, dates, times, amounts, addresses, links, quoted texts and names of a text. */
export function listSpecifics(text: string): Specific[] {
  return [...toPieces(text, 0)].flatMap((piece) => PIECES.memo(piece));
}

/** What is read at one go, in characters: as long as a line that a model may write. */
const PIECE = 2_000;
/** How far a piece of grounds reaches into the next one, so that no value is cut in both. */
const OVERLAP = 200;
/** Where a long line is cut: behind a sentence, else behind a space, wherever there is one in its second half. */
const CUT = /^.{1000,}(?:[.!?]\s|[。！？，])|^.{1000,}\s|^.*/su;

/** The lines of a text, one after the other, long ones in pieces. */
function* toPieces(text: string, overlap: number): Generator<string> {
  for (const line of toLines(text)) {
    let from = 0;
    while (line.length - from > PIECE) {
      const part = takeStart(line.slice(from), PIECE);
      const end = CUT.exec(part)?.[0].length ?? part.length;
      yield part.slice(0, end);
      from += end - overlap;
    }
    yield line.slice(from);
  }
}

/** The lines of a text, found one after the other: there may be many. */
function* toLines(text: string): Generator<string> {
  let from = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
    yield text.slice(from, end);
    from = end + 1;
  }
  yield text.slice(from);
}

function readPiece(piece: string): readonly Specific[] {
  const reader = new Reader(piece);
  readQuotes(reader);
  readAddresses(reader);
  readDates(reader);
  readTimes(reader);
  readNumbers(reader);
  readWordsOfValue(reader);
  readNames(reader);
  return reader.found;
}

/** Each line of an operation is compared with several texts. */
const PIECES = new LRUCache<string, readonly Specific[]>({ max: 200, memoMethod: readPiece });

/**
 * Specifics of a text whose value its grounds do not have: 2 is two, 2pm is 14:00, $2500 is $2,500.
 * Yields now and then.
 */
export function* missingSpecifics(text: string, grounds: string): Generator<null, Specific[]> {
  const known = yield* readKnown(grounds);
  const missing: Specific[] = [];
  for (const piece of toPieces(text, 0)) {
    yield null;
    for (const specific of PIECES.memo(piece)) {
      if (specific.keys.some((key) => known.keys.has(key))) continue;
      if (specific.kind === 'quote') {
        yield null;
        if (known.text.includes(toSpaced(specific.text))) continue;
      }
      missing.push(specific);
    }
  }
  return missing;
}

/** What a text says, for looking up specifics of another one. */
interface Known {
  /** Every key by which a specific can be found. */
  keys: ReadonlySet<string>;
  /** Folded, with single spaces. */
  text: string;
}

function* readKnown(grounds: string): Generator<null, Known> {
  const kept = KNOWN.get(grounds);
  if (kept !== undefined) return kept;
  const keys = new Set<string>();
  for (const piece of toPieces(grounds, OVERLAP)) {
    yield null;
    for (const key of readKnownKeys(piece)) keys.add(key);
  }
  const texts: string[] = [];
  for (const line of toLines(grounds)) {
    yield null;
    const spaced = toSpaced(line).trim();
    if (spaced !== '') texts.push(spaced);
  }
  const known = { keys, text: texts.join(' ') };
  KNOWN.set(grounds, known);
  return known;
}

function* readKnownKeys(piece: string): Generator<string> {
  for (const { keys, kind } of PIECES.memo(piece)) {
    for (const key of keys) {
      yield key;
      // An amount and a percentage are numbers, too; a number is not an amount.
      if (kind === 'amount') yield `n:${key.split(':').at(-1)}`;
    }
  }
  for (const date of findDates(piece)) yield* toDateKeys(date);
  for (const [token] of piece.matchAll(WORD)) {
    for (const form of toNameForms(token)) yield `w:${form}`;
  }
  // Words count as numbers from one on where they are looked up; "one" alone is no number.
  for (const [token] of fold(piece).matchAll(WORD)) {
    const number = toNumber(token);
    if (number !== null) yield `n:${number}`;
  }
}

/** Line after line is compared with the same grounds, which may be long: 32 MB of them are kept. */
const KNOWN = new LRUCache<string, Known>({
  max: 200,
  maxSize: 32 * 1024 * 1024,
  // The text, the grounds themselves, and what a set takes for each key.
  sizeCalculation: ({ keys, text }) => 1 + 4 * text.length + 100 * keys.size,
});

function toSpaced(text: string): string {
  return fold(text).replace(/\s+/g, ' ');
}

/** A text whose parts are taken out one after the other, so that no part is read twice. */
class Reader {
  readonly found: Specific[] = [];
  rest: string;

  constructor(text: string) {
    this.rest = withDigits(text.normalize('NFC'));
  }

  take(
    pattern: RegExp,
    read: (match: RegExpExecArray) => { kind: SpecificKind; keys: string[]; text?: string } | null,
    keep = false,
  ): void {
    const taken: { start: number; end: number }[] = [];
    for (const match of this.rest.matchAll(pattern)) {
      const specific = read(match);
      if (specific === null) continue;
      this.found.push({ text: match[0].trim(), ...specific });
      taken.push({ start: match.index, end: match.index + match[0].length });
    }
    if (!keep) this.rest = blankOut(this.rest, taken);
  }
}

/** A text with spaces in place of some parts, which may overlap. */
export function blankOut(text: string, parts: readonly { start: number; end: number }[]): string {
  const rest: string[] = [];
  let at = 0;
  for (const { start, end } of parts.toSorted((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    rest.push(text.slice(at, Math.max(at, start)), ' '.repeat(end - Math.max(at, start)));
    at = end;
  }
  return rest.join('') + text.slice(at);
}

const QUOTED =
  /"([^"\n]{2,300})"|[“„]([^“”„\n]{2,300})[”“]|«([^«»\n]{2,300})»|[「『]([^「」『』\n]{1,300})[」』]|`([^`\n]{1,300})`/gu;

function readQuotes(reader: Reader): void {
  reader.take(
    QUOTED,
    (match) => {
      const text = match.slice(1).find((group) => group !== undefined) ?? '';
      return { kind: 'quote', text, keys: [`q:${toSpaced(text).trim()}`] };
    },
    true,
  );
}

/** `](target)`, also unclosed, and `[[target]]`. */
const LINK = /\]\(([^()\s]{1,2000})\)?|\[\[([^[\]\n]{1,300})\]\]/gu;
/** The address of a page, of a mailbox, or of a person: `@ana`. */
const ADDRESS =
  /(?:[a-z][a-z0-9+.-]{1,20}:\/\/|www\.)[^\s<>"'`)\]]{2,2000}|[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}.-]{1,253}[\p{L}\p{N}]|(?<![\p{L}\p{N}])@[\p{L}\p{N}_]{2,64}/giu;

function readAddresses(reader: Reader): void {
  reader.take(LINK, ([, target, page = '']) => {
    const text = target ?? page;
    return { kind: 'link', text, keys: [`l:${text}`] };
  });
  reader.take(ADDRESS, ([address]) => {
    const plain = address.replace(/[.,;:!?]$/u, '').replace(/\/$/u, '');
    return { kind: 'address', keys: [`a:${plain.toLowerCase()}`] };
  });
}

function readDates(reader: Reader): void {
  const dates = findDates(reader.rest).sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  for (const date of dates) {
    if (date.start < end) continue;
    end = date.end;
    const text = reader.rest.slice(date.start, date.end);
    reader.found.push({ kind: 'date', text, keys: toDateKeys(date).slice(0, 1) });
  }
  reader.rest = blankOut(reader.rest, dates);
}

/** A date in each form in which another text may say it, the most precise first. */
function toDateKeys({ year, month, day }: NamedDate): string[] {
  const full = [year, month, day];
  const parts = [full, [year, month, null], [null, month, day], [null, month, null]];
  const keys = parts
    .filter((part) => part.every((value, index) => value === null || full[index] !== null))
    .map((part) => `d:${part.map((value) => value ?? '').join('-')}`);
  return [...new Set([...keys, ...(year === null ? [] : [`n:${year}`])])];
}

const CLOCK =
  /(上午|早上|中午|下午|晚上)?(?<![\p{Nd}.,])(\d{1,2})(?:(?:[:.h点點](\d{2})分?)?\s?(?:([ap])\.?\s?m\b\.?|uhr|o['’]clock)|:(\d{2})|h(\d{2})?(?![\p{L}\p{Nd}])|[点點时時]半?)(?![\p{Nd}])/giu;

function readTimes(reader: Reader): void {
  reader.take(CLOCK, ([whole, part, hour, first, half, second, third]) => {
    const minutes = first ?? second ?? third ?? (whole.endsWith('半') ? '30' : '00');
    const isLate = half?.toLowerCase() === 'p' || part === '下午' || part === '晚上';
    const isEarly = half?.toLowerCase() === 'a';
    const hours = isLate || isEarly ? (Number(hour) % 12) + (isLate ? 12 : 0) : Number(hour);
    if (hours > 24 || Number(minutes) > 59) return null;
    return { kind: 'time', keys: [`t:${hours}:${minutes}`] };
  });
}

const CURRENCIES: ReadonlyMap<string, string> = toTable({
  $: '$ usd dollar dollars dólar dólares dollari us$',
  '€': '€ eur euro euros',
  '£': '£ gbp pound pounds livres sterling',
  '¥': '¥ yen jpy 円 元 块 塊 rmb cny yuan',
  chf: 'chf franken',
  '%': '% percent procent prozent percento pourcent ％',
});
const UNIT = [...CURRENCIES.keys()]
  .sort((a, b) => b.length - a.length)
  .map((unit) => unit.replace(/[$^.*+?()[\]{}|\\]/g, '\\$&'))
  .join('|');
const PLAIN = String.raw`\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?(?!\p{Nd})|\d{1,15}(?:[.,]\d{1,6})?`;
const AMOUNT = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Nd}.,])(?:(US\\$|\\p{Sc}|EUR|USD|CHF|GBP) ?(${PLAIN}) ?([km](?!\\p{L}))?|` +
    `(${PLAIN}) ?([km](?!\\p{L}))? ?(${UNIT}|\\p{Sc})(?!\\p{Script=Latin}))`,
  'giu',
);
/** Digits with what telephone numbers have between them. */
const PHONE =
  /(?<![\p{Script=Latin}\p{Nd}])\+?\(?\d{1,5}\)?(?:[ ./-]\(?\d{1,9}\)?){1,7}(?![\p{L}\p{Nd}])/gu;
/** A number, or a word with a digit in it: `A380`, `1.2.3`, `3rd`. */
const NUMBER =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}])[\p{Script=Latin}\p{Script=Cyrillic}]{0,20}\p{Nd}[\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}]{0,30}(?:[.,:_/'’+-][\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}]{1,30}){0,8}/gu;

function readNumbers(reader: Reader): void {
  const numbered = reader.rest;
  reader.take(AMOUNT, ([, before, first, k1, second, k2, after]) => {
    const sign = fold(before ?? after ?? '');
    const unit = CURRENCIES.get(sign) ?? sign;
    const factor = { k: 1_000, m: 1_000_000 }[(k1 ?? k2 ?? '').toLowerCase()] ?? 1;
    const readings = toReadings(first ?? second ?? '', factor);
    return { kind: 'amount', keys: readings.map((number) => `c:${unit}:${number}`) };
  });
  reader.take(PHONE, ([token]) => {
    const digits = token.replace(/\D/g, '');
    // Two years are no telephone number.
    return digits.length < 7 || /^\d{4}[-/]\d{4}$/.test(token)
      ? null
      : { kind: 'number', keys: [`n:${digits}`] };
  });
  reader.take(NUMBER, ([token]) => {
    const ordinal = /^(\d{1,4})(?:st|nd|rd|th|er|ème|e|º|ª|o|a|k)$/iu.exec(token);
    if (ordinal !== null) {
      const isThousand = /k$/i.test(token);
      return { kind: 'number', keys: [`n:${Number(ordinal[1]) * (isThousand ? 1_000 : 1)}`] };
    }
    const unit = /^(\d{1,9}(?:[.,]\d{1,3})?)(\p{L}{1,4})$/u.exec(token);
    if (unit !== null) {
      const [, number = '', name = ''] = unit;
      const readings = toReadings(number, 1);
      return { kind: 'number', keys: readings.map((one) => `n:${one} ${fold(name)}`) };
    }
    // A number and its unit apart are the same as together: `5 kg`, `5kg`.
    return { kind: 'number', keys: toReadings(token, 1).map((one) => `n:${one}`) };
  });
  for (const [whole, number = '', name = ''] of numbered.matchAll(
    /(?<![\p{L}\p{Nd}.,])(\d{1,9}(?:[.,]\d{1,3})?) ?(kg|g|mg|ml|l|cm|mm|km|m|mi|lb|lbs|kb|mb|gb|tb|min|h|s)(?!\p{L})/giu,
  )) {
    const keys = toReadings(number, 1).flatMap((one) => [`n:${one}`, `n:${one} ${fold(name)}`]);
    reader.found.push({ kind: 'number', text: whole, keys });
  }
}

/** The values that a number may have: a point or comma divides thousands, or decimals. */
function toReadings(token: string, factor: number): string[] {
  const plain = token.replace(/['’\u00a0\u202f]/gu, '');
  const readings: number[] = [];
  if (/^\d{1,3}([.,])\d{3}(?:\1\d{3})*$/.test(plain))
    readings.push(Number(plain.replace(/[.,]/g, '')));
  if (/^\d+[.,]\d+$/.test(plain)) readings.push(Number(plain.replace(',', '.')));
  const mixed = /^(\d{1,3}(?:[.,]\d{3})+)[.,](\d{1,2})$/.exec(plain);
  if (mixed !== null) readings.push(Number(`${mixed[1]?.replace(/[.,]/g, '')}.${mixed[2]}`));
  if (/^\d{1,15}$/.test(plain)) readings.push(Number(plain));
  if (readings.length === 0) return [plain.toLowerCase()];
  return readings.map((number) => String(Math.round(number * factor * 1e6) / 1e6));
}

/** Words of the table that are something else in another language: they are looked up, not listed. */
const NOT_LISTED = new Set(
  'to once on ti het hat ot sei tri pet ni opt due sex fire dos un bes cent tio once doi acht elf'.split(
    ' ',
  ),
);
function readWordsOfValue(reader: Reader): void {
  const folded = fold(reader.rest);
  for (const [token] of folded.matchAll(WORD)) {
    const relation = relationOf(token);
    if (relation !== null)
      reader.found.push({ kind: 'name', text: token, keys: [`r:${relation}`] });
    const number = NOT_LISTED.has(token) ? null : toNumber(token);
    if (number !== null && number > 1) {
      reader.found.push({ kind: 'number', text: token, keys: [`n:${number}`] });
    }
  }
  for (const { text, weekday } of listWeekdays(folded)) {
    reader.found.push({ kind: 'date', text, keys: [`day:${weekday}`] });
  }
}

const WORD = /[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*/gu;

function readNames(reader: Reader): void {
  const { rest } = reader;
  const english = isEnglishText(rest);
  const tokens = [...rest.matchAll(WORD)];
  const inside = new Set(
    tokens.filter(({ index }) => !beginsSentence(rest, index)).map(([token]) => token),
  );
  tokens.forEach((match, index) => {
    const [token] = match;
    if (!/^[\p{Lu}\p{Lt}]|\p{Ll}\p{Lu}/u.test(token)) return;
    const word = token.toLowerCase();
    const [base = word] = word.split(/['’]/u);
    if (isStopWord(word.replace(/['’]/gu, '')) || isStopWord(base)) return;
    if (GERMAN_ARTICLE.test(tokens[index - 1]?.[0] ?? '')) return;
    if (beginsSentence(rest, match.index)) {
      if (isOpener(base) || isTopic(base)) return;
      // Of other languages no list tells a name from a common word: its company does.
      const after = rest.slice(match.index + token.length);
      const next = tokens[index + 1]?.[0] ?? '';
      const isNamed =
        /^(?:['’]s|\s?[:：(]|\s(?:is|ist|est|es|è|é|är|er|jest|je)\s)/u.test(after) ||
        /^\p{Lu}/u.test(next) ||
        token !== token.charAt(0) + token.slice(1).toLowerCase() ||
        inside.has(token);
      if (!english && !isNamed) return;
    }
    reader.found.push({
      kind: 'name',
      text: token,
      keys: toNameForms(token).map((form) => `w:${form}`),
    });
  });
}

/** In front of a German noun, whose capital says nothing. */
const GERMAN_ARTICLE =
  /^(?:d(?:er|as|em)|(?:[kmsd]?ein|ihr|unser)(?:e[mnrs]?)?|im|ins|vom|zu[mr]|beim)$/iu;

/** A name with and without its genitive or plural. */
function toNameForms(token: string): string[] {
  const word = fold(token);
  const [base = word] = word.split(/['’]/u);
  return [...new Set([word, base, base.replace(/(?<=\p{L}{3})s$/u, ''), ...base.split('-')])];
}

/** After the marks of a list, a heading or emphasis, or after the end of another sentence. */
function beginsSentence(text: string, index: number): boolean {
  let at = index - 1;
  while (at >= 0 && /[^\S\n]|[*_#>"'“‘([\-+|`]/u.test(text[at] ?? '')) at -= 1;
  if (at < 0 || text[at] === '\n') return true;
  // `- [x] Call Ana`
  return /[.!?:;。！？—–\]]/u.test(text[at] ?? '');
}

function toTable(rows: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(
    Object.entries(rows).flatMap(([value, words]) =>
      words.split(' ').map((word) => [fold(word), value] as const),
    ),
  );
}
