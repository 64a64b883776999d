import { parseInboxLine, withoutStamp } from '../../edits/inbox-line.ts';
import { withoutMarks } from '../../edits/markdown.ts';
import type { LineView } from '../../edits/views.ts';
import { readSubjects } from '../../edits/subject.ts';
import type { EditedMemory } from '../../edits/edited-memory.ts';
import { toBare } from '../../edits/loose-text.ts';
import { Workspace } from '../../edits/workspace.ts';
import { toLineView } from '../../edits/views.ts';
import { splitLines } from '../../files/line-ends.ts';
import { toDigits } from '../../values/digits.ts';
import { readLanguages } from '../../values/language.ts';
import { hasNegation, modalsOf } from '../../values/words.ts';
import { isEnglishText } from '../../search/text/tokenise.ts';
import { readWords } from '../../search/text/words.ts';
import type { Question } from './prompt.ts';

/** How much alike a fact and a line must be. */
type Likeness =
  /** Word for word, but for articles, "I am", and the "s" of the third person. */
  | 'same'
  /** The line has every word of the fact, in their order: a model says that it is known. */
  | 'covered';

/** Rows between two steps. */
const ROWS = 500;
/**
 * The lines of memory that say a fact, one for each sentence of it; `null` where a sentence is said by
 * none. A line about somebody else, with another denial or with another "may" does not say it, nor does
 * an open task, a line that is crossed out, code or a comment. A fact with words such as "yesterday" is
 * said by a line of the inbox from the same day alone.
 */
export function* findSaying(
  memory: EditedMemory,
  { fact, speaker, day, times }: Pick<Question, 'fact' | 'speaker' | 'day' | 'times'>,
  likeness: Likeness,
): Generator<null, LineView[] | null> {
  const isTimed = times.phrases.length > 0;
  // A pinned line says its fact, although it is protected.
  const files = memory.files.map((file) => ({ ...file, content: withoutMarks(file.content) }));
  const workspace = yield* Workspace.open({ files, paths: memory.paths });
  const paths = memory.files.map(({ path }) => path);
  const subjects = yield* readSubjects(workspace, paths);
  const nowhere = { path: '', headings: speaker === null ? [] : ['People', speaker], parents: [] };
  const found: LineView[] = [];
  for (const sentence of toSentences(fact)) {
    const wanted = toTerms(sentence, sentence);
    if (wanted.length === 0) continue;
    const about = subjects.ofLine(sentence, nowhere);
    let line: LineView | null = null;
    for (const path of paths) {
      if (line !== null) break;
      for (const [at, row] of workspace.live(path).entries()) {
        if (at % ROWS === 0) yield null;
        if (row.heading !== null || row.isProtected || row.text.trim() === '') continue;
        const stamp = parseInboxLine(row.text);
        if (isTimed && stamp?.day !== day) continue;
        const said = toBare(withoutStamp(row.text));
        if (!isAlike(sentence, said, { above: workspace.headingsOf(row), likeness })) continue;
        if (subjects.differ([subjects.ofRow(row), about])) continue;
        const whole = memory.files.find((file) => file.path === path)?.content ?? '';
        const text = splitLines(whole)[(row.line ?? 0) - 1] ?? row.text;
        line = { ...toLineView(workspace, row), text };
        break;
      }
    }
    if (line === null) return null;
    found.push(line);
  }
  return found.length === 0 ? null : found;
}

function isAlike(
  sentence: string,
  said: string,
  { above, likeness }: { above: readonly string[]; likeness: Likeness },
): boolean {
  if (UNDONE.test(said) || isQuestion(sentence) !== isQuestion(said)) return false;
  // Most lines share no word: they are done with soonest.
  const both = `${sentence}\n${said}`;
  const wanted = toTerms(sentence, both);
  const own = toTerms(said, both);
  const isSaid =
    likeness === 'same'
      ? wanted.length === own.length && wanted.every((term, at) => term === own[at])
      : isCovered(wanted, { own, above: new Set(above.flatMap((title) => toTerms(title, both))) });
  if (!isSaid) return false;
  const whole = [...above, said].join('\n');
  if (hasNegation(sentence) !== hasNegation(whole)) return false;
  return (
    isEqual(modalsOf(sentence), modalsOf(said)) &&
    isEqual(limitsOf(sentence, both), limitsOf(whole, both))
  );
}

function isEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((value) => other.has(value));
}

/** An open task, and what is crossed out. */
const UNDONE = /^\[ ?\]|~~/;

function isQuestion(text: string): boolean {
  return /[?？؟]\s*$/u.test(text);
}

/** Words that say that the rest was true once, is true in one case, or is what somebody says. */
const LIMITS = new Set(
  (
    'was were had been did used once formerly previously ex until till before after only just except says said thinks claims ' +
    'war waren hatte fruher damals ehemals bis nur sagt era eran antes hasta solo solamente dice etait avait avant autrefois jusqu seulement dit ' +
    'prima fino soltanto apenas ate dizia vroeger tot alleen zei'
  ).split(' '),
);

function limitsOf(text: string, surrounding: string): Set<string> {
  return new Set(toTerms(text, surrounding).filter((term) => LIMITS.has(term)));
}

/** Whether a line has the words in their order: tea rather than coffee is not coffee rather than tea. */
function isCovered(
  wanted: readonly string[],
  { own, above }: { own: readonly string[]; above: ReadonlySet<string> },
): boolean {
  let from = 0;
  for (const term of wanted) {
    const at = own.indexOf(term, from);
    if (at !== -1) from = at + 1;
    else if (own.includes(term) || !above.has(term)) return false;
  }
  return from > 0;
}

/** The words of a text, in order, without those that a note leaves out; `surrounding` tells the language. */
function toTerms(text: string, surrounding: string): string[] {
  const isEnglish = isEnglishText(surrounding);
  const words = readWords(toDigits(withSigns(text.replace(USER, '')), readLanguages(surrounding)));
  return words.flatMap(({ kind, whole, parts }) => {
    if (kind !== 'word') return [...parts];
    const word = whole ?? parts.join('');
    if (!isEnglish) return [word];
    return LEFT_OUT.has(word) ? [] : [word === 'has' ? 'have' : withoutEnding(word)];
  });
}

/** The user as the subject, which a note about them leaves out. */
const USER =
  /^(?:(?:the|der|die|el|la|le|il|de)\s)?(?:l['’])?(?:user|nutzer|benutzer|usuario|utilisateur|utente|gebruiker)(?=\s)/iu;
const LEFT_OUT = new Set(['a', 'an', 'the', 'i', 'my', 'am', 'is', 'are', 'im', 'that']);

/** A verb without the "s" of the third person, a noun without that of the plural. */
function withoutEnding(word: string): string {
  if (word.length < 4 || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.replace(/(?<=ch|sh|x|ss|o)es$|s$/, '');
}

/** A text in which the signs of a number are part of it: $5 is not 5, nor is -5, 5% or 5 pm. */
function withSigns(text: string): string {
  return text
    .replace(/(\d)\s?([ap])\.?m\b\.?/giu, '$1$2m')
    .replace(
      /((?<![\p{L}\p{N}])[-−])?(\p{Sc})?\s?(\d[\d.,:]*)(?:\s?(\p{Sc}|[%‰°]))?/gu,
      (
        all,
        minus: string | undefined,
        before: string | undefined,
        number: string,
        after?: string,
      ) =>
        [minus, before, after].every((sign) => sign === undefined)
          ? all
          : ` ${number}${minus === undefined ? '' : 'minus'}${[before, after].map(toLetters).join('')} `,
    );
}

function toLetters(sign: string | undefined): string {
  return sign === undefined ? '' : `sign${sign.codePointAt(0) ?? 0}`;
}

function toSentences(fact: string): string[] {
  return fact
    .split(/\n|(?<=[.!?。！？])\s+/u)
    .map((sentence) => sentence.trim().replace(REQUEST, '').trim())
    .filter((sentence) => sentence !== '');
}

/** What asks to remember, and is no part of the fact. */
const REQUEST =
  /^(?:(?:please|bitte|por favor|per favore|s'il te pla[iî]t)[,\s]{1,3})?(?:remember|note|keep in mind|don['’]t forget|merke? dir|notiere?|vergiss nicht|recuerda|anota|no olvides|souviens-toi|n'oublie pas|ricorda(?:ti)?|non dimenticare|lembre(?:-se)?|onthoud)\b[,:]?\s{0,3}(?:that|dass|que|che|dat)?\b/iu;
