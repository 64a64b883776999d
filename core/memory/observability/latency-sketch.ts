/**
 * A quantile that a sketch gives is within this share of the exact one, above or below.
 */
export const RELATIVE_ERROR = 0.01;

// DDSketch (Masson, Rim, Lee: VLDB 2019), logarithmic mapping: bin i holds the values from
// GAMMA ** (i - 1), exclusive, to GAMMA ** i.
const GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR);
const LOG_GAMMA = Math.log(GAMMA);
/** Durations are counted in microseconds, which is as fine as they are recorded. */
const UNITS_A_MS = 1000;
/** The bin of what takes less than a microsecond: it counts as none. */
const ZERO_BIN = 0;

/**
 * How many durations fell into which bin. Two sketches are merged by adding their bins, so that
 * the sketch of a day is exactly what one sketch of all its calls would have been.
 */
export class LatencySketch {
  readonly #bins = new Map<number, number>();
  #count = 0;
  /** What was added packed and is not read yet: many sketches are summed up, few are asked. */
  #packed: Uint8Array[] = [];
  /** The bins in order, as long as no other one comes. */
  #ordered: number[] | null = null;

  /** How many durations it holds. */
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
    for (const [bin, count] of other.#bins) this.#addToBin(bin, count);
  }

  /**
   * The quantile `q`, from 0 to 1, in milliseconds: of n durations in order that of rank
   * ⌊q (n - 1)⌋, within {@link RELATIVE_ERROR}. `null` of an empty sketch.
   */
  quantile(q: number): number | null {
    if (this.count === 0) return null;
    const rank = Math.floor(q * (this.#count - 1));
    let seen = 0;
    for (const bin of this.#inOrder()) {
      seen += this.#bins.get(bin) as number;
      if (seen > rank) return toMs(bin);
    }
    return null;
  }

  /** The bins as bytes: varints of the step to the next bin and of its count. */
  pack(): Uint8Array {
    this.#unpack();
    const bytes: number[] = [];
    let last = 0;
    for (const bin of this.#inOrder()) {
      pushVarint(bytes, bin - last);
      pushVarint(bytes, this.#bins.get(bin) as number);
      last = bin;
    }
    return Uint8Array.from(bytes);
  }

  /** Adds what `pack` gave. Bytes that it did not give are read as far as they make sense. */
  addPacked(bytes: Uint8Array): void {
    this.#packed.push(bytes);
  }

  #inOrder(): readonly number[] {
    this.#ordered ??= [...this.#bins.keys()].sort((a, b) => a - b);
    return this.#ordered;
  }

  #unpack(): void {
    const all = this.#packed;
    if (all.length === 0) return;
    this.#packed = [];
    for (const bytes of all) this.#readBins(bytes);
  }

  #readBins(bytes: Uint8Array): void {
    let bin = 0;
    let at = 0;
    while (at < bytes.length) {
      const step = readVarint(bytes, at);
      const count = readVarint(bytes, step.next);
      if (count.next > bytes.length) return;
      bin += step.value;
      this.#addToBin(bin, count.value);
      at = count.next;
    }
  }

  #addToBin(bin: number, count: number): void {
    const before = this.#bins.get(bin);
    if (before === undefined) this.#ordered = null;
    this.#bins.set(bin, (before ?? 0) + count);
    this.#count += count;
  }
}

function toBin(durationMs: number): number {
  const units = durationMs * UNITS_A_MS;
  // Bin 1 begins at one unit: whole units below it are zero.
  if (!(units >= 1)) return ZERO_BIN;
  return 1 + Math.ceil(Math.log(units) / LOG_GAMMA);
}

/** The value that is within the relative error of each one in the bin. */
function toMs(bin: number): number {
  if (bin === ZERO_BIN) return 0;
  return (2 * GAMMA ** (bin - 1)) / (GAMMA + 1) / UNITS_A_MS;
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}

function readVarint(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  let unit = 1;
  let at = from;
  for (;;) {
    const byte = bytes[at] ?? 0;
    at += 1;
    value += (byte & 0x7f) * unit;
    unit *= 0x80;
    if (byte < 0x80) return { value, next: at };
  }
}
