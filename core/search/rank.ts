import type { Collection, CollectionFile } from './collection.ts';
import { MAX_POSITION } from './index-file.ts';
import { joinLists, type LengthsTable, type PostingsList } from './postings.ts';
import type { QueryUnit, SearchQuery } from './query.ts';

export interface RankOptions {
  /** `file`: each file once, with its best passage. `passage`: each passage. */
  group: 'file' | 'passage';
  /** How many results are wanted, at least 1. */
  limit: number;
  /** Only these files can be results (a path prefix); all files count for the statistics. */
  includes?: (file: CollectionFile) => boolean;
}

/** A result before ties are broken. */
export interface Candidate extends CollectionFile {
  /** Of the best passage, counted from 0. */
  passage: number;
  score: number;
  /** The passage's number in the collection. */
  slot: number;
}

/** What a score is made of; see `sumSignals`. Each is 0 where nothing matched. */
export interface Signals {
  /** BM25 of the passage's own words. */
  passage: number;
  /** Of its headings and the file's path. */
  context: number;
  /** Of neighbouring words of the question that stand close together in it. */
  pairs: number;
  /** The share of the question that it holds, 0 to 1; the three above are multiplied by it. */
  coordination: number;
  /** What the passages before and after add. */
  neighbours: number;
  /** What the next best passage of the file adds; 0 for a passage result. */
  nextBest: number;
  /** What the file as a whole adds. */
  file: number;
  /** How many words of the question the passage holds, and how many there are. */
  matched: number;
  words: number;
}

export interface Ranking {
  /** The best `limit` candidates and all that tie with the last of them, in no order. */
  candidates: readonly Candidate[];
  /** How a candidate's score came about. */
  explain(candidate: Candidate): Signals;
}

/**
 * Scores a collection for a question: BM25 over passages and files together.
 *
 * A passage's score is BM25 of its words, plus BM25 of its headings and path, plus a little for
 * pairs, times the share of the question that it holds; plus a part of its neighbours' scores, plus
 * a part of its file's BM25. Each sum is made in the order of the question, so that the same texts
 * give the same digits on every database. Where ties are broken: `orderCandidates`.
 *
 * No path and no text is asked for, so that the ranking can run before they are read.
 *
 * The constants are below, each with what another value did: on conversations (786 questions; there
 * passages reach R@5 0.697, nDCG 0.600, files R@5 0.890, nDCG 0.851, MRR 0.844) and, so as not to fit
 * those alone, nDCG on two public collections of abstracts: CISI (0.412, 76 long questions) and CACM
 * (0.522, 52). Differences under 0.02 may be noise; "even" is under 0.004 on conversations.
 *
 * @throws MemoryError `INTERNAL` with `details.reason: 'index_damaged'` as `openCollection` does.
 */
export function rankCollection(
  query: SearchQuery,
  collection: Collection,
  options: RankOptions,
): Ranking {
  const scores = scoreCollection(query, collection);
  const isPassage = options.group === 'passage';
  const weight = isPassage ? FILE_WEIGHT_OF_PASSAGE : FILE_WEIGHT;
  const { firstSlots } = collection.lengths;
  const best = new BestCandidates(options.limit);
  collection.files.forEach((key, file) => {
    if (scores.matchedFiles[file] === 0 || options.includes?.(key) === false) return;
    const first = firstSlots[file] ?? 0;
    const end = firstSlots[file + 1] ?? 0;
    const added = weight * fileScore(scores, file);
    let topSlot = first;
    let top = 0;
    let next = 0;
    for (let slot = first; slot < end; slot++) {
      const score = passageScore(scores, slot, first, end);
      if (isPassage) {
        if (score > 0) best.add(score + added, file, slot);
      } else if (score > top) {
        next = top;
        top = score;
        topSlot = slot;
      } else if (score > next) {
        next = score;
      }
    }
    if (!isPassage) best.add(top + NEXT_BEST_WEIGHT * next + added, file, topSlot);
  });
  return {
    candidates: best.list().map(({ score, file, slot }) => ({
      ...(collection.files[file] ?? { scope: 0, file: 0 }),
      passage: slot - (firstSlots[file] ?? 0),
      score,
      slot,
    })),
    explain: ({ slot }) => explainSlot(scores, slot, weight, isPassage),
  };
}

