/** What is kept from one round to the next: a round that needs more has the rest for itself. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Of the widest numbers: where an array may begin. */
const ALIGNMENT = 8;

/**
 * Typed arrays for one round of synchronous work, cut out of one buffer that the next round uses
 * again. New ones for each search are a megabyte that the system clears and the garbage collector
 * takes back: a third of what ranking took.
 *
 * What is in an array at first is anything.
 */
export class Arena {
  #buffer = new ArrayBuffer(0);
  #used = 0;

  /** Begins a round: the arrays of the one before are no longer anyone's. */
  begin(): void {
    const wanted = Math.min(this.#used, MAX_BYTES);
    if (wanted > this.#buffer.byteLength) {
      this.#buffer = new ArrayBuffer(Math.min(MAX_BYTES, 2 * wanted));
    }
    this.#used = 0;
  }

  int32(length: number): Int32Array {
    const at = this.#take(length * 4);
    return at === null ? new Int32Array(length) : new Int32Array(this.#buffer, at, length);
  }

  float64(length: number): Float64Array {
    const at = this.#take(length * 8);
    return at === null ? new Float64Array(length) : new Float64Array(this.#buffer, at, length);
  }

  uint16(length: number): Uint16Array {
    const at = this.#take(length * 2);
    return at === null ? new Uint16Array(length) : new Uint16Array(this.#buffer, at, length);
  }

  uint8(length: number): Uint8Array {
    const at = this.#take(length);
    return at === null ? new Uint8Array(length) : new Uint8Array(this.#buffer, at, length);
  }

  /** Where so many bytes are free; `null` beyond the end. */
  #take(bytes: number): number | null {
    const at = this.#used;
    this.#used = at + Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    return this.#used <= this.#buffer.byteLength ? at : null;
  }
}
