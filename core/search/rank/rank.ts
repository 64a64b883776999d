import { createPause, inParts, type Pause } from '../../time/pause.ts';
import { Arena } from './arena.ts';
import { Largest } from './largest.ts';
import type { Collection, CollectionFile } from '../index/collection.ts';
import { MAX_POSITION } from '../index/index-file.ts';
import type { LengthsTable } from '../index/lengths-table.ts';
import { joinLists, type PostingsList } from '../index/postings-list.ts';
import { countWords, type QueryUnit, type SearchQuery } from './query.ts';

export interface RankOptions {
  /** `file`: each file once, with its best passage. `passage`: each passage. */
  group: 'file' | 'passage';
  /** The number of results, at least 1. */
  limit: number;
  /** Limits the results to these files (a path prefix); the statistics always count all files. */
  includes?: (file: CollectionFile) => boolean;
}

/** A result before ties are broken. */
export interface Candidate extends CollectionFile {
  /** The best passage, counted from 0. */
  passage: number;
  score: number;
  /** The passage's number in the whole collection. */
  slot: number;
}

/**
 * The parts of a score: `(passage + context + pairs) * coordination + neighbours + nextBest + file`.
 * Each is 0 if nothing matched.
 */
export interface Signals {
  /** BM25 of the passage's own words. */
  passage: number;
  /** BM25 of its headings and the file's path. */
  context: number;
  /** For neighbouring words of the question that are close together in the passage. */
  pairs: number;
  /** The share of the question's words in the passage, 0 to 1; it multiplies the three above. */
  coordination: number;
  /** From the passages before and after. */
  neighbours: number;
  /** From the next best passage of the file; 0 for a passage result. */
  nextBest: number;
  /** From the file as a whole. */
  file: number;
  /**
   * How many words of the question the passage has (a word in a heading counts in part), and how
   * many there are.
   */
  matched: number;
  words: number;
}

export interface Ranking {
  /** The best `limit` candidates and all that tie with the last of them, unordered. */
  candidates: readonly Candidate[];
  /** The parts of a candidate's score. */
  explain(candidate: Candidate): Promise<Signals>;
}

/**
 * Scores a collection for a question: BM25 over passages and files together.
 *
 * A passage's score is the BM25 of its words, plus the BM25 of its headings and path, plus a little
 * for pairs, all multiplied by the share of the question that it contains; then a part of its
 * neighbours' scores and a part of its file's BM25 are added. Every sum is computed in the order of
 * the question, so that the same texts give the same digits on every database. `orderCandidates`
 * breaks ties.
 *
 * It needs no paths and no texts, so the ranking can run before they are read. Pauses now and then.
 *
 * Each constant below says what other values gave, on conversations (786 questions; passages reach
 * R@5 0.697, nDCG 0.600, files R@5 0.890, nDCG 0.851, MRR 0.844) and, to avoid fitting those alone,
 * nDCG on two public collections of abstracts: CISI (0.412, 76 long questions) and CACM (0.522,
 * 52). Differences under 0.02 may be noise; "even" means under 0.004 on conversations.
 */
export async function rankCollection(
  query: SearchQuery,
  collection: Collection,
  options: RankOptions,
): Promise<Ranking> {
  const isPassage = options.group === 'passage';
  const pause = createPause();
  const kept = await keepRarest(query, collection, pause);
  const found = await inWorkspace(async (arena) => {
    const scores = await scoreCollection(kept, collection, { arena, pause });
    return await (isPassage ? listPassages : listFiles)(scores, options, pause);
  });
  const { firstSlots } = collection.lengths;
  let explained: Promise<Scores> | null = null;
  return {
    candidates: found.map(({ score, file, slot }) => ({
      ...collection.fileAt(file),
      passage: slot - (firstSlots[file] ?? 0),
      score,
      slot,
    })),
    async explain({ slot }) {
      // Few callers ask for this, and they ask later, when another search may use the workspace.
      explained ??= scoreCollection(kept, collection, { arena: new Arena(), pause });
      return explainSlot(await explained, slot, isPassage);
    },
  };
}

/** The workspace that the next search takes; `null` while one has it. */
let idle: Arena | null = new Arena();

