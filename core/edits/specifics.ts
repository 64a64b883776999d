import { LRUCache } from 'lru-cache';
import { isStopWord } from '../search/text/english.ts';
import { isEnglishText } from '../search/text/tokenise.ts';
import { isOpener } from '../values/sentence-starters.ts';
import { fold } from '../values/fold.ts';
import { readLanguages } from '../values/language.ts';
import { findNumberWords } from '../values/number-words.ts';
import { blankOut, readValues, type Value } from '../values/values.ts';
import { isTopic, relationOf } from '../values/words.ts';
import { takeStart } from '../encoding/take-text.ts';

export type SpecificKind = Value['kind'] | 'address' | 'link' | 'quote' | 'name';

/** Something in a text that must be neither lost nor made up; see {@link Value}. */
export interface Specific extends Omit<Value, 'kind'> {
  kind: SpecificKind;
}

/**
 * The numbers, dates, times, amounts, addresses, links, quoted texts and names of a text.
 *
 * @param around the languages of the text around it.
 */
export function listSpecifics(text: string, around: readonly string[] = []): Specific[] {
  return [...toPieces(text, 0)].flatMap((piece) => specificsOf(piece, around));
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

function readPiece(piece: string, languages: readonly string[]): readonly Specific[] {
  const reader = new Reader(piece);
  readQuotes(reader);
  readAddresses(reader);
  const { values, rest } = readValues(reader.rest, languages);
  reader.found.push(...values);
  reader.rest = rest;
  readWordsOfRelation(reader);
  readNames(reader);
  return reader.found;
}

/** Each line of an operation is compared with several texts. */
const PIECES = new LRUCache<string, readonly Specific[]>({ max: 400 });

function specificsOf(piece: string, around: readonly string[]): readonly Specific[] {
  const languages = readLanguages(piece, around);
  const key = `${languages.join()}\n${piece}`;
  let specifics = PIECES.get(key);
  if (specifics === undefined) {
    specifics = readPiece(piece, languages);
    PIECES.set(key, specifics);
  }
  return specifics;
}

/**
 * Specifics of a text whose value its grounds do not have: 2 is two, 2pm is 14:00, $2500 is $2,500.
 * Yields now and then.
 */
export function* missingSpecifics(
  text: string,
  grounds: string,
  around: readonly string[] = [],
): Generator<null, Specific[]> {
  const known = yield* readKnown(grounds, around);
  const missing: Specific[] = [];
  for (const piece of toPieces(text, 0)) {
    yield null;
    for (const specific of specificsOf(piece, around)) {
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

function* readKnown(grounds: string, around: readonly string[]): Generator<null, Known> {
  const kept = KNOWN.get(`${around.join()}\n${grounds}`);
  if (kept !== undefined) return kept;
  const keys = new Set<string>();
  for (const piece of toPieces(grounds, OVERLAP)) {
    yield null;
    for (const key of readKnownKeys(piece, around)) keys.add(key);
  }
  const texts: string[] = [];
  for (const line of toLines(grounds)) {
    yield null;
    const spaced = toSpaced(line).trim();
    if (spaced !== '') texts.push(spaced);
  }
  const known = { keys, text: texts.join(' ') };
  KNOWN.set(`${around.join()}\n${grounds}`, known);
  return known;
}

function* readKnownKeys(piece: string, around: readonly string[]): Generator<string> {
  for (const { keys, alsoKnownBy } of specificsOf(piece, around)) {
    yield* keys;
    yield* alsoKnownBy;
  }
  for (const [token] of piece.matchAll(WORD)) {
    for (const form of toNameForms(token)) yield `w:${form}`;
  }
  // "a dog" is one dog where it is looked up; "a" alone is no number.
  const languages = readLanguages(piece, around);
  for (const { value } of findNumberWords(piece, languages, { hasOnes: true })) yield `n:${value}`;
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
    this.rest = text.normalize('NFC');
  }

  take(
    pattern: RegExp,
    read: (match: RegExpExecArray) => { kind: SpecificKind; keys: string[]; text?: string },
    keep = false,
  ): void {
    const taken: { start: number; end: number }[] = [];
    for (const match of this.rest.matchAll(pattern)) {
      this.found.push({ text: match[0].trim(), alsoKnownBy: [], ...read(match) });
      taken.push({ start: match.index, end: match.index + match[0].length });
    }
    if (!keep) this.rest = blankOut(this.rest, taken);
  }
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

function readWordsOfRelation(reader: Reader): void {
  for (const [token] of fold(reader.rest).matchAll(WORD)) {
    const relation = relationOf(token);
    if (relation !== null) {
      reader.found.push({ kind: 'name', text: token, keys: [`r:${relation}`], alsoKnownBy: [] });
    }
  }
}

const WORD = /[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*/gu;

function readNames(reader: Reader): void {
  const { rest } = reader;
  const isEnglish = isEnglishText(rest);
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
      // No list tells a name from a common word at the beginning: its company does.
      const after = rest.slice(match.index + token.length);
      const next = tokens[index + 1]?.[0] ?? '';
      const isNamed =
        /^(?:['’]s|\s?[:：(]|\s(?:is|ist|est|es|è|é|är|er|jest|je)\s)/u.test(after) ||
        /^\p{Lu}/u.test(next) ||
        token !== token.charAt(0) + token.slice(1).toLowerCase() ||
        inside.has(token);
      if (!isNamed && !(isEnglish && /^\s\p{Ll}+s\s/u.test(after))) return;
    }
    reader.found.push({
      kind: 'name',
      text: token,
      keys: toNameForms(token).map((form) => `w:${form}`),
      alsoKnownBy: [],
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
