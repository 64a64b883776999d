import { findAlwaysShown, isKeptOut } from '../../edits/markdown.ts';
import { isStopTerm } from '../text/english.ts';
import { isEnglish, type LanguageHints } from '../text/language.ts';
import { splitInSteps, type Passage } from '../text/passages.ts';
import { readLanguageHints, toTokens } from '../text/tokenise.ts';
import { readWords, type Word } from '../text/words.ts';

/** Everything that the index stores for one file. */
export interface IndexedFile {
  /** At least one, also for an empty file, which can be found by its path. */
  passages: readonly IndexedPassage[];
  /**
   * The number of context runs of its terms without stop words: the length of its path and
   * headings.
   */
  contextLength: number;
  /** By term, in the order of their first occurrence. */
  terms: ReadonlyMap<string, FilePostings>;
}

export interface IndexedPassage extends Passage {
  /** The number of terms in its own text, without headings, path and stop words. */
  length: number;
}

/** The occurrences of one term in one file. */
export interface FilePostings {
  /**
   * Runs of passages with the term in their path, headings or first table row; ascending, not
   * overlapping.
   */
  contexts: readonly ContextRun[];
  /** Passages with the term in their own text, ascending. */
  entries: readonly PassageEntry[];
}

export interface ContextRun {
  /** The first passage, counted from 0. */
  passage: number;
  count: number;
}

export interface PassageEntry {
  passage: number;
  /** Ascending, at least one, at most `MAX_FREQUENCY`, none above `MAX_POSITION`. */
  positions: readonly number[];
}

/** Higher frequencies of a term in one passage count as this one. */
export const MAX_FREQUENCY = 64;
/**
 * The last position that fits into a byte. All later words have this position and form no pairs.
 */
export const MAX_POSITION = 255;

/**
 * Reads a file for the index, passage by passage: its passages, and for each term the passages that
 * have it. A large file takes tens of milliseconds; run it with `inSlices`.
 *
 * `path` is the file's path in its scope (`notes/tea.md`). Its words, without `.md`, count for
 * every passage, as do the passage's headings. The same text and path always give the same result.
 */
export function* indexFile(text: string, path: string): Generator<null, IndexedFile> {
  const passages = yield* splitInSteps(text);
  const readings: { passage: Passage; words: Word[]; hints: LanguageHints }[] = [];
  for (const passage of passages) {
    const own = text.slice(passage.start, passage.end);
    const words = readWords(own);
    readings.push({ passage, words, hints: readLanguageHints(words, own) });
    yield null;
  }
  const fileHints = sumHints(readings.map(({ hints }) => hints));
  const contexts = new ContextReader(path.endsWith('.md') ? path.slice(0, -3) : path);
  const builder = new Builder();
  if (passages.length === 0) builder.add(EMPTY_PASSAGE, [], contexts.read([], true));
  for (const { passage, words, hints } of readings) {
    const english = isEnglish(hints, fileHints);
    builder.add(passage, toTokens(words, english), contexts.read(passage.context, english));
    yield null;
  }
  if (findAlwaysShown(text) !== null) builder.mark(ALWAYS_TERM);
  if (isKeptOut(text)) builder.mark(NEVER_TERM);
  return builder.finish();
}

/** The term of files with `context: always` in their front matter. No word of a text makes it. */
export const ALWAYS_TERM = ':always';

/** The same for `context: never`. Files that were indexed before there was such a field lack it. */
export const NEVER_TERM = ':never';

const EMPTY_PASSAGE: Passage = {
  startLine: 1,
  endLine: 1,
  start: 0,
  end: 0,
  heading: null,
  headingLines: [],
  context: [],
};

/** The terms of a path and a passage's context. */
class ContextReader {
  readonly #path: string;
  /** By language and title, because a file of many small sections repeats the same titles. */
  readonly #known = new Map<string, readonly string[]>();

  constructor(path: string) {
    this.#path = path;
  }

  read(context: readonly string[], english: boolean): ReadonlySet<string> {
    return new Set([this.#path, ...context].flatMap((title) => this.#readTitle(title, english)));
  }

  #readTitle(title: string, english: boolean): readonly string[] {
    const key = `${english} ${title}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const terms = toTokens(readWords(title), english).map(({ term }) => term);
    this.#known.set(key, terms);
    return terms;
  }
}

function sumHints(hints: readonly LanguageHints[]): LanguageHints {
  const sum = { english: 0, other: 0 };
  for (const { english, other } of hints) {
    sum.english += english;
    sum.other += other;
  }
  return sum;
}

interface MutablePostings {
  contexts: ContextRun[];
  entries: { passage: number; positions: number[] }[];
}

class Builder {
  readonly #passages: IndexedPassage[] = [];
  readonly #terms = new Map<string, MutablePostings>();
  #contextLength = 0;

  add(
    passage: Passage,
    tokens: readonly { term: string; position: number }[],
    context: ReadonlySet<string>,
  ): void {
    const number = this.#passages.length;
    const length = tokens.reduce((sum, { term }) => (isStopTerm(term) ? sum : sum + 1), 0);
    this.#passages.push({ ...passage, length });
    for (const { term, position } of tokens) {
      const { entries } = this.#postingsOf(term);
      let entry = entries.at(-1);
      if (entry?.passage !== number) {
        entry = { passage: number, positions: [] };
        entries.push(entry);
      }
      if (entry.positions.length < MAX_FREQUENCY) {
        entry.positions.push(Math.min(position, MAX_POSITION));
      }
    }
    for (const term of context) {
      const { contexts } = this.#postingsOf(term);
      const run = contexts.at(-1);
      if (run !== undefined && run.passage + run.count === number) {
        run.count++;
      } else {
        contexts.push({ passage: number, count: 1 });
        if (!isStopTerm(term)) this.#contextLength++;
      }
    }
  }

  /** Adds a term to the first passage that counts in no length. */
  mark(term: string): void {
    this.#postingsOf(term).entries.push({ passage: 0, positions: [0] });
  }

  finish(): IndexedFile {
    return {
      passages: this.#passages,
      contextLength: this.#contextLength,
      terms: this.#terms,
    };
  }

  #postingsOf(term: string): MutablePostings {
    let postings = this.#terms.get(term);
    if (postings === undefined) {
      postings = { contexts: [], entries: [] };
      this.#terms.set(term, postings);
    }
    return postings;
  }
}