/** Searches that run beside another one make a workspace of their own. */
async function inWorkspace<T>(work: (arena: Arena) => Promise<T>): Promise<T> {
  const arena = idle ?? new Arena();
  idle = null;
  arena.begin();
  try {
    return await work(arena);
  } finally {
    idle = arena;
  }
}

/**
 * The most words to rank with. The rarest words of a longer question say what it is about; common
 * ones hardly change the order. The question is then treated as if it had only these words.
 */
const MAX_RANKED_UNITS = 64;

/** Drops the words of a long question that occur in no text, then the most common ones. */
async function keepRarest(
  query: SearchQuery,
  collection: Collection,
  pause: Pause,
): Promise<SearchQuery> {
  if (query.units.length <= MAX_RANKED_UNITS) return query;
  const counted: { unit: QueryUnit; place: number; count: number }[] = [];
  for (const [place, unit] of query.units.entries()) {
    const count = unit.terms.reduce((sum, term) => sum + collection.count(term), 0);
    counted.push({ unit, place, count });
    await pause();
  }
  const units = counted
    .filter(({ count }) => count > 0)
    .sort((left, right) => left.count - right.count || left.place - right.place)
    .slice(0, MAX_RANKED_UNITS)
    // A score is summed in the order of the question.
    .sort((left, right) => left.place - right.place)
    .map(({ unit }) => unit);
  return { ...query, units, size: Math.max(1, countWords(units)) };
}

/**
 * Sorts candidates for the answer: by score, then path, then place in the file.
 *
 * Paths are compared by UTF-16 units, independent of any locale.
 */
