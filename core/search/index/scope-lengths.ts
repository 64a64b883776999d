import { LengthsTable } from './lengths-table.ts';

/** Files with their lengths, from one place of the index. */
export interface LengthsPart {
  /** By place: the files' numbers. */
  files: ArrayLike<number>;
  /** By place: the version that was indexed; `null` if the index does not say. */
  versions: ArrayLike<number> | null;
  /** By place. */
  lengths: LengthsTable;
  isDeleted(place: number): boolean;
}

/**
 * The lengths of all passages of one scope: those of the files that count, part after part. Searches
 * cache them.
 */
export class ScopeLengths {
  readonly table: LengthsTable;
  /** By number in the table: the file's own number. */
  readonly files: Int32Array;
  /** By the file's own number: its number in the table, counted from 1; 0 for none. */
  readonly #numbers: Int32Array;
  /** By number in the table: the indexed version; -1 where the index does not say. */
  readonly #versions: Int32Array;
  /** By part and place: whether this copy of the file counts. */
  readonly #counting: readonly Uint8Array[];

  private constructor(
    table: LengthsTable,
    { files, versions }: { files: Int32Array; versions: Int32Array },
    counting: readonly Uint8Array[],
  ) {
    this.table = table;
    this.files = files;
    this.#versions = versions;
    this.#counting = counting;
    this.#numbers = numberFiles(files, 0);
  }

  /**
   * Joins parts. Of a file that several have, the copy with the newest version counts, and the last of
   * those; if that is a deletion, none does.
   */
  static *join(parts: readonly LengthsPart[]): Generator<null, ScopeLengths> {
    const owners = yield* findOwners(parts);
    const counting: Uint8Array[] = [];
    let count = 0;
    let slots = 0;
    for (const [part, source] of parts.entries()) {
      const { files, lengths } = source;
      const own = new Uint8Array(files.length);
      for (let place = 0; place < files.length; place++) {
        if (owners[files[place] ?? 0] !== part || source.isDeleted(place)) continue;
        own[place] = 1;
        count += 1;
        slots += (lengths.firstSlots[place + 1] ?? 0) - (lengths.firstSlots[place] ?? 0);
      }
      counting.push(own);
      yield null;
    }
    const table = new LengthsTable(count, slots);
    const kept = { files: new Int32Array(count), versions: new Int32Array(count).fill(-1) };
    for (const [part, { files, versions, lengths }] of parts.entries()) {
      const own = counting[part] as Uint8Array;
      for (let from = own.indexOf(1); from >= 0;) {
        const end = own.indexOf(0, from);
        const to = end < 0 ? own.length : end;
        for (let place = from, number = table.fileCount; place < to; place++, number++) {
          kept.files[number] = files[place] ?? 0;
          if (versions !== null) kept.versions[number] = versions[place] ?? 0;
        }
        table.addFiles(lengths, from, to);
        from = own.indexOf(1, to);
      }
      yield null;
    }
    return new ScopeLengths(table, kept, counting);
  }

  /** The number of a file in the table; -1 for none. */
  numberOf(file: number): number {
    return (this.#numbers[file] ?? 0) - 1;
  }

  /** The indexed version of a file; `null` for none, and where the index does not say. */
  versionOf(file: number): number | null {
    const version = this.#versions[this.numberOf(file)] ?? -1;
    return version < 0 ? null : version;
  }

  /** Whether the copy at a place of a part counts. */
  counts(part: number, place: number): boolean {
    return this.#counting[part]?.[place] === 1;
  }

  /** The approximate size in memory, in bytes. */
  get bytes(): number {
    const places = this.#counting.reduce((sum, { length }) => sum + length, 0);
    return this.table.bytes + 8 * this.files.length + places + 4 * this.#numbers.length + 200;
  }
}

/** By the file's own number: the part whose copy is the newest, and the last of those. */
function* findOwners(parts: readonly LengthsPart[]): Generator<null, Int32Array> {
  const last = parts.reduce((most, { files }) => Math.max(most, files[files.length - 1] ?? -1), -1);
  const owners = new Int32Array(last + 1).fill(-1);
  const newest = new Int32Array(last + 1).fill(-2);
  for (const [part, { files, versions }] of parts.entries()) {
    for (let place = 0; place < files.length; place++) {
      const file = files[place] ?? 0;
      const version = versions === null ? -1 : (versions[place] ?? 0);
      if (version < (newest[file] ?? 0)) continue;
      newest[file] = version;
      owners[file] = part;
    }
    yield null;
  }
  return owners;
}

/** At each file's number: `start` and its place in `files`, from 1; 0 where there is no file. */
export function numberFiles(files: Int32Array, start: number): Int32Array {
  let last = -1;
  for (const file of files) last = Math.max(last, file);
  const numbers = new Int32Array(last + 1);
  for (let place = 0; place < files.length; place++) {
    numbers[files[place] ?? 0] = start + place + 1;
  }
  return numbers;
}
