import { inSlices, type Pause } from '../../time/pause.ts';
import { ScopeLengths, type TermRow } from './collection.ts';
import { readPlaces, type Segment } from './segment.ts';

/** The segments of one scope at one generation, and which of their files count. */
export class ScopeSegments {
  readonly generation: number;
  /** By ascending number. */
  readonly segments: readonly Segment[];
  readonly lengths: ScopeLengths;

  private constructor(generation: number, segments: readonly Segment[], lengths: ScopeLengths) {
    this.generation = generation;
    this.segments = segments;
    this.lengths = lengths;
  }

  /** Joins segments; `null` if one is damaged. */
  static async join(
    generation: number,
    segments: readonly Segment[],
    pause: Pause,
  ): Promise<ScopeSegments | null> {
    const lengths = await inSlices(ScopeLengths.join(segments), pause);
    return lengths === null ? null : new ScopeSegments(generation, segments, lengths);
  }

  /** The memory of the decoded lengths, in bytes. */
  get bytes(): number {
    return this.lengths.bytes + 8 * this.segments.length;
  }

  /** The rows of a term, from its postings by segment. */
  toRows(postings: ReadonlyMap<number, readonly Uint8Array[]>): TermRow[] {
    return this.segments.flatMap((segment, part) =>
      (postings.get(segment.id) ?? []).map((bytes) => ({
        bytes,
        frames: () => readPlaces(bytes, (place) => this.fileAt(segment, part, place)),
      })),
    );
  }

  /** The file at a place of a segment if that copy of it counts, else -1. */
  fileAt(segment: Segment, part: number, place: number): number {
    return this.lengths.counts(part, place) ? (segment.files[place] ?? -1) : -1;
  }
}
