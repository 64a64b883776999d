import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KnownVectors, ScopeVectors } from '../../contracts/vectors.ts';
import type { Collection, CollectionFile } from '../index/collection.ts';
import { unpackHashes } from './embedded-text.ts';
import { findLargest, measureProminence } from '../rank/prominence.ts';
import type { Candidate } from '../rank/rank.ts';

/** What takes long pauses this often, so that requests go on. */
const SLICE_MS = 3;
/** Vectors that are compared, or taken in, between two looks at the clock. */
const VECTORS_OF_A_LOOK = 256;

/** Lets others have a turn now and then. */
class Pace {
  #done = 0;
  #lookAt = VECTORS_OF_A_LOOK;
  #sliceEnd = performance.now() + SLICE_MS;

  /** So many vectors were worked on; `true` when it is time for a `pause`. */
  isDue(vectors: number): boolean {
    this.#done += vectors;
    if (this.#done < this.#lookAt) return false;
    this.#lookAt = this.#done + VECTORS_OF_A_LOOK;
    return performance.now() >= this.#sliceEnd;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#sliceEnd = performance.now() + SLICE_MS;
  }
}

/**
 * A vector of length 1 in the same direction; `null` when it has none of its own: a number that is
 * not finite, or zeros alone.
 */
export function normalise(vector: Float32Array): Float32Array | null {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (!Number.isFinite(length) || length === 0) return null;
  return vector.map((value) => value / length);
}

/** A loop by number: with `every` a cold scope of a thousand takes 3 ms longer. */
function isAllFinite(vector: Float32Array): boolean {
  for (let at = 0; at < vector.length; at += 1) {
    if (!Number.isFinite(vector[at])) return false;
  }
  return true;
}

/** Vectors by text: rows that are only added, so that all who read them may share them. */
class VectorTable {
  readonly dimensions: number;
  #values: Float32Array;
  #isFilled: Uint8Array;
  readonly #rows = new Map<string, number>();

  constructor(dimensions: number, capacity: number) {
    this.dimensions = dimensions;
    this.#values = new Float32Array(Math.max(capacity, 1) * dimensions);
    this.#isFilled = new Uint8Array(Math.max(capacity, 1));
  }

  get size(): number {
    return this.#rows.size;
  }

  get bytes(): number {
    // A text's entry in the map weighs about so much.
    return this.#values.byteLength + this.#rows.size * 120;
  }

