import type { KnownVectors, ScopeVectors } from '../../contracts/vectors.ts';
import { createPause } from '../../time/pause.ts';
import { unpackHashes } from './embedded-text.ts';

/** A vector of length 1 in the same direction; `null` when all numbers are 0 or one is not finite. */
export function normalise(vector: Float32Array): Float32Array | null {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (!Number.isFinite(length) || length === 0) return null;
  return vector.map((value) => value / length);
}

/** A plain loop: with `every`, reading a thousand vectors takes 3 ms longer. */
function isAllFinite(vector: Float32Array): boolean {
  for (let at = 0; at < vector.length; at += 1) {
    if (!Number.isFinite(vector[at])) return false;
  }
  return true;
}

/** About the size of an entry of a map. */
const ENTRY_BYTES = 120;

/** Vectors by text. Rows are only added, so that several snapshots can share the table. */
class VectorTable {
  readonly dimensions: number;
  #values: Float32Array;
  #isFilled: Uint8Array;
  readonly #rows = new Map<string, number>();
  /** By row: the vectors of a long text's parts from the second one, one after the other. */
  readonly #furtherParts = new Map<number, Float32Array>();

  constructor(dimensions: number, capacity: number) {
    this.dimensions = dimensions;
    this.#values = new Float32Array(Math.max(capacity, 1) * dimensions);
    this.#isFilled = new Uint8Array(Math.max(capacity, 1));
  }

  get bytes(): number {
    let bytes = this.#values.byteLength;
    for (const parts of this.#furtherParts.values()) bytes += parts.byteLength + ENTRY_BYTES;
    return bytes + this.#rows.size * ENTRY_BYTES;
  }

  /** The texts, by row. */
  names(): string[] {
    return [...this.#rows.keys()];
  }

  /** The row of a text; -1 when the text is unknown. */
  find(textHash: string): number {
    return this.#rows.get(textHash) ?? -1;
  }

  /** The row of a text; adds an empty row for an unknown text. */
  take(textHash: string): number {
    const known = this.#rows.get(textHash);
    if (known !== undefined) return known;
    const row = this.#rows.size;
    if (row >= this.#isFilled.length) this.#grow();
    this.#rows.set(textHash, row);
    return row;
  }

  /** Takes the vector of a text, or those of its parts one after the other. */
  set(textHash: string, vector: Float32Array): void {
    const { dimensions } = this;
    const isWhole = vector.length > 0 && vector.length % dimensions === 0;
    // The vector is damaged, or from another model of the same name.
    if (!isWhole || !isAllFinite(vector)) return;
    const row = this.take(textHash);
    this.#values.set(vector.subarray(0, dimensions), row * dimensions);
    this.#isFilled[row] = 1;
    if (vector.length > dimensions) this.#furtherParts.set(row, vector.slice(dimensions));
    else this.#furtherParts.delete(row);
  }

  isFilled(row: number): boolean {
    return this.#isFilled[row] === 1;
  }

  /** The cosine of a text and a question: that of the part which fits best. */
  compare(row: number, query: Float32Array): number {
    const cosine = this.#multiply(this.#values, row * this.dimensions, query);
    const parts = this.#furtherParts.size === 0 ? undefined : this.#furtherParts.get(row);
    let best = cosine;
    for (let at = 0; at < (parts?.length ?? 0); at += this.dimensions) {
      best = Math.max(best, this.#multiply(parts as Float32Array, at, query));
    }
    return best;
  }

  /** The dot product, which is the cosine: both vectors have length 1. */
  #multiply(values: Float32Array, from: number, query: Float32Array): number {
    const { dimensions } = this;
    // Four independent sums, so that additions need not wait for each other. Kept in an array, they
    // take three times as long.
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

  /** By an eighth: a table of twice the size may be more than the cache takes. */
  #grow(): void {
    const capacity = Math.ceil(this.#isFilled.length * 1.125);
    const values = new Float32Array(capacity * this.dimensions);
    values.set(this.#values);
    this.#values = values;
    const isFilled = new Uint8Array(capacity);
    isFilled.set(this.#isFilled);
    this.#isFilled = isFilled;
  }
}

/** The vectors of one scope in one snapshot of the database. Immutable. */
export class PassageVectors {
  /** The state of the index and of the vectors in that snapshot. */
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
   * Combines `before` with newly read vectors. Pauses now and then, because a large scope has tens
   * of thousands of vectors.
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
    const pause = createPause();
    if (before !== null && !read.isWhole.lists) {
      const names = isTableKept ? [] : before.#table.names();
      for (const [fileNo, rows] of before.#lists) {
        // The table is new, so rows have other numbers.
        const renamed = isTableKept ? rows : rows.map((row) => table.take(names[row] ?? ''));
        lists.set(fileNo, renamed);
        const turn = pause();
        if (turn !== undefined) await turn;
      }
    }
    for (const { fileNo, hashes } of read.lists) {
      const texts = unpackHashes(hashes);
      lists.set(
        fileNo,
        Int32Array.from(texts, (hash) => table.take(hash)),
      );
      const turn = pause();
      if (turn !== undefined) await turn;
    }
    for (const { textHash, vector } of read.vectors) {
      table.set(textHash, vector);
      const turn = pause();
      if (turn !== undefined) await turn;
    }
    return new PassageVectors(known, table, lists);
  }

  /** The approximate size in memory, in bytes, shared parts included. */
  get bytes(): number {
    let bytes = this.#table.bytes;
    for (const rows of this.#lists.values()) bytes += rows.byteLength + 100;
    return bytes;
  }

  /** The rows of a file's passages; `null` if they are not listed. */
  rowsOf(fileNo: number): Int32Array | null {
    return this.#lists.get(fileNo) ?? null;
  }

  /** The rows of a stale file's passages, by the hashes of its current text. */
  rowsOfTexts(textHashes: readonly string[]): Int32Array {
    return Int32Array.from(textHashes, (hash) => this.#table.find(hash));
  }

  /**
   * Writes the cosine of each row to `into`, starting at `at`. Texts without a vector leave their
   * place unchanged. Returns how many were compared.
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
