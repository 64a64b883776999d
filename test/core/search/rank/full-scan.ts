import type { IndexedFile } from '../../../../core/search/index/index-file.ts';
import {
  openCollection,
  type ScopeIndex,
  type TermRow,
} from '../../../../core/search/index/collection.ts';
import type { FilePayloads } from '../../../../core/search/index/postings.ts';
import { readPlaces } from '../../../../core/search/index/block.ts';
import {
  parseQuery,
  type QueryUnit,
  type SearchQuery,
} from '../../../../core/search/rank/query.ts';
import {
  orderCandidates,
  rankCollection,
  type RankOptions,
  type Signals,
} from '../../../../core/search/rank/rank.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';
import {
  joinLengths,
  toTextSegment,
  visitAll,
  type WholeSegment,
} from '../../../support/segments.ts';

/**
 * Search without an index, in two ways: `searchTexts` reads all texts for each question and runs
 * the product's ranking; `scanNaively` shares nothing with it but words and passages: the formula
 * of docs and decisions written down once more, in maps and loops. Both are oracles for tests.
 */

export interface Document {
  /** 0 for the user's scope, 1 for the shared one. */
  scope: number;
  path: string;
  text: string;
}

export interface Result {
  path: string;
  /** Counted from 0. */
  passage: number;
  startLine: number;
  endLine: number;
  score: number;
  signals: Signals;
}

/** The segments of a scope after writing every file once, a few at a time. */
export function storeScope(files: ReadonlyMap<number, IndexedFile>): WholeSegment[] {
  const all = [...files];
  const segments: WholeSegment[] = [];
  for (let at = 0; at < all.length; at += FILES_AT_ONCE) {
    segments.push(toTextSegment(at + 1, all.slice(at, at + FILES_AT_ONCE)));
  }
  return segments;
}

const FILES_AT_ONCE = 3;

/** The segments of a scope, and its stale files. */
interface ScopeRows {
  rows: readonly WholeSegment[];
  replaced: ReadonlyMap<number, FilePayloads | null>;
}

/** What a search makes of a scope's segments. */
export function toScopeIndex({ rows: segments, replaced }: ScopeRows): ScopeIndex {
  const lengths = joinLengths(segments);
  const rows = new Map<string, TermRow[]>();
  for (const [part, whole] of segments.entries()) {
    const fileAt = (place: number): number =>
      lengths.counts(part, place) ? (whole.segment.files[place] ?? -1) : -1;
    visitAll(whole, (term, bytes) => {
      const row = { bytes, frames: () => readPlaces(bytes, fileAt) };
      rows.set(term, [...(rows.get(term) ?? []), row]);
    });
  }
  const files = [...replaced].map(([file, payloads]) => [file, payloads && { payloads }] as const);
  return { rows, lengths, replaced: new Map(files) };
}

/** The product's ranking over texts that were read this moment. */
export async function searchTexts(
  documents: readonly Document[],
  question: string,
  options: RankOptions,
): Promise<Result[]> {
  const indexed = documents.map(({ path, text }) => indexText(text, path));
  const scopes = [0, 1].map((scope) => ({
    rows: [],
    replaced: new Map(
      indexed.flatMap((own, file) =>
        documents[file]?.scope === scope ? [[file, encodeText(own)] as const] : [],
      ),
    ),
  }));
  return await searchScopes(scopes, documents, indexed, question, options);
}

/** The product's ranking over what was read of an index; a file's number is its document's. */
export async function searchScopes(
  scopes: readonly ScopeRows[],
  documents: readonly Document[],
  indexed: readonly IndexedFile[],
  question: string,
  options: RankOptions,
): Promise<Result[]> {
  const ranking = await rankCollection(
    parseQuery(question),
    openCollection(scopes.map(toScopeIndex)),
    options,
  );
  const pathOf = ({ file }: { file: number }): string => documents[file]?.path ?? '';
  const ordered = orderCandidates(ranking.candidates, pathOf, options.limit);
  const found = ordered.map(async (candidate) => {
    const { startLine = 0, endLine = 0 } =
      indexed[candidate.file]?.passages[candidate.passage] ?? {};
    return {
      path: pathOf(candidate),
      passage: candidate.passage,
      startLine,
      endLine,
      score: candidate.score,
      signals: await ranking.explain(candidate),
    };
  });
  return await Promise.all(found);
}