export function orderCandidates<C extends Candidate>(
  candidates: readonly C[],
  pathOf: (file: CollectionFile) => string,
  limit: number,
): C[] {
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

/**
 * BM25 of passages: short texts of similar length, where a second occurrence of a word says little.
 * k1 from 0.6 to 1.2 is even; b 0.3 loses 0.004 nDCG of passages, 0.005 MRR of files.
 */
const PASSAGE_K1 = 0.9;
const PASSAGE_B = 0.1;

/**
 * BM25 of files, whose lengths differ. k1 1.2 loses 0.004 nDCG of files and 0.011 on CISI; b 0.3
 * loses 0.011 on CISI, 0.75 loses 0.009 on CACM.
 */
const FILE_K1 = 2;
const FILE_B = 0.6;

/**
 * Words of headings and paths are a field of their own with their own rarity, so that a name in
 * every title doesn't hide who speaks in a passage: a first version that counted them among the
 * passage's words had 0.578 nDCG of passages against 0.589. Weights 0 to 1 are even on these texts,
 * whose titles say little. In notes the heading often names the subject, so they get the full
 * weight.
 */
const CONTEXT_WEIGHT = 1;

/**
 * How much a word that is only in headings or path counts for coordination. 1 loses 0.011 nDCG of
 * passages; 0 is even, but then "Ann's tea" would not prefer the item Tea below a heading Ann.
 */
const CONTEXT_COVERAGE = 0.3;

/**
 * The least coordination of a passage that matches only a part: one character of a Chinese word,
 * two words written as one, an identifier in its heading. With 0 such a passage had no score, so
 * its file was found without the place in it. Counting two words written as one in full loses 0.004
 * nDCG on manual pages, which often have both words separately too.
 */
const LEAST_COVERAGE = 0.3;

/** How often a word of a heading or path counts in the file's BM25. 1 loses 0.017 on CACM. */
const CONTEXT_FREQUENCY = 3;

/**
 * Neighbouring words of the question count as a pair if they are at most this many words apart (1
 * to 5 are even). Without pairs files lose 0.004 nDCG and 0.005 MRR; twice the weight is even, and
 * so are all pairs of words instead of neighbouring ones. A pair is as rare as its more common
 * word.
 */
const PAIR_DISTANCE = 2;
const PAIR_WEIGHT = 0.2;

/**
 * Up to this many words, the score is multiplied by the share that matched; for longer questions by
 * a root of it (the power 6/n). Without coordination passages lose 0.017 R@5 and nDCG. The full
 * share for long questions is even here, but cost 0.03 nDCG on the abstracts of Cranfield when it
 * was first tried.
 */
const COORDINATED_WORDS = 6;

/**
 * The parts of the scores of the passages before (nearest first) and after that are added. Without
 * them passages lose 0.06 R@5. The passages before count more because they explain what follows:
 * even weights (0.3, 0.15) lose 0.015. A third neighbour gained nothing.
 */
const BEFORE = [0.4, 0.25] as const;
const AFTER = [0.2, 0.15] as const;

/** The part of the file's BM25 in a passage result: 0.3 loses 0.006 R@5, 0.8 loses 0.004 R@10. */
const FILE_WEIGHT_OF_PASSAGE = 0.5;

/** The part of it in a file result: 1.5 loses 0.006 R@5 and 0.021 on CISI; 3 and 6 are even. */
const FILE_WEIGHT = 4;

/** The part of its second best passage in a file result: 0 to 0.5 are even. */
const NEXT_BEST_WEIGHT = 0.3;

/**
 * The scores of all passages and files. Only passages with a word of the question get a number
 * here, in the order in which they are met, so the cost of a search depends on the matches and not
 * on the size of the collection.
 */
type Scores = ReturnType<typeof createScores>;

/** Working space for the postings of one unit; allocated once for each query. */
type Scratch = ReturnType<typeof createScratch>;

/** A word of the question with its matches. */
interface Found {
  unit: QueryUnit;
  list: PostingsList;
  rarity: number;
}

/** `most`: how many passages get a number at most. */
function createScores(query: SearchQuery, collection: Collection, arena: Arena, most: number) {
  const { slotCount, fileCount } = collection.lengths;
  return {
    query,
    collection,
    /** By slot: its number, counted from 1; 0 for none. */
    numbers: arena.take(Int32Array, slotCount).fill(0),
    count: 0,
    /** By number: its file. */
    fileOf: arena.take(Int32Array, most).fill(0),
    /** By number, unweighted: the BM25 of its own words, of its headings and path, and of pairs. */
    own: arena.take(Float64Array, most).fill(0),
    context: arena.take(Float64Array, most).fill(0),
    pairs: arena.take(Float64Array, most).fill(0),
    /** By number: how many words of the question it has. */
    matched: arena.take(Float64Array, most).fill(0),
    /** By number: its own text, headings, path and pairs together. */
    combined: arena.take(Float64Array, most).fill(0),
    /** By file. */
    files: arena.take(Float64Array, fileCount).fill(0),
    filePairs: arena.take(Float64Array, fileCount).fill(0),
    isMatched: arena.take(Uint8Array, fileCount).fill(0),
  };
}

function createScratch({ lengths }: Collection, arena: Arena, most: number) {
  const { fileCount } = lengths;
  let totalLength = 0;
  for (let file = 0; file < fileCount; file++) totalLength += lengthOfFile(lengths, file);
  return {
    /** By number: the entry of the last matching word, counted from 1. */
    entryOf: arena.take(Int32Array, most).fill(0),
    /** By number: the last identifier that it has as a whole. */
    wholes: arena.take(Int32Array, most).fill(0),
    /** By file: how often it has the unit. All zero between units. */
    frequencies: arena.take(Int32Array, fileCount).fill(0),
    averageFileLength: fileCount === 0 ? 0 : totalLength / fileCount,
  };
}

async function scoreCollection(
  query: SearchQuery,
  collection: Collection,
  { arena, pause }: { arena: Arena; pause: Pause },
): Promise<Scores> {
  const { slotCount } = collection.lengths;
  const lists: PostingsList[] = [];
  for (const unit of query.units) {
    lists.push(await readUnit(unit, collection, { arena, pause }));
  }
  const passages = lists.reduce((sum, list) => sum + countPassages(list), 0);
  const most = Math.min(slotCount, passages);
  const scores = createScores(query, collection, arena, most);
  const scratch = createScratch(collection, arena, most);
  let previous: Found | null = null;
  for (const [index, unit] of query.units.entries()) {
    const list = lists[index] as PostingsList;
    const found = { unit, list, rarity: rarityOf(slotCount, list.count) };
    addFiles(scores, scratch, found);
    await inParts(list.count, pause, (from, to) => addOwn(scores, scratch, found, from, to));
    if (unit.kind === 'word') {
      if (previous !== null) await addPairs(scores, scratch, [previous, found], pause);
      for (let entry = 0; entry < list.count; entry++) {
        scratch.entryOf[numberOf(scores, list.slots[entry] ?? 0)] = entry + 1;
      }
      previous = found;
    }
    addContexts(scores, scratch, found);
    await pause();
  }
  await inParts(scores.count, pause, (from, to) => {
    for (let number = from; number < to; number++) {
      scores.combined[number] = combine(scores, number);
    }
  });
  return scores;
}

/**
 * The most passages that a list can have: a word can be both in the text and in the headings of
 * one.
 */
function countPassages({ count, runCount, runLengths }: PostingsList): number {
  let sum = count;
  for (let run = 0; run < runCount; run++) sum += runLengths[run] ?? 0;
  return sum;
}

/** The number of a slot; -1 for none. */
function numberOf({ numbers }: Scores, slot: number): number {
  return (numbers[slot] ?? 0) - 1;
}

/** The number of a slot; gives it one if it has none. */
function takeNumber(scores: Scores, slot: number, file: number): number {
  const known = numberOf(scores, slot);
  if (known >= 0) return known;
  const number = scores.count++;
  scores.numbers[slot] = number + 1;
  scores.fileOf[number] = file;
  return number;
}

/** A file's length. Its path and headings count as often as in its BM25. */
function lengthOfFile({ fileLengths, contextLengths }: LengthsTable, file: number): number {
  return (fileLengths[file] ?? 0) + CONTEXT_FREQUENCY * (contextLengths[file] ?? 0);
}

/** The postings of all terms of a unit together. Usually only one of the terms has any. */
async function readUnit(
  { terms }: QueryUnit,
  collection: Collection,
  room: { arena: Arena; pause: Pause },
): Promise<PostingsList> {
  const lists: PostingsList[] = [];
  for (const term of terms) {
    const list = collection.read(term, room.arena);
    if (list.count > 0 || list.runCount > 0) lists.push(list);
    await room.pause();
  }
  const [only] = lists;
  return only === undefined || lists.length > 1 ? await joinLists(lists, room) : only;
}

/** The inverse document frequency of Lucene's BM25, which is never negative. */
function rarityOf(total: number, count: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5));
}

