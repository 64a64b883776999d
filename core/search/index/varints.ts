import { damaged } from './index-damage.ts';

/** Reads varints of a part of a blob. */
export class VarintReader {
  at: number;
  readonly #blob: Uint8Array;
  readonly #end: number;

  constructor(blob: Uint8Array, start: number, end: number) {
    this.#blob = blob;
    this.at = start;
    this.#end = end;
  }

  /** The same as `read`, quicker for numbers of one byte, which nearly all are. */
  readSmall(): number {
    const byte = this.at < this.#end ? (this.#blob[this.at] ?? 0) : 0x80;
    if (byte >= 0x80) return this.read();
    this.at++;
    return byte;
  }

  /** At most four bytes: 2^28 is above every number that we keep. */
  read(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      if (this.at >= this.#end) throw damaged();
      const byte = this.#blob[this.at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }
}

/** Writes bytes and varints into a buffer that grows. */
export class ByteWriter {
  length = 0;
  #bytes: Uint8Array;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(Math.max(capacity, 16));
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.length);
    this.length += values.length;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + count));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}