interface NaivePassage {
  path: string;
  number: number;
  length: number;
  /** By unit: positions of its terms in the passage's own text. */
  positions: number[][];
  /** By unit: those of the first of its terms that the passage has; pairs are made of them. */
  firstPositions: number[][];
  inContext: boolean[];
  score: number;
}

/** The scores of all files or passages that match, best first. */
export function scanNaively(
  documents: readonly Document[],
  question: string,
  group: RankOptions['group'],
): { path: string; passage: number; score: number }[] {
  const { units, size, isPhrase } = keepRarest(documents, parseQuery(question));
  const files = documents.map(({ path, text }) => readNaively(path, text, units));
  const passages = files.flatMap((file) => file.passages);
  const idf = (total: number, count: number): number =>
    Math.log(1 + (total - count + 0.5) / (count + 0.5));
  const averageLength = sum(passages.map(({ length }) => length)) / passages.length;
  const averageFile = sum(files.map(({ length }) => length)) / files.length;
  const rarity = units.map((_, unit) =>
    idf(passages.length, passages.filter((p) => p.positions[unit]?.length).length),
  );
  const contextRarity = units.map((_, unit) =>
    idf(passages.length, passages.filter((p) => p.inContext[unit]).length),
  );
  const fileRarity = units.map((_, unit) =>
    idf(files.length, files.filter((file) => file.frequencies[unit]).length),
  );
  const saturate = (tf: number, k1: number, b: number, relative: number): number =>
    (tf * (k1 + 1)) / (tf + k1 * (1 - b + b * relative));
  const words = units.flatMap(({ kind }, unit) => (kind === 'word' ? [unit] : []));
  /** How often a passage has a word of the question near the one before, in it. */
  const countPairs = (passage: NaivePassage, index: number): number => {
    const [left = -1, right = -1] = [words[index - 1], words[index]];
    return (passage.firstPositions[left] ?? []).filter((position) =>
      (passage.firstPositions[right] ?? []).some((other) =>
        isPhrase ? other === position + 1 && other < 255 : Math.abs(other - position) <= 2,
      ),
    ).length;
  };
  const phraseRarity = words.map((_, index) =>
    idf(passages.length, passages.filter((passage) => countPairs(passage, index) > 0).length),
  );
  const pairWeight = isPhrase ? 1 : 0.2;

  const results: { path: string; passage: number; score: number }[] = [];
  for (const file of files) {
    if (!file.frequencies.some((frequency) => frequency > 0)) continue;
    let filePairs = 0;
    for (const passage of file.passages) {
      const relative = averageLength > 0 ? passage.length / averageLength : 0;
      let own = 0;
      let covered = 0;
      const wholes = new Set<number>();
      units.forEach((unit, index) => {
        const tf = passage.positions[index]?.length ?? 0;
        const isCovered = unit.kind === 'word' && wholes.has(unit.group);
        if (tf > 0) {
          own += unit.weight * (rarity[index] ?? 0) * saturate(tf, 0.9, 0.1, relative);
          if (!isCovered) covered += unit.covers;
          if (unit.kind === 'whole') wholes.add(unit.group);
        }
        if (passage.inContext[index]) {
          own += unit.weight * (contextRarity[index] ?? 0);
          if (tf === 0 && unit.kind === 'word' && !isCovered) covered += 0.3;
        }
      });
      let pairs = 0;
      words.forEach((right, index) => {
        const left = words[index - 1];
        if (left === undefined) return;
        const near = countPairs(passage, index);
        if (near === 0) return;
        const least = Math.min(rarity[left] ?? 0, rarity[right] ?? 0);
        const gain = isPhrase ? (phraseRarity[index] ?? 0) : least;
        pairs += gain * saturate(near, 0.9, 0.1, relative);
      });
      filePairs += pairs;
      const share = Math.min(1, Math.max(0.3, covered) / size) ** Math.min(1, 6 / size);
      passage.score = (own + pairWeight * pairs) * share;
    }
    const whole = sum(
      units.map((unit, index) => {
        const tf = file.frequencies[index] ?? 0;
        if (tf === 0) return 0;
        const relative = averageFile > 0 ? file.length / averageFile : 1;
        return unit.weight * (fileRarity[index] ?? 0) * saturate(tf, 2, 0.6, relative);
      }),
    );
    const fileScore = whole + pairWeight * filePairs;
    const at = (number: number): number => file.passages[number]?.score ?? 0;
    const smoothed = file.passages.map(
      (_, n) => at(n) + 0.4 * at(n - 1) + 0.25 * at(n - 2) + 0.2 * at(n + 1) + 0.15 * at(n + 2),
    );
    if (group === 'passage') {
      smoothed.forEach((score, passage) => {
        if (score > 0) results.push({ path: file.path, passage, score: score + 0.5 * fileScore });
      });
    } else {
      const [best = 0, next = 0] = [...smoothed].sort((left, right) => right - left);
      const score = best + 0.3 * next + 4 * fileScore;
      results.push({ path: file.path, passage: smoothed.indexOf(best), score });
    }
  }
  return results.sort((left, right) => right.score - left.score);
}