/** BM25's saturation: the weight of `frequency` occurrences, from 0 to k1 + 1. */
function saturate(frequency: number, k1: number, b: number, relativeLength: number): number {
  return (frequency * (k1 + 1)) / (frequency + k1 * (1 - b + b * relativeLength));
}

function addFiles(scores: Scores, scratch: Scratch, { unit, list }: Found): void {
  const { collection, files, isMatched } = scores;
  const { frequencies, averageFileLength } = scratch;
  const touched: number[] = [];
  const add = (file: number, count: number): void => {
    const before = frequencies[file] ?? 0;
    if (before === 0) touched.push(file);
    frequencies[file] = before + count;
  };
  for (let entry = 0; entry < list.count; entry++) {
    add(list.files[entry] ?? 0, list.frequencies[entry] ?? 0);
  }
  for (let run = 0; run < list.runCount; run++) add(list.runFiles[run] ?? 0, CONTEXT_FREQUENCY);
  const gain = unit.weight * rarityOf(collection.lengths.fileCount, touched.length);
  for (const file of touched) {
    const relative =
      averageFileLength > 0 ? lengthOfFile(collection.lengths, file) / averageFileLength : 1;
    const frequency = frequencies[file] ?? 0;
    files[file] = (files[file] ?? 0) + gain * saturate(frequency, FILE_K1, FILE_B, relative);
    isMatched[file] = 1;
    frequencies[file] = 0;
  }
}

function addOwn(
  scores: Scores,
  { wholes }: Scratch,
  { unit, list, rarity }: Found,
  from: number,
  to: number,
): void {
  const { own, matched, collection } = scores;
  const { lengths, slotCount, totalLength } = collection.lengths;
  const perAverage = totalLength > 0 ? slotCount / totalLength : 0;
  const gain = unit.weight * rarity;
  for (let entry = from; entry < to; entry++) {
    const slot = list.slots[entry] ?? 0;
    const number = takeNumber(scores, slot, list.files[entry] ?? 0);
    const relative = (lengths[slot] ?? 0) * perAverage;
    const frequency = list.frequencies[entry] ?? 0;
    own[number] = (own[number] ?? 0) + gain * saturate(frequency, PASSAGE_K1, PASSAGE_B, relative);
    matched[number] = (matched[number] ?? 0) + coverageOf(unit, number, wholes);
    if (unit.kind === 'whole') wholes[number] = unit.group;
  }
}