  /** The texts, by row. */
  names(): string[] {
    return [...this.#rows.keys()];
  }

  /** The row of a text; -1 for one that was never seen. */
  find(textHash: string): number {
    return this.#rows.get(textHash) ?? -1;
  }

  /** The row of a text, whether it has a vector yet or not. */
  take(textHash: string): number {
    const known = this.#rows.get(textHash);
    if (known !== undefined) return known;
    const row = this.#rows.size;
    if (row >= this.#isFilled.length) this.#grow();
    this.#rows.set(textHash, row);
    return row;
  }

  set(textHash: string, vector: Float32Array): void {
    // Spoilt by hand, or another model's under this one's name.
    if (vector.length !== this.dimensions || !isAllFinite(vector)) return;
    const row = this.take(textHash);
    this.#values.set(vector, row * this.dimensions);
    this.#isFilled[row] = 1;
  }

  isFilled(row: number): boolean {
    return this.#isFilled[row] === 1;
  }

  /** The cosine, as both are of length 1. */
  compare(row: number, query: Float32Array): number {
    const values = this.#values;
    const { dimensions } = this;
    const from = row * dimensions;
    // Four sums: one alone waits for itself at each step. Each of its own, as numbers of one array
    // they are made anew at each step, which takes three times as long.
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let at = 0;
    for (; at + 3 < dimensions; at += 4) {
      a += (values[from + at] as number) * (query[at] as number);
      b += (values[from + at + 1] as number) * (query[at + 1] as number);
      c += (values[from + at + 2] as number) * (query[at + 2] as number);
      d += (values[from + at + 3] as number) * (query[at + 3] as number);
    }
    for (; at < dimensions; at += 1) a += (values[from + at] as number) * (query[at] as number);
    return a + b + (c + d);
  }

  #grow(): void {
    const values = new Float32Array(this.#values.length * 2);
    values.set(this.#values);
    this.#values = values;
    const isFilled = new Uint8Array(this.#isFilled.length * 2);
    isFilled.set(this.#isFilled);
    this.#isFilled = isFilled;
  }
}

/**
 * The vectors of one scope as one snapshot of the database has them. It never changes; the next one
 * is made of it and of what is new.
 */
export class PassageVectors {
  /** What it is of. */
  readonly known: KnownVectors;
  readonly #table: VectorTable;
  /** By file number: the row of each passage. */
  readonly #lists: ReadonlyMap<number, Int32Array>;

  private constructor(
    known: KnownVectors,
    table: VectorTable,
    lists: ReadonlyMap<number, Int32Array>,
  ) {
    this.known = known;
    this.#table = table;
    this.#lists = lists;
  }

  /**
   * Makes it from what was read, and from `before`, which it was read against. It pauses every 3 ms:
   * a large scope has tens of thousands.
   */
  static async from(
    read: ScopeVectors,
    before: PassageVectors | null,
    { dimensions, indexGeneration }: { dimensions: number; indexGeneration: number },
  ): Promise<PassageVectors> {
    const known = { indexGeneration, vectorGeneration: read.vectorGeneration };
    const isUnchanged =
      before?.known.indexGeneration === indexGeneration &&
      before.known.vectorGeneration === read.vectorGeneration &&
      !read.isWhole.lists &&
      !read.isWhole.vectors;
    if (isUnchanged) return before;
    const isTableKept = before !== null && !read.isWhole.vectors;
    const table = isTableKept ? before.#table : new VectorTable(dimensions, read.vectors.length);
    const lists = new Map<number, Int32Array>();
    const pace = new Pace();
    if (before !== null && !read.isWhole.lists) {
      const names = isTableKept ? [] : before.#table.names();
      for (const [fileNo, rows] of before.#lists) {
        // Rows of a table that was made anew.
        const renamed = isTableKept ? rows : rows.map((row) => table.take(names[row] ?? ''));
        lists.set(fileNo, renamed);
        if (pace.isDue(rows.length)) await pace.pause();
      }
    }
    for (const { fileNo, hashes } of read.lists) {
      const texts = unpackHashes(hashes);
      lists.set(
        fileNo,
        Int32Array.from(texts, (hash) => table.take(hash)),
      );
      if (pace.isDue(texts.length)) await pace.pause();
    }
    for (const { textHash, vector } of read.vectors) {
      table.set(textHash, vector);
      if (pace.isDue(1)) await pace.pause();
    }
    return new PassageVectors(known, table, lists);
  }

  /** About what it holds in memory, shared parts included. */
  get bytes(): number {
    let bytes = this.#table.bytes;
    for (const rows of this.#lists.values()) bytes += rows.byteLength + 100;
    return bytes;
  }

  /** The rows of a file's passages; `null` when they are not listed. */
  rowsOf(fileNo: number): Int32Array | null {
    return this.#lists.get(fileNo) ?? null;
  }

  /** The same of a file whose index is behind, by the hashes of its present text. */
  rowsOfTexts(textHashes: readonly string[]): Int32Array {
    return Int32Array.from(textHashes, (hash) => this.#table.find(hash));
  }

  /**
   * Puts the cosine of each row where it belongs, from `at` on; a text without a vector leaves its
   * place as it is. How many were compared.
   */
  compareAll(rows: Int32Array, query: Float32Array, into: Float64Array, at: number): number {
    const table = this.#table;
    let compared = 0;
    for (let place = 0; place < rows.length; place += 1) {
      const row = rows[place] as number;
      if (row < 0 || !table.isFilled(row)) continue;
      into[at + place] = table.compare(row, query);
      compared += 1;
    }
    return compared;
  }
}

/**
 * How much of the cosines of the passages before and after is added, as far as they are above the
 * mean: a line is understood by what stands around it. Without them the ranking by vectors alone
 * loses 0.013 nDCG of files on conversations, and 0.045 where an answer takes several passages.
 * Above the mean, since some models give any two texts a cosine of 0.7: added as it is, that would
 * take more off the first and the last passage of a file than their words can make good.
 */
const BEFORE = 0.3;
const AFTER = 0.2;

/** A candidate by its vector: the score is the cosine with a part of its neighbours'. */
export interface VectorCandidate extends Candidate {
  /** The cosine of the passage and the question. */
  similarity: number;
  /** How much its score stands out from those of all that were compared, 0 to 1. */
  prominence: number;
}

/** What a scan gave: candidates in no order, and how many vectors were compared. */
export interface VectorRanking {
  candidates: readonly VectorCandidate[];
  compared: number;
}

/**
 * Compares the passages of a collection with a question: the best `limit` of them, or of its files
 * by their best passage, and all that tie with the last. Only those that point the question's way
 * at all (a cosine above 0). It pauses every 3 ms.
 */
export async function rankVectors(
  query: Float32Array,
  collection: Collection,
  options: {
    group: 'file' | 'passage';
    limit: number;
    includes: ((file: CollectionFile) => boolean) | null;
    /** By scope: its vectors; `null` for none. */
    scopes: readonly (PassageVectors | null)[];
    /** The rows of a file's passages; `null` when they are not known. */
    rowsOf(file: CollectionFile): Int32Array | null;
  },
): Promise<VectorRanking> {
  const { group, limit } = options;
  const { fileCount, firstSlots } = collection.lengths;
  const { cosines, compared } = await compareAll(query, collection, options);
  if (compared === 0) return { candidates: [], compared };
  const scores = addNeighbours(cosines, collection);
  const prominenceOf = measureProminence(scores);
  // By slot, what is left as a result; the others are no number.
  const results = scores.map((score, slot) => ((cosines[slot] as number) > 0 ? score : Number.NaN));
  if (group === 'file') {
    for (let number = 0; number < fileCount; number += 1) {
      keepBest(results, firstSlots[number] ?? 0, firstSlots[number + 1] ?? 0);
    }
  }
  const least = findLargest(results, limit).at(-1) ?? Number.POSITIVE_INFINITY;
  const candidates: VectorCandidate[] = [];
  for (let number = 0; number < fileCount; number += 1) {
    const first = firstSlots[number] ?? 0;
    const end = firstSlots[number + 1] ?? 0;
    for (let slot = first; slot < end; slot += 1) {
      const score = results[slot] as number;
      if (!(score >= least)) continue;
      const { scope, file } = collection.fileAt(number);
      const similarity = cosines[slot] as number;
      const prominence = prominenceOf(score);
      const passage = slot - first;
      candidates.push({ scope, file, passage, score, slot, similarity, prominence });
    }
  }
  return { candidates, compared };
}

/** By slot: the cosine of its passage and the question; no number where there is no vector. */
async function compareAll(
  query: Float32Array,
  collection: Collection,
  { includes, scopes, rowsOf }: Parameters<typeof rankVectors>[2],
): Promise<{ cosines: Float64Array; compared: number }> {
  const { fileCount, firstSlots, slotCount } = collection.lengths;
  const cosines = new Float64Array(slotCount).fill(Number.NaN);
  let compared = 0;
  const pace = new Pace();
  for (let number = 0; number < fileCount; number += 1) {
    const file = collection.fileAt(number);
    const vectors = scopes[file.scope] ?? null;
    if (vectors === null || includes?.(file) === false) continue;
    const rows = rowsOf(file);
    const first = firstSlots[number] ?? 0;
    // Else they are the passages of another version.
    if (rows === null || rows.length !== (firstSlots[number + 1] ?? 0) - first) continue;
    const own = vectors.compareAll(rows, query, cosines, first);
    compared += own;
    if (pace.isDue(own)) await pace.pause();
  }
  return { cosines, compared };
}

/** By slot: its cosine with a part of its neighbours' in the same file. */
function addNeighbours(cosines: Float64Array, { lengths }: Collection): Float64Array {
  const { fileCount, firstSlots } = lengths;
  const mean = meanOf(cosines);
  // Of what is not a number, neither.
  const above = (cosine: number): number => (cosine > mean ? cosine - mean : 0);
  const scores = new Float64Array(cosines.length);
  for (let number = 0; number < fileCount; number += 1) {
    const first = firstSlots[number] ?? 0;
    const end = firstSlots[number + 1] ?? 0;
    for (let slot = first; slot < end; slot += 1) {
      const before = slot > first ? above(cosines[slot - 1] as number) : 0;
      const after = slot + 1 < end ? above(cosines[slot + 1] as number) : 0;
      scores[slot] = (cosines[slot] as number) + BEFORE * before + AFTER * after;
    }
  }
  return scores;
}

function meanOf(values: Float64Array): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}

/** Leaves a file its best passage, the first of equals. */
function keepBest(results: Float64Array, first: number, end: number): void {
  let best = -1;
  for (let slot = first; slot < end; slot += 1) {
    const score = results[slot] as number;
    if (Number.isNaN(score)) continue;
    if (best >= 0 && !(score > (results[best] as number))) {
      results[slot] = Number.NaN;
      continue;
    }
    if (best >= 0) results[best] = Number.NaN;
    best = slot;
  }
}
