/** The largest buffer that is kept. A search that needs more allocates the rest. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The size of the widest number, in bytes. Arrays start at multiples of it. */
const ALIGNMENT = 8;

/** A class of typed arrays. */
interface ArrayClass<Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Numbers;
  new (buffer: ArrayBuffer, at: number, length: number): Numbers;
}

/**
 * Typed arrays for one synchronous search, cut from one buffer that the next search reuses.
 * Allocating new ones took a third of the time of ranking: a megabyte to clear and to collect.
 */
export class Arena {
  #buffer = new ArrayBuffer(0);
  #used = 0;

  /** Begins a search. The arrays of the previous one must no longer be used. */
  begin(): void {
    const wanted = Math.min(this.#used, MAX_BYTES);
    if (wanted > this.#buffer.byteLength) {
      this.#buffer = new ArrayBuffer(Math.min(MAX_BYTES, 2 * wanted));
    }
    this.#used = 0;
  }

  /** A new array, which is not cleared. */
  take<Numbers>(type: ArrayClass<Numbers>, length: number): Numbers {
    const at = this.#used;
    this.#used += Math.ceil((length * type.BYTES_PER_ELEMENT) / ALIGNMENT) * ALIGNMENT;
    const fits = this.#used <= this.#buffer.byteLength;
    return fits ? new type(this.#buffer, at, length) : new type(length);
  }
}
