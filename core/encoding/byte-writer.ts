import { writeVarint } from './varints.ts';

/** The limit for numbers of 31 bits. */
const MAX_VARINT_BYTES = 5;

/** A buffer of bytes and varints that grows. */
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
    this.#reserve(MAX_VARINT_BYTES);
    this.length = writeVarint(this.#bytes, this.length, value);
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.length);
    this.length += values.length;
  }

  /** A view of what was written, valid until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  /** A copy of what was written. */
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