/** The whole identifier in this passage already covered this part. */
function coverageOf(unit: QueryUnit, number: number, wholes: Int32Array): number {
  if (unit.kind === 'word' && unit.group > 0 && wholes[number] === unit.group) return 0;
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
      const number = takeNumber(scores, slot, list.runFiles[run] ?? 0);
      context[number] = (context[number] ?? 0) + gain;
      if (unit.kind !== 'word' || findEntry(scratch, list, number, slot) >= 0) continue;
      const coverage = CONTEXT_COVERAGE * coverageOf(unit, number, scratch.wholes);
      matched[number] = (matched[number] ?? 0) + coverage;
    }
  }
}

/** A passage's entry in the list that last filled `entryOf`; -1 for none. */
function findEntry({ entryOf }: Scratch, list: PostingsList, number: number, slot: number): number {
  const entry = (entryOf[number] ?? 0) - 1;
  // An entry that another list left there has another slot.
  return entry >= 0 && entry < list.count && list.slots[entry] === slot ? entry : -1;
}

/**
 * Scores passages with two neighbouring words of the question close together. Stop words are common
 * on their own: two in direct sequence count as one word, as rare as the sequence is.
 */
async function addPairs(
  scores: Scores,
  scratch: Scratch,
  [left, right]: readonly [Found, Found],
  pause: Pause,
): Promise<void> {
  const { pairs, filePairs, collection, query } = scores;
  const { lengths, slotCount, totalLength } = collection.lengths;
  const entries: number[] = [];
  const counts: number[] = [];
  await inParts(right.list.count, pause, (from, to) => {
    for (let entry = from; entry < to; entry++) {
      const slot = right.list.slots[entry] ?? 0;
      const leftEntry = findEntry(scratch, left.list, numberOf(scores, slot), slot);
      if (leftEntry < 0) continue;
      const count = query.isPhrase
        ? countPhrases(left.list.positions(leftEntry), right.list.positions(entry))
        : countPairs(left.list, leftEntry, right.list, entry);
      if (count === 0) continue;
      entries.push(entry);
      counts.push(count);
    }
  });
  const rarity = query.isPhrase
    ? rarityOf(slotCount, entries.length) / PAIR_WEIGHT
    : Math.min(left.rarity, right.rarity);
  await inParts(entries.length, pause, (from, to) => {
    for (let index = from; index < to; index++) {
      const entry = entries[index] ?? 0;
      const count = counts[index] ?? 0;
      const slot = right.list.slots[entry] ?? 0;
      const number = numberOf(scores, slot);
      const relative = totalLength > 0 ? ((lengths[slot] ?? 0) * slotCount) / totalLength : 0;
      const gain = rarity * saturate(count, PASSAGE_K1, PASSAGE_B, relative);
      const file = right.list.files[entry] ?? 0;
      pairs[number] = (pairs[number] ?? 0) + gain;
      filePairs[file] = (filePairs[file] ?? 0) + gain;
    }
  });
}

/** How many positions of the left word have the right word directly after them. */
function countPhrases(left: Uint8Array, right: Uint8Array): number {
  let count = 0;
  for (const position of left) {
    if (position + 1 < MAX_POSITION && right.includes(position + 1)) count++;
  }
  return count;
}

/** How many positions of an entry of `left` have one of an entry of `right` nearby. */
function countPairs(
  left: PostingsList,
  leftEntry: number,
  right: PostingsList,
  rightEntry: number,
): number {
  const leftBytes = left.blobOfEntry(leftEntry);
  const rightBytes = right.blobOfEntry(rightEntry);
  const leftEnd = (left.positionsAt[leftEntry] ?? 0) + (left.positionCounts[leftEntry] ?? 0);
  let at = right.positionsAt[rightEntry] ?? 0;
  const rightEnd = at + (right.positionCounts[rightEntry] ?? 0);
  let count = 0;
  for (let index = left.positionsAt[leftEntry] ?? 0; index < leftEnd; index++) {
    const position = leftBytes[index] ?? 0;
    if (position === MAX_POSITION) break;
    while (at < rightEnd && (rightBytes[at] ?? 0) < position - PAIR_DISTANCE) at++;
    if (at < rightEnd && (rightBytes[at] ?? 0) <= position + PAIR_DISTANCE) count++;
  }
  return count;
}

