import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore, IndexView, OldPosting } from '../../contracts/storage.ts';
import { createPause, inSlices } from '../../time/pause.ts';
import { bucketOf, readOldFrames, unpackTerms } from './old-postings.ts';
import { LENGTHS_TERM } from './postings.ts';
import { packSegment, type SegmentFile } from './segment.ts';

/** The most files of one step, and the most bytes of their lists of terms. */
const STEP_FILES = 256;
const STEP_BYTES = 256 * 1024;
/** Rows of one query. */
const ROWS_READ = 2_048;

/**
 * Copies some files of a scope from its old postings into a segment; after the last ones, the scope is
 * read from its segments. Returns how many files it copied, or that the old postings are damaged.
 */
export async function copyPostings(
  store: IndexStore,
  scope: ScopeKey,
): Promise<{ files: number; isDone: boolean } | 'damaged'> {
  const read = await store.snapshot(async (view) => {
    const [opened] = await view.open([scope]);
    const from = opened?.state.copiedTo ?? null;
    if (from === null || from < 0) return null;
    return { from, files: await readFiles(view, scope, from) };
  });
  if (read === null) return { files: 0, isDone: true };
  const { from, files } = read;
  if (files === null) return 'damaged';
  const last = files.at(-1);
  const to = last === undefined ? null : last.fileNo + 1;
  const segment = last === undefined ? null : await inSlices(packSegment(files), createPause());
  await store.copy(scope, { from, to }, segment);
  return { files: files.length, isDone: to === null };
}

/** The next files with their payloads; `null` if they are damaged. */
async function readFiles(
  view: IndexView,
  scope: ScopeKey,
  from: number,
): Promise<SegmentFile[] | null> {
  const pause = createPause();
  const files = new Map<number, { version: number; payloads: Map<string, Uint8Array> }>();
  const keys = new Map<string, Pick<OldPosting, 'term' | 'bucket'>>();
  let bytes = 0;
  let wanted = 0;
  for (const { fileNo, version, terms } of await view.old.listFiles(scope, from, STEP_FILES)) {
    bytes += terms.length;
    if (files.size > 0 && bytes > STEP_BYTES) break;
    const own = unpackTerms(terms);
    if (own === null) return null;
    for (const term of own) {
      const bucket = bucketOf(fileNo);
      keys.set(`${bucket} ${term}`, { term, bucket });
    }
    wanted += own.length;
    files.set(fileNo, { version, payloads: new Map() });
    await pause();
  }
  const all = [...keys.values()];
  for (let at = 0; at < all.length; at += ROWS_READ) {
    for (const row of await view.old.ofBuckets(scope, all.slice(at, at + ROWS_READ))) {
      const frames = readOldFrames(row);
      if (frames === null) return null;
      for (const { file, start, end } of frames) {
        const own = files.get(file);
        if (own === undefined) continue;
        own.payloads.set(row.term, row.bytes.slice(start, end));
        wanted -= 1;
      }
      await pause();
    }
  }
  const isWhole = [...files.values()].every(({ payloads }) => payloads.has(LENGTHS_TERM));
  if (wanted !== 0 || !isWhole) return null;
  return [...files].map(([fileNo, file]) => ({ fileNo, ...file }));
}
