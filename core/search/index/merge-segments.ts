import { Block, BlockWriter, type Entry, unpack, visitFrames } from './block.ts';
import { ENTRIES_PER_STEP, HeadWriter, type PackedSegment, type Segment } from './segment.ts';

/** A segment to merge: its head, and all of its blocks as they are stored. */
export interface MergedSegment {
  segment: Segment;
  blocks: readonly Uint8Array[];
  /** Whether the file at a place is taken. All are, unless another segment has it anew. */
  takes?: (place: number) => boolean;
}

/**
 * Merges segments. Of a file that several have, its newest version is taken. `isWhole`: no other
 * segment of the scope has copies of deleted files, so that these need not be listed any more.
 * Returns `null` if no file is left, `damaged` if a block can't be read.
 */
export function* mergeSegments(
  inputs: readonly MergedSegment[],
  { isWhole }: { isWhole: boolean },
): Generator<null, PackedSegment | null | 'damaged'> {
  const taken = takeNewest(inputs, isWhole);
  yield null;
  if (taken.length === 0) return null;
  const head = new HeadWriter(taken.length);
  const places = inputs.map(({ segment }) => new Int32Array(segment.files.length).fill(-1));
  for (const [number, { input, place }] of taken.entries()) {
    const { segment } = inputs[input] as MergedSegment;
    head.addFile(segment.files[place] ?? 0, segment.versions[place] ?? 0, segment.lengthsAt(place));
    const own = places[input];
    if (own !== undefined) own[place] = number;
  }
  yield null;
  const cursors = inputs.map(
    (input, number) => new Cursor(input, places[number] ?? new Int32Array()),
  );
  const blocks = new BlockWriter();
  for (let done = 1; ; done += 1) {
    if (cursors.some(({ isDamaged }) => isDamaged)) return 'damaged';
    const term = findLeastTerm(cursors);
    if (term === null) break;
    const frames: TakenFrame[] = [];
    for (const cursor of cursors) cursor.takeFrames(term, frames);
    if (frames.length > 0) {
      frames.sort((left, right) => left.place - right.place);
      blocks.begin(term);
      for (const { place, bytes, start, end } of frames) blocks.add(place, bytes, start, end);
      blocks.end();
    }
    if (done % ENTRIES_PER_STEP === 0) yield null;
  }
  return head.finish(blocks.finish());
}

interface TakenFrame {
  place: number;
  bytes: Uint8Array;
  start: number;
  end: number;
}

/** The files of the result, by ascending number: where each is among the inputs. */
function takeNewest(
  inputs: readonly MergedSegment[],
  isWhole: boolean,
): { input: number; place: number }[] {
  const newest = new Map<number, { input: number; place: number }>();
  for (const [input, { segment, takes }] of inputs.entries()) {
    for (const [place, fileNo] of segment.files.entries()) {
      if (takes?.(place) === false) continue;
      const other = newest.get(fileNo);
      const version = segment.versions[place] ?? 0;
      const known =
        other === undefined ? -1 : (inputs[other.input]?.segment.versions[other.place] ?? -1);
      if (version >= known) newest.set(fileNo, { input, place });
    }
  }
  return [...newest]
    .sort(([left], [right]) => left - right)
    .map(([, where]) => where)
    .filter(({ input, place }) => !isWhole || inputs[input]?.segment.isDeleted(place) === false);
}

/** The next term of all; `null` at the end. */
function findLeastTerm(cursors: readonly Cursor[]): Uint8Array | null {
  let least: Uint8Array | null = null;
  for (const { term } of cursors) {
    if (term !== null && (least === null || Buffer.compare(term, least) < 0)) least = term;
  }
  return least;
}

/** Reads a segment's entries one after the other. */
class Cursor {
  isDamaged: boolean;
  /** The term of the next entry; `null` at the end. */
  term: Uint8Array | null = null;
  readonly #segment: Segment;
  readonly #stored: readonly Uint8Array[];
  /** By place: the file's place in the result; -1 where it is not taken. */
  readonly #places: Int32Array;
  #block: Block | null = null;
  #entry: Entry | null = null;
  #nextBlock = 0;
  #nextEntry = 0;

  constructor({ segment, blocks }: MergedSegment, places: Int32Array) {
    this.#segment = segment;
    this.#stored = blocks;
    this.#places = places;
    this.isDamaged = segment.inline === null && blocks.length !== segment.blockCount;
    this.#advance();
  }

  /** Adds the frames of a term, with the places of their files in the result, and goes on. */
  takeFrames(term: Uint8Array, frames: TakenFrame[]): void {
    while (this.term !== null && Buffer.compare(this.term, term) === 0) {
      const { bytes } = this.#block as Block;
      const { framesAt, end } = this.#entry as Entry;
      const isIntact = visitFrames(bytes, framesAt, end, (place, from, to) => {
        const number = this.#places[place] ?? -1;
        if (number >= 0) frames.push({ place: number, bytes, start: from, end: to });
      });
      if (!isIntact) this.isDamaged = true;
      this.#advance();
    }
  }

  #advance(): void {
    while (!this.isDamaged && this.#nextEntry >= (this.#block?.count ?? 0)) {
      if (this.#nextBlock >= this.#segment.blockCount) break;
      this.#block = this.#readBlock(this.#nextBlock++);
      this.#nextEntry = 0;
      this.isDamaged = this.#block === null;
    }
    const hasMore = !this.isDamaged && this.#nextEntry < (this.#block?.count ?? 0);
    this.#entry = hasMore ? ((this.#block as Block).entry(this.#nextEntry++) ?? null) : null;
    this.term =
      this.#entry && (this.#block as Block).bytes.subarray(this.#entry.termAt, this.#entry.termEnd);
  }

  #readBlock(number: number): Block | null {
    if (this.#segment.inline !== null) return this.#segment.inline;
    const bytes = unpack(this.#stored[number] ?? new Uint8Array());
    return bytes === null ? null : Block.read(bytes);
  }
}
