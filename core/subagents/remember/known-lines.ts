import { likeness, missingSpecifics, termsOf } from '../evidence.ts';
import type { Pause } from '../../pause.ts';
import { WorkBudget } from '../../files/work-budget.ts';
import type { ShownFile } from './shown-file.ts';

/** A line that is this much like another one says the same. */
const SAME = 0.8;
/** What is a whole number but for its last bits is meant to be one. */
const TOLERANCE = 1e-9;
/** Steps of all comparisons of one proposal: about two seconds, in slices. */
const COMPARE_STEPS = 2 ** 31;
/** Steps to read the terms of a line, or to look for its specifics, for each of its characters. */
const READ_STEPS = 300;
const TERM_STEPS = 50;

/** Where a line stands, from 1. */
interface Place {
  path: string;
  line: number;
}

interface KnownLine {
  text: string;
  terms: ReadonlySet<string>;
  places: Place[];
}

/** The lines of a memory by what they say. */
export interface KnownLines {
  /** Where a line stands that says the same as `text`, among those that `counts` says yes to. */
  findSame(text: string, counts: (place: Place) => boolean): Promise<Place | null>;
}

/**
 * Reads the lines of files. Both this and the search take their time in slices, and throw
 * `WORK_LIMIT_EXCEEDED` where there is too much to compare.
 */
export async function readKnownLines(
  files: Iterable<ShownFile>,
  pause: Pause,
): Promise<KnownLines> {
  const budget = new WorkBudget({
    limit: 'compareSteps',
    max: COMPARE_STEPS,
    message:
      'The text and the memory files that it is about are too much to compare. Remember a shorter text, or split those files.',
  });
  const lines = new Map<string, KnownLine>();
  const holders = new Map<string, KnownLine[]>();
  for (const { path, lines: texts } of files) {
    for (const [index, text] of texts.entries()) {
      const turn = pause();
      if (turn !== undefined) await turn;
      const place = { path, line: index + 1 };
      const known = lines.get(text);
      if (known !== undefined) {
        known.places.push(place);
        continue;
      }
      budget.spend(READ_STEPS * text.length);
      const line = { text, terms: termsOf(text), places: [place] };
      lines.set(text, line);
      for (const term of line.terms) {
        const holding = holders.get(term);
        if (holding === undefined) holders.set(term, [line]);
        else holding.push(line);
      }
    }
  }

  return {
    async findSame(text, counts) {
      const terms = termsOf(text);
      const compared = new Set<KnownLine>();
      for (const term of listRarest(terms, holders)) {
        for (const line of holders.get(term) ?? []) {
          if (compared.has(line)) continue;
          compared.add(line);
          budget.spend(TERM_STEPS * terms.size);
          const turn = pause();
          if (turn !== undefined) await turn;
          if (likeness(terms, line.terms) < SAME) continue;
          const place = line.places.find(counts);
          if (place === undefined) continue;
          budget.spend(READ_STEPS * (text.length + line.text.length));
          if (missingSpecifics(text, line.text).length === 0) return place;
        }
      }
      return null;
    },
  };
}

/**
 * Of the terms of a line the rarer ones: of n terms a line that is alike shares ⌈0.8 n⌉, so it has
 * at least one of these.
 */
function listRarest(
  terms: ReadonlySet<string>,
  holders: ReadonlyMap<string, readonly KnownLine[]>,
): string[] {
  const shared = Math.ceil(SAME * terms.size - TOLERANCE);
  const count = (term: string): number => holders.get(term)?.length ?? 0;
  return [...terms]
    .sort((one, other) => count(one) - count(other))
    .slice(0, terms.size - shared + 1);
}
