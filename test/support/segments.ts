import { Block, readPlaces, unpack } from '../../core/search/index/block.ts';
import type { IndexedFile } from '../../core/search/index/index-file.ts';
import { LENGTHS_TERM } from '../../core/search/index/postings.ts';
import { ScopeLengths } from '../../core/search/index/scope-lengths.ts';
import { packSegment, Segment, type SegmentFile } from '../../core/search/index/segment.ts';
import { atOnce } from '../../core/time/pause.ts';
import { encodeText } from './index-text.ts';

/** A segment with its blocks as they are stored. */
export interface WholeSegment {
  segment: Segment;
  blocks: readonly Uint8Array[];
}

/** Packs files as a segment. */
export function toSegment(id: number, files: readonly SegmentFile[]): WholeSegment {
  const { head, blocks } = atOnce(packSegment(files));
  const segment = Segment.read(id, head);
  if (segment === null) throw new Error('What was just packed is damaged.');
  return { segment, blocks };
}

/** Packs texts as a segment, each at version 1. */
export function toTextSegment(
  id: number,
  files: Iterable<readonly [number, IndexedFile]>,
): WholeSegment {
  return toSegment(
    id,
    [...files].map(([fileNo, file]) => ({ fileNo, version: 1, payloads: encodeText(file) })),
  );
}

/** The lengths of the files that count in some segments. */
export function joinLengths(segments: readonly WholeSegment[]): ScopeLengths {
  return atOnce(ScopeLengths.join(segments.map(({ segment }) => segment)));
}

/** Visits all entries of a segment; `false` if it is damaged. */
export function visitAll(
  { segment, blocks }: WholeSegment,
  visit: (term: string, frames: Uint8Array) => void,
): boolean {
  const all = segment.inline === null ? blocks.map(readBlock) : [segment.inline];
  for (const block of all) block?.visit(new Uint8Array(), visit);
  return !all.includes(null);
}

/** Decodes a stored block; `null` if it is damaged. */
export function readBlock(stored: Uint8Array): Block | null {
  const bytes = unpack(stored);
  return bytes === null ? null : Block.read(bytes);
}

/** The payloads that count in some segments, by `<file> <term>`, in hex; `null` if one is damaged. */
export function readPostings(segments: readonly WholeSegment[]): Map<string, string> | null {
  const lengths = joinLengths(segments);
  const found = new Map<string, string>();
  const add = (file: number, term: string, bytes: Uint8Array): void => {
    const key = `${file} ${term}`;
    if (found.has(key)) throw new Error(`${key} is there twice.`);
    found.set(key, Buffer.from(bytes).toString('hex'));
  };
  for (const [part, whole] of segments.entries()) {
    const { segment } = whole;
    const fileAt = (place: number): number =>
      lengths.counts(part, place) ? (segment.files[place] ?? -1) : -1;
    for (const place of segment.files.keys()) {
      const own = segment.lengthsAt(place);
      if (own !== null && fileAt(place) >= 0) add(fileAt(place), LENGTHS_TERM, own);
    }
    let isIntact = true;
    const isRead = visitAll(whole, (term, bytes) => {
      const frames = readPlaces(bytes, fileAt);
      if (frames === null) isIntact = false;
      for (const { file, start, end } of frames ?? []) add(file, term, bytes.subarray(start, end));
    });
    if (!isRead || !isIntact) return null;
  }
  return found;
}

/** The head of a small segment without the postings of one term: no checksum shows that they are gone. */
export function withoutTerm(head: Uint8Array, term: string): Uint8Array {
  const segment = Segment.read(1, head);
  if (segment === null || segment.inline === null)
    throw new Error('The segment is not a small one.');
  const files = new Map<number, SegmentFile & { payloads: Map<string, Uint8Array> | null }>();
  for (const [place, fileNo] of segment.files.entries()) {
    const lengths = segment.lengthsAt(place);
    const payloads = lengths && new Map([[LENGTHS_TERM, lengths]]);
    files.set(fileNo, { fileNo, version: segment.versions[place] ?? 0, payloads });
  }
  visitAll({ segment, blocks: [] }, (own, bytes) => {
    const frames = readPlaces(bytes, (place) => segment.files[place] ?? -1) ?? [];
    for (const { file, start, end } of own === term ? [] : frames) {
      files.get(file)?.payloads?.set(own, bytes.slice(start, end));
    }
  });
  return atOnce(packSegment([...files.values()])).head;
}
