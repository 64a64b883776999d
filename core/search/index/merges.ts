import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexSize, IndexStore } from '../../contracts/storage.ts';
import { createPause, inSlices } from '../../time/pause.ts';
import type { SearchCaches } from '../search-caches.ts';
import { type MergedSegment, mergeSegments } from './merge-segments.ts';
import { openSegments } from './read-segments.ts';
import { Segment } from './segment.ts';

/** A merge makes no segment of more files or bytes. */
const MOST_FILES = 1_000;
const MOST_BYTES = 2_000_000;
/** The most segments of a scope that are small: two of these can always be merged. */
const MOST_SMALL = 8;

/** What a merge came to. `gone`: a segment of it is not there any more, so that nothing was changed. */
export type MergeResult = IndexSize | 'gone' | 'damaged';

/** The segments to merge now, by number; `null` for none. */
export function planMerge({ segments }: IndexSize): number[] | null {
  const small = segments
    .filter(({ files, bytes }) => files * 2 <= MOST_FILES && bytes * 2 <= MOST_BYTES)
    .sort((left, right) => left.bytes - right.bytes);
  if (small.length <= MOST_SMALL) return null;
  const taken: number[] = [];
  let files = 0;
  let bytes = 0;
  for (const one of small) {
    // Each file is merged into a segment of about twice the size, so only a few times in all.
    if (taken.length >= 2 && one.bytes > bytes) break;
    if (files + one.files > MOST_FILES || bytes + one.bytes > MOST_BYTES) break;
    taken.push(one.segment);
    files += one.files;
    bytes += one.bytes;
  }
  return taken;
}

/** Whether more than half of what the segments of a scope list does not count any more. */
export function hasMuchLeft({ files, segments }: IndexSize): boolean {
  const listed = segments.reduce((sum, one) => sum + one.files, 0);
  return listed > 2 * files + MOST_FILES;
}

/** Merges segments of a scope into one. */
export async function mergeScope(
  store: IndexStore,
  scope: ScopeKey,
  { inputs, size }: { inputs: readonly number[]; size: IndexSize },
): Promise<MergeResult> {
  const read = await store.snapshot(async (view) => {
    const heads = await view.readHeads(inputs.map((segment) => ({ scope, segment })));
    if (heads.length < inputs.length) return 'gone';
    const merged: MergedSegment[] = [];
    for (const { segment: id, head } of heads) {
      const segment = Segment.read(id, head);
      if (segment === null) return 'damaged';
      merged.push({ segment, blocks: await view.readAllBlocks({ scope, segment: id }) });
    }
    return merged;
  });
  if (typeof read === 'string') return read;
  // A version of a deleted file may be in any other segment.
  const isWhole = inputs.length === size.segments.length;
  return await replaceSegments(store, scope, { merged: read, isWhole });
}

async function replaceSegments(
  store: IndexStore,
  scope: ScopeKey,
  { merged, isWhole }: { merged: readonly MergedSegment[]; isWhole: boolean },
): Promise<MergeResult> {
  const packed = await inSlices(mergeSegments(merged, { isWhole }), createPause());
  if (packed === 'damaged') return 'damaged';
  const inputs = merged.map(({ segment }) => segment.id);
  return (await store.merge(scope, inputs, packed)) ?? 'gone';
}

/**
 * Rewrites segments without the copies of files that do not count any more: those of which more than
 * `share` of the files do not count. `moved`: a merge was faster for one of them, and kept its copies.
 */
export async function removeLeft(
  store: IndexStore,
  scope: ScopeKey,
  { share, caches }: { share: number; caches: Pick<SearchCaches, 'segments' | 'scopes'> },
): Promise<'done' | 'moved' | 'damaged'> {
  const pause = createPause();
  const opened = await store.snapshot(async (view) => {
    const [own] = await view.open([scope]);
    const isOld = own?.state.copiedTo !== null && (own?.state.copiedTo ?? -1) >= 0;
    if (own === undefined || own.state.format === null || isOld) return null;
    const read = await openSegments(view, { scope, opened: own, known: null }, { caches, pause });
    return read ?? 'damaged';
  });
  if (opened === null || opened === 'damaged') return opened ?? 'done';
  let outcome: 'done' | 'moved' = 'done';
  for (const [part, segment] of opened.segments.entries()) {
    const takes = (place: number): boolean =>
      segment.isDeleted(place) || opened.lengths.counts(part, place);
    let left = 0;
    for (let place = 0; place < segment.files.length; place++) if (!takes(place)) left += 1;
    if (left === 0 || left <= share * segment.files.length) continue;
    const blocks = await store.snapshot((view) =>
      view.readAllBlocks({ scope, segment: segment.id }),
    );
    const merged = [{ segment, blocks, takes }];
    const result = await replaceSegments(store, scope, { merged, isWhole: false });
    // Without its blocks it was merged or removed meanwhile, or is damaged, which the next look sees.
    if (result === 'damaged' && blocks.length === segment.blockCount) return 'damaged';
    if (result === 'damaged' || result === 'gone') outcome = 'moved';
  }
  return outcome;
}