/** How many words of the question a matching passage has, counting parts. */
function coverageAt({ query, matched }: Scores, number: number): number {
  return Math.min(query.size, Math.max(LEAST_COVERAGE, matched[number] ?? 0));
}

/** The share of the question in a passage, softened for long questions. */
function coordinationOf(scores: Scores, number: number): number {
  const { query } = scores;
  const share = coverageAt(scores, number) / query.size;
  const strength = COORDINATED_WORDS / query.size;
  return strength >= 1 ? share : share ** strength;
}

function combine(scores: Scores, number: number): number {
  const { own, context, pairs } = scores;
  const sum = (own[number] ?? 0) + (context[number] ?? 0) + PAIR_WEIGHT * (pairs[number] ?? 0);
  return sum === 0 ? 0 : sum * coordinationOf(scores, number);
}

/** The combined score of a slot; 0 without a number. */
function combinedAt({ numbers, combined }: Scores, slot: number): number {
  const number = numbers[slot] ?? 0;
  return number === 0 ? 0 : (combined[number - 1] ?? 0);
}

function neighbourScore(scores: Scores, slot: number, first: number, end: number): number {
  let score = 0;
  if (slot > first) score += BEFORE[0] * combinedAt(scores, slot - 1);
  if (slot - 1 > first) score += BEFORE[1] * combinedAt(scores, slot - 2);
  if (slot + 1 < end) score += AFTER[0] * combinedAt(scores, slot + 1);
  if (slot + 2 < end) score += AFTER[1] * combinedAt(scores, slot + 2);
  return score;
}

function passageScore(scores: Scores, slot: number, first: number, end: number): number {
  return combinedAt(scores, slot) + neighbourScore(scores, slot, first, end);
}

function fileScore({ files, filePairs }: Scores, file: number): number {
  return (files[file] ?? 0) + PAIR_WEIGHT * (filePairs[file] ?? 0);
}

/** The files that can be results: those that match and are not excluded. */
function toIncluded({ collection, isMatched }: Scores, { includes }: RankOptions): Uint8Array {
  if (includes === undefined) return isMatched;
  const included = isMatched.slice();
  for (let file = 0; file < included.length; file++) {
    if (included[file] === 1 && !includes(collection.fileAt(file))) included[file] = 0;
  }
  return included;
}

async function listPassages(
  scores: Scores,
  options: RankOptions,
  pause: Pause,
): Promise<readonly Placed[]> {
  const { fileOf, combined } = scores;
  const included = toIncluded(scores, options);
  const least = new Largest(options.limit);
  await inParts(scores.count, pause, (from, to) => {
    for (let number = from; number < to; number++) {
      const file = fileOf[number] ?? 0;
      const score = combined[number] ?? 0;
      if (included[file] === 0 || score === 0) continue;
      least.add(score + FILE_WEIGHT_OF_PASSAGE * fileScore(scores, file));
    }
  });
  const best = new BestCandidates(options.limit);
  const tops = findTops(scores);
  for (let file = 0; file < included.length; file++) {
    const added = FILE_WEIGHT_OF_PASSAGE * fileScore(scores, file);
    const most = (tops[file] ?? 0) * REACH + added;
    if (included[file] === 0 || most * ROUNDING < least.value) continue;
    visitPassages(scores, file, (slot, score) => {
      if (score > 0) best.add(score + added, file, slot);
    });
    await pause();
  }
  return best.list();
}