/**
 * The candidates in the order of the answer: by score, then path, then place in the file.
 *
 * Paths are compared by UTF-16 units, without regard to any locale.
 */
export function orderCandidates(
  candidates: readonly Candidate[],
  pathOf: (file: CollectionFile) => string,
  limit: number,
): Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, path: pathOf(candidate) }))
    .sort((left, right) => {
      if (left.candidate.score !== right.candidate.score) {
        return right.candidate.score - left.candidate.score;
      }
      if (left.path !== right.path) return left.path < right.path ? -1 : 1;
      return left.candidate.passage - right.candidate.passage;
    })
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** The score that a candidate's signals make. */
export function sumSignals(signals: Signals): number {
  const { passage, context, pairs, coordination, neighbours, nextBest, file } = signals;
  return (passage + context + pairs) * coordination + neighbours + nextBest + file;
}

/**
 * BM25 of passages: short texts of about one length, in which a word's second occurrence says
 * little. k1 from 0.6 to 1.2 is even; b 0.3 loses 0.004 nDCG of passages, 0.005 MRR of files.
 */
const PASSAGE_K1 = 0.9;
const PASSAGE_B = 0.1;

/**
 * BM25 of files, which differ in length. k1 1.2 loses 0.004 nDCG of files and 0.011 on CISI; b 0.3
 * loses 0.011 on CISI, 0.75 loses 0.009 on CACM.
 */
const FILE_K1 = 2;
const FILE_B = 0.6;

/**
 * A heading's or path's word counts as a field of its own with its own rarity, so that a name in
 * every title doesn't hide who speaks in a passage: counted among the passage's words instead, a
 * first version had 0.578 nDCG of passages against 0.589. Weights 0 to 1 are even on these texts,
 * whose titles say little; in notes the heading often names the matter, hence the full weight.
 */
const CONTEXT_WEIGHT = 1;

/**
 * What a word that stands in headings or path alone counts for coordination. 1 loses 0.011 nDCG of
 * passages; 0 is even, but "Ann's tea" is to prefer the item Tea below a heading Ann.
 */
const CONTEXT_COVERAGE = 0.3;

/** How often a heading's or path's word counts in the file's BM25, once a run: 1 loses 0.017 on CACM. */
const CONTEXT_FREQUENCY = 3;

/**
 * Words of the question that follow each other count as a pair when at most this many words apart
 * (1 to 5 are even). Without pairs files lose 0.004 nDCG and 0.005 MRR; twice the weight is even, and
 * so are all pairs of words instead of neighbouring ones. A pair is as rare as the less rare word.
 */
const PAIR_DISTANCE = 2;
const PAIR_WEIGHT = 0.2;

/**
 * Up to this many words the score is multiplied by the share that matched; with more, by a root of
 * it (the power 6/n). Without coordination passages lose 0.017 R@5 and nDCG. The whole share for long
 * questions is even here, but cost 0.03 nDCG on the abstracts of Cranfield when it was first tried.
 */
const COORDINATED_WORDS = 6;

/**
 * How much of the scores of the passages before (nearest first) and after is added. Without them
 * passages lose 0.06 R@5. A line is understood by what precedes it, so that this counts more: even
 * weights (0.3, 0.15) lose 0.015. A third neighbour gave nothing.
 */
const BEFORE = [0.4, 0.25] as const;
const AFTER = [0.2, 0.15] as const;

/** How much of the file's BM25 a passage result gets: 0.3 loses 0.006 R@5, 0.8 loses 0.004 R@10. */
const FILE_WEIGHT_OF_PASSAGE = 0.5;

/** How much of it a file result gets: 1.5 loses 0.006 R@5 and 0.021 on CISI; 3 and 6 are even. */
const FILE_WEIGHT = 4;

/** How much of its second best passage a file result gets: 0 to 0.5 are even. */
const NEXT_BEST_WEIGHT = 0.3;

interface Scores {
  query: SearchQuery;
  collection: Collection;
  /** By slot: BM25 of its own words, of its headings and path, and of pairs, unweighted. */
  own: Float64Array;
  context: Float64Array;
  pairs: Float64Array;
  /** By slot: how many words of the question it has. */
  matched: Float64Array;
  /** By slot: what the passage's own text, headings, path and pairs make together. */
  combined: Float64Array;
  /** By file. */
  files: Float64Array;
  filePairs: Float64Array;
  matchedFiles: Uint8Array;
}