/** Of a question of more than 64 units the 64 that stand in the fewest passages and headings. */
function keepRarest(documents: readonly Document[], query: SearchQuery): SearchQuery {
  if (query.units.length <= 64) return query;
  const indexed = documents.map(({ path, text }) => indexText(text, path));
  const count = (term: string): number =>
    sum(
      indexed.map(({ terms }) => {
        const { entries = [], contexts = [] } = terms.get(term) ?? {};
        return entries.length + contexts.length;
      }),
    );
  const counted = query.units.map((unit) => ({ unit, count: sum(unit.terms.map(count)) }));
  const ordered = counted.filter((one) => one.count > 0).sort((a, b) => a.count - b.count);
  const kept = new Set(ordered.slice(0, 64).map(({ unit }) => unit));
  const units = query.units.filter((unit) => kept.has(unit));
  const size = Math.max(1, units.filter(({ kind }) => kind === 'word').length);
  return { ...query, units, size };
}

interface NaiveFile {
  path: string;
  passages: NaivePassage[];
  length: number;
  frequencies: number[];
}

function readNaively(path: string, text: string, units: readonly QueryUnit[]): NaiveFile {
  const { passages, terms, contextLength } = indexText(text, path);
  const read = passages.map(({ length }, number): NaivePassage => {
    const byTerm = units.map((unit) =>
      unit.terms.map((term) => [
        ...(terms.get(term)?.entries.find(({ passage }) => passage === number)?.positions ?? []),
      ]),
    );
    const positions = byTerm.map((lists) => lists.flat());
    const firstPositions = byTerm.map((lists) => lists.find(({ length }) => length > 0) ?? []);
    const inContext = units.map((unit) =>
      unit.terms.some((term) =>
        terms
          .get(term)
          ?.contexts.some(({ passage, count }) => number >= passage && number < passage + count),
      ),
    );
    return { path, number, length, positions, firstPositions, inContext, score: 0 };
  });
  const frequencies = units.map((unit, index) => {
    const entries = sum(read.map(({ positions }) => positions[index]?.length ?? 0));
    // A run of a second form counts where no run of the first form is.
    const known = new Set<number>();
    let runs = 0;
    for (const term of unit.terms) {
      for (const { passage, count } of terms.get(term)?.contexts ?? []) {
        const added = Array.from({ length: count }, (_, n) => passage + n).filter(
          (n) => !known.has(n),
        );
        runs += added.filter((n) => !added.includes(n - 1)).length;
        for (const number of added) known.add(number);
      }
    }
    return entries + 3 * runs;
  });
  return {
    path,
    passages: read,
    length: sum(passages.map(({ length }) => length)) + 3 * contextLength,
    frequencies,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
