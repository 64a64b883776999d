import { VarintReader, writeVarint } from '../../encoding/varints.ts';

/** The relative error of a quantile, above or below the exact one. */
export const RELATIVE_ERROR = 0.01;

// DDSketch (Masson, Rim, Lee: VLDB 2019), logarithmic mapping: bin i holds the values from
// GAMMA ** (i - 1), exclusive, to GAMMA ** i.
const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR);
const LOG_GAMMA = Math.log(GAMMA);
/** Bins count microseconds, the precision of recorded durations. */
const UNITS_A_MS = 1000;
/** The bin of durations below a microsecond, which count as zero. */
const ZERO_BIN = 0;
/** The highest bin: durations of more than ten thousand years fall into it. */
const LAST_BIN = 2_048;
/** Bins allocated at once, so that few additions allocate. */
const BINS_MADE = 64;
/** The most bytes of a packed bin: two for its step, eight for a safe integer. */
const BIN_BYTES = 10;

/**
 * Counts durations in bins. Merging adds the bins of two sketches, so that merged sketches equal one
 * sketch of all their calls.
 */
export class LatencySketch {
  /** Durations in {@link ZERO_BIN}, kept apart because it is far from all other bins. */
  #zeros = 0;
  /** Durations of each bin from `#first` on: at most some hundred bins, close together. */
  #bins = new Float64Array(0);
  #first = 0;
  #count = 0;
  /** Packed sketches not yet added: many sketches are merged, few are read. */
  #packed: Uint8Array[] = [];

  /** The number of durations. */
  get count(): number {
    this.#unpack();
    return this.#count;
  }

  /** Adds a duration in milliseconds. */
  add(durationMs: number): void {
    this.#addToBin(toBin(durationMs), 1);
  }

  merge(other: LatencySketch): void {
    other.#unpack();
    const added = other.#bins;
    if (added.length > 0) this.#reach(other.#first, other.#first + added.length - 1);
    const bins = this.#bins;
    const shift = other.#first - this.#first;
    for (let place = 0; place < added.length; place += 1) {
      bins[shift + place] = (bins[shift + place] ?? 0) + (added[place] ?? 0);
    }
    this.#zeros += other.#zeros;
    this.#count += other.#count;
  }

  /**
   * The quantile `q` (0 to 1) in milliseconds: the duration of rank ⌊q (n - 1)⌋ of n sorted durations,
   * within {@link RELATIVE_ERROR}. `null` for an empty sketch.
   */
  quantile(q: number): number | null {
    if (this.count === 0) return null;
    const rank = Math.floor(q * (this.#count - 1));
    let seen = this.#zeros;
    if (seen > rank) return toMs(ZERO_BIN);
    for (let place = 0; place < this.#bins.length; place += 1) {
      seen += this.#bins[place] ?? 0;
      if (seen > rank) return toMs(this.#first + place);
    }
    return null;
  }

  /** Packs the bins as varints: the step to the next bin, then its count. */
  pack(): Uint8Array {
    this.#unpack();
    const bins = this.#bins;
    const bytes = new Uint8Array((bins.length + 1) * BIN_BYTES);
    let end = 0;
    let last = ZERO_BIN;
    if (this.#zeros > 0) end = writeVarint(bytes, writeVarint(bytes, end, 0), this.#zeros);
    for (let place = 0; place < bins.length; place += 1) {
      const count = bins[place] ?? 0;
      if (count === 0) continue;
      const bin = this.#first + place;
      end = writeVarint(bytes, writeVarint(bytes, end, bin - last), count);
      last = bin;
    }
    return bytes.slice(0, end);
  }

  /** Adds the result of `pack`. Reads damaged bytes up to the damage. */
  addPacked(bytes: Uint8Array): void {
    this.#packed.push(bytes);
  }

  #unpack(): void {
    const all = this.#packed;
    if (all.length === 0) return;
    this.#packed = [];
    for (const bytes of all) this.#readBins(bytes);
  }

  #readBins(bytes: Uint8Array): void {
    let bin = 0;
    const reader = new VarintReader(bytes, 0, bytes.length, Number.MAX_SAFE_INTEGER);
    while (reader.at < bytes.length) {
      bin += reader.read();
      const count = reader.read();
      // No sketch has these numbers: the bytes are damaged from here on.
      if (reader.isDamaged || bin > LAST_BIN) return;
      this.#addToBin(bin, count);
    }
  }

  #addToBin(bin: number, count: number): void {
    this.#count += count;
    if (bin === ZERO_BIN) {
      this.#zeros += count;
      return;
    }
    this.#reach(bin, bin);
    const place = bin - this.#first;
    this.#bins[place] = (this.#bins[place] ?? 0) + count;
  }

  /** Allocates the bins of a range unless they exist. */
  #reach(from: number, to: number): void {
    const { length } = this.#bins;
    if (length > 0 && from >= this.#first && to < this.#first + length) return;
    const first = length === 0 ? from : Math.min(from, this.#first);
    const end = length === 0 ? to + 1 : Math.max(to + 1, this.#first + length);
    const start = first - (first % BINS_MADE);
    const bins = new Float64Array(Math.ceil((end - start) / BINS_MADE) * BINS_MADE);
    bins.set(this.#bins, length === 0 ? 0 : this.#first - start);
    this.#bins = bins;
    this.#first = start;
  }
}

function toBin(durationMs: number): number {
  const units = durationMs * UNITS_A_MS;
  // Bin 1 starts at one unit.
  if (!(units >= 1)) return ZERO_BIN;
  return Math.min(1 + Math.ceil(Math.log(units) / LOG_GAMMA), LAST_BIN);
}

/** The value within the relative error of every value in the bin. */
function toMs(bin: number): number {
  if (bin === ZERO_BIN) return 0;
  return (2 * GAMMA ** (bin - 1)) / (GAMMA + 1) / UNITS_A_MS;
}
