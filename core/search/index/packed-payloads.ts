import type { FilePayloads } from './postings.ts';

/** What no term contains. */
const SEPARATOR = '\n';

/**
 * A file's payloads in four buffers: about 25 bytes a term, where a map with a view for each payload
 * takes 190.
 */
export class PackedPayloads implements FilePayloads {
  /** The terms by ascending hash, each followed by a separator. */
  readonly #terms: string;
  /** By place of the term: its hash, where it starts in `#terms`, and where its payload ends. */
  readonly #hashes: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #bytes: Uint8Array;

  constructor(payloads: FilePayloads) {
    const entries = [...payloads]
      .map(([term, payload]) => ({ term, payload, hash: hashTerm(term) }))
      .sort((left, right) => left.hash - right.hash);
    const size = entries.reduce((sum, { payload }) => sum + payload.length, 0);
    this.#hashes = new Uint32Array(entries.length);
    this.#starts = new Uint32Array(entries.length);
    this.#ends = new Uint32Array(entries.length);
    this.#bytes = new Uint8Array(size);
    let start = 0;
    let end = 0;
    for (const [place, { term, payload, hash }] of entries.entries()) {
      this.#hashes[place] = hash;
      this.#starts[place] = start;
      start += term.length + SEPARATOR.length;
      this.#bytes.set(payload, end);
      end += payload.length;
      this.#ends[place] = end;
    }
    this.#terms = entries.map(({ term }) => term + SEPARATOR).join('');
  }

  get(term: string): Uint8Array | undefined {
    const hash = hashTerm(term);
    for (let place = this.#firstOf(hash); this.#hashes[place] === hash; place++) {
      const start = this.#starts[place] ?? 0;
      const isSame =
        this.#terms.startsWith(term, start) && this.#terms[start + term.length] === SEPARATOR;
      if (isSame) return this.#payloadAt(place);
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<[string, Uint8Array], undefined> {
    for (let place = 0; place < this.#hashes.length; place++) {
      const start = this.#starts[place] ?? 0;
      const next = this.#starts[place + 1] ?? this.#terms.length;
      yield [this.#terms.slice(start, next - SEPARATOR.length), this.#payloadAt(place)];
    }
  }

  /** The approximate size in memory, in bytes. */
  get size(): number {
    return OVERHEAD + 2 * this.#terms.length + 12 * this.#hashes.length + this.#bytes.length;
  }

  #payloadAt(place: number): Uint8Array {
    return this.#bytes.subarray(this.#ends[place - 1] ?? 0, this.#ends[place]);
  }

  /** The first place with this hash or a greater one. */
  #firstOf(hash: number): number {
    let low = 0;
    let high = this.#hashes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#hashes[middle] ?? 0) < hash) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The memory of the object and its buffers beside their bytes. */
const OVERHEAD = 700;

/** FNV-1a of the UTF-16 units. */
function hashTerm(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) {
    hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