/** What one unit's postings need while they are added; made once a query. */
interface Scratch {
  /** By slot: the entry, counted from 1, of the last word of the question that it has. */
  entryOf: Int32Array;
  /** By slot: the identifier that it last had as a whole. */
  wholes: Int32Array;
  /** By file: how often it has the unit. All zero between units. */
  frequencies: Int32Array;
  averageFileLength: number;
}

/** A word of the question with what was found of it. */
interface Found {
  unit: QueryUnit;
  list: PostingsList;
  rarity: number;
}

function scoreCollection(query: SearchQuery, collection: Collection): Scores {
  const slots = collection.lengths.slotCount;
  const files = collection.files.length;
  const scores: Scores = {
    query,
    collection,
    own: new Float64Array(slots),
    context: new Float64Array(slots),
    pairs: new Float64Array(slots),
    matched: new Float64Array(slots),
    combined: new Float64Array(slots),
    files: new Float64Array(files),
    filePairs: new Float64Array(files),
    matchedFiles: new Uint8Array(files),
  };
  let totalLength = 0;
  for (let file = 0; file < files; file++) totalLength += lengthOfFile(collection.lengths, file);
  const scratch: Scratch = {
    entryOf: new Int32Array(slots),
    wholes: new Int32Array(slots),
    frequencies: new Int32Array(files),
    averageFileLength: files === 0 ? 0 : totalLength / files,
  };
  let previous: Found | null = null;
  for (const unit of query.units) {
    const list = readUnit(unit, collection);
    const found = { unit, list, rarity: rarityOf(slots, list.count) };
    addFiles(scores, scratch, found);
    addOwn(scores, scratch, found);
    if (unit.kind !== 'word') {
      addContexts(scores, scratch, found);
      continue;
    }
    if (previous !== null) addPairs(scores, scratch, previous, found);
    for (let entry = 0; entry < list.count; entry++) {
      scratch.entryOf[list.slots[entry] ?? 0] = entry + 1;
    }
    addContexts(scores, scratch, found);
    previous = found;
  }
  const { firstSlots } = collection.lengths;
  for (let file = 0; file < files; file++) {
    if (scores.matchedFiles[file] === 0) continue;
    const end = firstSlots[file + 1] ?? 0;
    for (let slot = firstSlots[file] ?? 0; slot < end; slot++) {
      scores.combined[slot] = combine(scores, slot);
    }
  }
  return scores;
}

/** A file's length, its path and headings counted as often as they count in its BM25. */
function lengthOfFile({ fileLengths, contextLengths }: LengthsTable, file: number): number {
  return (fileLengths[file] ?? 0) + CONTEXT_FREQUENCY * (contextLengths[file] ?? 0);
}

/** The postings of a unit's terms together. Seldom has more than one of them any. */
function readUnit({ terms }: QueryUnit, collection: Collection): PostingsList {
  const lists = terms
    .map((term) => collection.read(term))
    .filter((list) => list.count > 0 || list.runCount > 0);
  const [only] = lists;
  return only === undefined || lists.length > 1 ? joinLists(lists) : only;
}

/** The inverse document frequency of Lucene's BM25: never negative. */
function rarityOf(total: number, count: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5));
}

/** BM25's saturation: how much `frequency` occurrences count, from 0 to k1 + 1. */
function saturate(frequency: number, k1: number, b: number, relativeLength: number): number {
  return (frequency * (k1 + 1)) / (frequency + k1 * (1 - b + b * relativeLength));
}

