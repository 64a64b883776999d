/** The largest number that is read unless told otherwise: 31 bits, more than any text is long. */
export const LARGEST_VARINT = 2 ** 31 - 1;

/**
 * Reads varints: 7 bits a byte, the low ones first. After a number that is cut short, too large or
 * not in its shortest form, `isDamaged` is set, and every further number is 0.
 */
export class VarintReader {
  at: number;
  isDamaged = false;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #largest: number;

  /** `largest` is at most `Number.MAX_SAFE_INTEGER`. */
  constructor(bytes: Uint8Array, start = 0, end = bytes.length, largest = LARGEST_VARINT) {
    this.#bytes = bytes;
    this.at = start;
    this.#end = end;
    this.#largest = largest;
  }

  read(): number {
    // Nearly all numbers take one byte.
    const byte = this.at < this.#end ? (this.#bytes[this.at] ?? 0) : 0x80;
    if (byte >= 0x80) return this.#readLong();
    this.at++;
    return byte;
  }

  #readLong(): number {
    let value = 0;
    for (let unit = 1; this.at < this.#end && value <= this.#largest; unit *= 0x80) {
      const byte = this.#bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * unit;
      if (byte >= 0x80) continue;
      if ((byte === 0 && unit > 1) || value > this.#largest) break;
      return value;
    }
    this.isDamaged = true;
    this.at = this.#end;
    return 0;
  }
}

/** Writes a varint at a place, and returns the place after it. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    bytes[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  bytes[at++] = rest;
  return at;
}
