import type { ScopeKey } from '../../contracts/records.ts';
import { inSlices, type Pause } from '../../time/pause.ts';
import { readPlaces } from './block.ts';
import type { TermRow } from './collection.ts';
import { ScopeLengths } from './scope-lengths.ts';
import type { Segment } from './segment.ts';

/** The segments of one scope at one generation, and which of their files count. */
export class ScopeSegments {
  readonly scope: ScopeKey;
  readonly generation: number;
  /** By ascending number. */
  readonly segments: readonly Segment[];
  readonly lengths: ScopeLengths;

  private constructor(
    { scope, generation }: { scope: ScopeKey; generation: number },
    segments: readonly Segment[],
    lengths: ScopeLengths,
  ) {
    this.scope = scope;
    this.generation = generation;
    this.segments = segments;
    this.lengths = lengths;
  }

  /** Joins segments. */
  static async join(
    key: { scope: ScopeKey; generation: number },
    segments: readonly Segment[],
    pause: Pause,
  ): Promise<ScopeSegments> {
    const lengths = await inSlices(ScopeLengths.join(segments), pause);
    return new ScopeSegments(key, segments, lengths);
  }

  /** The memory of the joined lengths, in bytes. */
  get bytes(): number {
    return this.lengths.bytes + 8 * this.segments.length;
  }

  /** A row from the frames of a term in the segment at `part`. */
  toRow(part: number, bytes: Uint8Array): TermRow {
    const files = this.segments[part]?.files;
    const fileAt = (place: number): number =>
      this.lengths.counts(part, place) ? (files?.[place] ?? -1) : -1;
    let frames: ReturnType<TermRow['frames']> | undefined;
    return { bytes, frames: () => (frames ??= readPlaces(bytes, fileAt)) };
  }
}