function addFiles(scores: Scores, scratch: Scratch, { unit, list }: Found): void {
  const { collection, files, matchedFiles } = scores;
  const { fileOfSlot } = collection.lengths;
  const { frequencies, averageFileLength } = scratch;
  const touched: number[] = [];
  const add = (slot: number, count: number): void => {
    const file = fileOfSlot[slot] ?? 0;
    const before = frequencies[file] ?? 0;
    if (before === 0) touched.push(file);
    frequencies[file] = before + count;
  };
  for (let entry = 0; entry < list.count; entry++) {
    add(list.slots[entry] ?? 0, list.frequencies[entry] ?? 0);
  }
  for (let run = 0; run < list.runCount; run++) add(list.runSlots[run] ?? 0, CONTEXT_FREQUENCY);
  const gain = unit.weight * rarityOf(collection.files.length, touched.length);
  for (const file of touched) {
    const relative =
      averageFileLength > 0 ? lengthOfFile(collection.lengths, file) / averageFileLength : 1;
    const frequency = frequencies[file] ?? 0;
    files[file] = (files[file] ?? 0) + gain * saturate(frequency, FILE_K1, FILE_B, relative);
    matchedFiles[file] = 1;
    frequencies[file] = 0;
  }
}

function addOwn(scores: Scores, { wholes }: Scratch, { unit, list, rarity }: Found): void {
  const { own, matched, collection } = scores;
  const { lengths, slotCount, totalLength } = collection.lengths;
  const perAverage = totalLength > 0 ? slotCount / totalLength : 0;
  const gain = unit.weight * rarity;
  for (let entry = 0; entry < list.count; entry++) {
    const slot = list.slots[entry] ?? 0;
    const relative = (lengths[slot] ?? 0) * perAverage;
    const frequency = list.frequencies[entry] ?? 0;
    own[slot] = (own[slot] ?? 0) + gain * saturate(frequency, PASSAGE_K1, PASSAGE_B, relative);
    matched[slot] = (matched[slot] ?? 0) + coverageOf(unit, slot, wholes);
    if (unit.kind === 'whole') wholes[slot] = unit.group;
  }
}

/** A part of an identifier that the passage has as a whole was covered by it. */
function coverageOf(unit: QueryUnit, slot: number, wholes: Int32Array): number {
  if (unit.kind === 'hint') return 0;
  if (unit.kind === 'word' && unit.group > 0 && wholes[slot] === unit.group) return 0;
  return unit.covers;
}

function addContexts(scores: Scores, scratch: Scratch, { unit, list }: Found): void {
  const { context, matched, collection } = scores;
  let count = 0;
  for (let run = 0; run < list.runCount; run++) count += list.runLengths[run] ?? 0;
  const gain = unit.weight * CONTEXT_WEIGHT * rarityOf(collection.lengths.slotCount, count);
  for (let run = 0; run < list.runCount; run++) {
    const first = list.runSlots[run] ?? 0;
    const after = first + (list.runLengths[run] ?? 0);
    for (let slot = first; slot < after; slot++) {
      context[slot] = (context[slot] ?? 0) + gain;
      if (unit.kind !== 'word' || findEntry(scratch, list, slot) >= 0) continue;
      const coverage = CONTEXT_COVERAGE * coverageOf(unit, slot, scratch.wholes);
      matched[slot] = (matched[slot] ?? 0) + coverage;
    }
  }
}

/** The entry of a slot in the list that `entryOf` was last filled with; -1 for none. */
function findEntry({ entryOf }: Scratch, list: PostingsList, slot: number): number {
  const entry = (entryOf[slot] ?? 0) - 1;
  // What another list left there is told by its slot.
  return entry >= 0 && entry < list.count && list.slots[entry] === slot ? entry : -1;
}

function addPairs(scores: Scores, scratch: Scratch, left: Found, right: Found): void {
  const { pairs, filePairs, collection } = scores;
  const { lengths, slotCount, totalLength, fileOfSlot } = collection.lengths;
  const rarity = Math.min(left.rarity, right.rarity);
  for (let entry = 0; entry < right.list.count; entry++) {
    const slot = right.list.slots[entry] ?? 0;
    const leftEntry = findEntry(scratch, left.list, slot);
    if (leftEntry < 0) continue;
    const count = countPairs(left.list.positions(leftEntry), right.list.positions(entry));
    if (count === 0) continue;
    const relative = ((lengths[slot] ?? 0) * slotCount) / totalLength;
    const gain = rarity * saturate(count, PASSAGE_K1, PASSAGE_B, relative);
    const file = fileOfSlot[slot] ?? 0;
    pairs[slot] = (pairs[slot] ?? 0) + gain;
    filePairs[file] = (filePairs[file] ?? 0) + gain;
  }
}

