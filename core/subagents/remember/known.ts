import { parseInboxLine, withoutStamp } from '../../edits/inbox-line.ts';
import type { LineView } from '../../edits/views.ts';
import { readSubjects } from '../../edits/subject.ts';
import { type EditedMemory, toBare, Workspace } from '../../edits/workspace.ts';
import { toLineView } from '../../edits/views.ts';
import { withDigits } from '../../language/number-words.ts';
import { hasNegation, modalsOf } from '../../language/words.ts';
import { isStopTerm } from '../../search/text/english.ts';
import { isEnglishText, toTokens } from '../../search/text/tokenise.ts';
import { readWords } from '../../search/text/words.ts';
import type { Question } from './prompt.ts';

/** How much alike a fact and a line must be. */
type Likeness =
  /** Word for word, but for stop words, spelling and endings. */
  | 'same'
  /** The line has every word of the fact that means something, in their order: a model says that it is known. */
  | 'covered';

/** Rows between two steps. */
const ROWS = 500;
/** Words for whom a fact is about, which a line about the user leaves out. */
const USER = new Set(['user', 'nutzer', 'benutzer', 'usuario', 'utilisateur', 'utente']);

/**
 * The lines of memory that say a fact, one for each sentence of it; `null` where a sentence is said by
 * none. A line about somebody else, with another denial or with another "may" does not say it. A fact
 * with words such as "yesterday" is said by a line of the inbox from the same day alone.
 */
export function* findSaying(
  memory: EditedMemory,
  { fact, speaker, day, times }: Pick<Question, 'fact' | 'speaker' | 'day' | 'times'>,
  likeness: Likeness,
): Generator<null, LineView[] | null> {
  const isTimed = times.phrases.length > 0;
  const workspace = yield* Workspace.open({ files: memory.files, paths: memory.paths });
  const paths = memory.files.map(({ path }) => path);
  const subjects = yield* readSubjects(workspace, paths);
  const nowhere = { path: '', headings: speaker === null ? [] : [speaker], parents: [] };
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
        if (row.heading !== null || row.text.trim() === '') continue;
        const stamp = parseInboxLine(row.text);
        if (isTimed && stamp?.day !== day) continue;
        const said = toBare(withoutStamp(row.text));
        if (!isAlike(sentence, said, { above: workspace.headingsOf(row), likeness })) continue;
        if (subjects.differ([subjects.ofRow(row), about])) continue;
        line = toLineView(workspace, row);
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
  // Most lines share no word: they are done with soonest.
  const both = `${sentence}\n${said}`;
  const wanted = toTerms(sentence, both);
  const own = toTerms(said, both);
  const isSaid =
    likeness === 'same'
      ? wanted.length === own.length && wanted.every((term, at) => term === own[at])
      : isCovered(wanted, { own, above: new Set(above.flatMap((title) => toTerms(title, both))) });
  if (!isSaid || hasNegation(sentence) !== hasNegation(said)) return false;
  const [one, other] = [modalsOf(sentence), modalsOf(said)];
  return one.size === other.size && [...one].every((modal) => other.has(modal));
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

/** The words of a text that mean something, in order; `surrounding` tells the language. */
function toTerms(text: string, surrounding: string): string[] {
  const tokens = toTokens(readWords(withDigits(text)), isEnglishText(surrounding));
  return tokens.map(({ term }) => term).filter((term) => !isStopTerm(term) && !USER.has(term));
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