async function listFiles(
  scores: Scores,
  options: RankOptions,
  pause: Pause,
): Promise<readonly Placed[]> {
  const { firstSlots } = scores.collection.lengths;
  const included = toIncluded(scores, options);
  const tops = findTops(scores);
  const least = new Largest(options.limit);
  for (let file = 0; file < included.length; file++) {
    if (included[file] === 0) continue;
    least.add((tops[file] ?? 0) + FILE_WEIGHT * fileScore(scores, file));
  }
  const best = new BestCandidates(options.limit);
  for (let file = 0; file < included.length; file++) {
    const added = FILE_WEIGHT * fileScore(scores, file);
    const most = (tops[file] ?? 0) * REACH * (1 + NEXT_BEST_WEIGHT) + added;
    if (included[file] === 0 || most * ROUNDING < least.value) continue;
    let topSlot = firstSlots[file] ?? 0;
    let top = 0;
    let next = 0;
    visitPassages(scores, file, (slot, score) => {
      if (score > top) {
        next = top;
        top = score;
        topSlot = slot;
      } else if (score > next) {
        next = score;
      }
    });
    best.add(top + NEXT_BEST_WEIGHT * next + added, file, topSlot);
    await pause();
  }
  return best.list();
}

/**
 * Neighbours are added only for files that can still be among the best: a passage's score is at
 * least its own part, and at most this many times the best such part in its file.
 */
const REACH = [1, ...BEFORE, ...AFTER].reduce((sum, weight) => sum + weight, 0);
/** More than rounding can take off a sum of a few terms. */
const ROUNDING = 1 + 1e-9;

/** By file: the highest score of a passage without its neighbours. */
function findTops({ count, fileOf, combined, files }: Scores): Float64Array {
  const tops = new Float64Array(files.length);
  for (let number = 0; number < count; number++) {
    const file = fileOf[number] ?? 0;
    const score = combined[number] ?? 0;
    if (score > (tops[file] ?? 0)) tops[file] = score;
  }
  return tops;
}

function visitPassages(
  scores: Scores,
  file: number,
  visit: (slot: number, score: number) => void,
): void {
  const { firstSlots } = scores.collection.lengths;
  const first = firstSlots[file] ?? 0;
  const end = firstSlots[file + 1] ?? 0;
  for (let slot = first; slot < end; slot++) visit(slot, passageScore(scores, slot, first, end));
}

function explainSlot(scores: Scores, slot: number, isPassage: boolean): Signals {
  const { collection, query } = scores;
  const file = collection.lengths.fileOf(slot);
  const first = collection.lengths.firstSlots[file] ?? 0;
  const end = collection.lengths.firstSlots[file + 1] ?? 0;
  const number = numberOf(scores, slot);
  let next = 0;
  for (let other = first; !isPassage && other < end; other++) {
    if (other !== slot) next = Math.max(next, passageScore(scores, other, first, end));
  }
  return {
    passage: scores.own[number] ?? 0,
    context: scores.context[number] ?? 0,
    pairs: PAIR_WEIGHT * (scores.pairs[number] ?? 0),
    coordination: number < 0 ? 0 : coordinationOf(scores, number),
    neighbours: neighbourScore(scores, slot, first, end),
    nextBest: NEXT_BEST_WEIGHT * next,
    file: (isPassage ? FILE_WEIGHT_OF_PASSAGE : FILE_WEIGHT) * fileScore(scores, file),
    matched: number < 0 ? 0 : coverageAt(scores, number),
    words: query.size,
  };
}

/** A result in the numbers of this collection. */
interface Placed {
  score: number;
  file: number;
  slot: number;
}

/**
 * Keeps the best `limit` passages and those that tie with the last one, with a limit on ties of one
 * file.
 */
class BestCandidates {
  readonly #limit: number;
  readonly #scores: Largest;
  readonly #added: Placed[] = [];
  /** The passages of one file that tie with the last of the best. */
  #ties = { file: -1, score: 0, count: 0 };

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
    this.#scores = new Largest(limit);
  }

  /** Passages of a file come in their order, which breaks ties between them. */
  add(score: number, file: number, slot: number): void {
    if (!this.#scores.add(score)) return;
    if (score === this.#scores.value) {
      const ties = this.#ties;
      if (ties.file !== file || ties.score !== score) this.#ties = { file, score, count: 1 };
      else if (++ties.count > this.#limit) return;
    }
    this.#added.push({ score, file, slot });
  }

  list(): readonly Placed[] {
    const { value } = this.#scores;
    return this.#added.filter(({ score }) => score >= value);
  }
}