/** How many positions of `left` have one of `right` close by. */
function countPairs(left: Uint8Array, right: Uint8Array): number {
  let count = 0;
  let at = 0;
  for (const position of left) {
    if (position === MAX_POSITION) break;
    while (at < right.length && (right[at] ?? 0) < position - PAIR_DISTANCE) at++;
    if (at < right.length && (right[at] ?? 0) <= position + PAIR_DISTANCE) count++;
  }
  return count;
}

/** The share of the question that a passage holds, made milder for long questions. */
function coordinationOf({ query, matched }: Scores, slot: number): number {
  const share = Math.min(1, (matched[slot] ?? 0) / Math.max(1, query.size));
  const strength = COORDINATED_WORDS / query.size;
  return strength >= 1 ? share : share ** strength;
}

function combine(scores: Scores, slot: number): number {
  const sum =
    (scores.own[slot] ?? 0) + (scores.context[slot] ?? 0) + PAIR_WEIGHT * (scores.pairs[slot] ?? 0);
  return sum === 0 ? 0 : sum * coordinationOf(scores, slot);
}

function neighbourScore({ combined }: Scores, slot: number, first: number, end: number): number {
  let score = 0;
  if (slot > first) score += BEFORE[0] * (combined[slot - 1] ?? 0);
  if (slot - 1 > first) score += BEFORE[1] * (combined[slot - 2] ?? 0);
  if (slot + 1 < end) score += AFTER[0] * (combined[slot + 1] ?? 0);
  if (slot + 2 < end) score += AFTER[1] * (combined[slot + 2] ?? 0);
  return score;
}

function passageScore(scores: Scores, slot: number, first: number, end: number): number {
  return (scores.combined[slot] ?? 0) + neighbourScore(scores, slot, first, end);
}

function fileScore({ files, filePairs }: Scores, file: number): number {
  return (files[file] ?? 0) + PAIR_WEIGHT * (filePairs[file] ?? 0);
}

function explainSlot(
  scores: Scores,
  slot: number,
  fileWeight: number,
  isPassage: boolean,
): Signals {
  const { collection, query } = scores;
  const { fileOfSlot, firstSlots } = collection.lengths;
  const file = fileOfSlot[slot] ?? 0;
  const first = firstSlots[file] ?? 0;
  const end = firstSlots[file + 1] ?? 0;
  let next = 0;
  for (let other = first; !isPassage && other < end; other++) {
    if (other !== slot) next = Math.max(next, passageScore(scores, other, first, end));
  }
  return {
    passage: scores.own[slot] ?? 0,
    context: scores.context[slot] ?? 0,
    pairs: PAIR_WEIGHT * (scores.pairs[slot] ?? 0),
    coordination: coordinationOf(scores, slot),
    neighbours: neighbourScore(scores, slot, first, end),
    nextBest: NEXT_BEST_WEIGHT * next,
    file: fileWeight * fileScore(scores, file),
    matched: scores.matched[slot] ?? 0,
    words: query.size,
  };
}

/** Keeps the best `limit` passages and all that tie with the last of them. */
class BestCandidates {
  readonly #limit: number;
  /** The best scores so far, descending. */
  readonly #scores: number[] = [];
  #kept: { score: number; file: number; slot: number }[] = [];
  #dropAt = 64;

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  add(score: number, file: number, slot: number): void {
    const last = this.#scores[this.#limit - 1];
    if (last !== undefined && score < last) return;
    this.#kept.push({ score, file, slot });
    if (score === last) return;
    let place = this.#scores.length;
    while (place > 0 && (this.#scores[place - 1] ?? 0) < score) place--;
    this.#scores.splice(place, 0, score);
    if (this.#scores.length > this.#limit) this.#scores.pop();
    // Now and then, so that what fell out doesn't pile up.
    if (this.#kept.length > this.#dropAt) {
      this.#drop();
      this.#dropAt = 2 * this.#kept.length + 64;
    }
  }

  list(): readonly { score: number; file: number; slot: number }[] {
    this.#drop();
    return this.#kept;
  }

  #drop(): void {
    const last = this.#scores[this.#limit - 1];
    if (last === undefined) return;
    this.#kept = this.#kept.filter(({ score }) => score >= last);
  }
}
