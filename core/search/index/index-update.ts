import type { ScopeKey } from '../../contracts/records.ts';
import type { AddOutcome, IndexSize, IndexStore, StaleMark } from '../../contracts/storage.ts';
import { createPause, inSlices, type Pause } from '../../time/pause.ts';
import type { SearchCaches } from '../search-caches.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { packSegment } from './segment.ts';
import type { TokenisedFile } from './tokenised-files.ts';

/**
 * The most bytes of postings in one segment, unless a single file has more. A transaction writes what
 * they are packed to, for which a server has to take packets of 4 MB.
 */
const SEGMENT_BYTES = 1_500_000;

/**
 * What an update came to: how large the index is now (`null` if nothing was added), the numbers of the
 * files that were added, and whether it can go on like that; see {@link AddOutcome}.
 */
export interface UpdateResult {
  size: IndexSize | null;
  added: Set<number>;
  obstacle: Exclude<AddOutcome['outcome'], 'added' | 'changed'> | null;
}

/**
 * Adds files of one scope to its index, as one segment or a few. What was written or searched was
 * tokenised before; it tokenises the others. A file that changes during this stays stale.
 */
export async function updateIndex(
  store: IndexStore,
  scope: ScopeKey,
  { stale, caches }: { stale: readonly StaleMark[]; caches: Pick<SearchCaches, 'files'> },
): Promise<UpdateResult> {
  const files = await store.snapshot((view) => view.readFiles(stale));
  const pause = createPause();
  const result: UpdateResult = { size: null, added: new Set(), obstacle: null };
  let batch = new Map<number, IndexedVersion>();
  let bytes = 0;
  const add = async (): Promise<void> => {
    const current = stale.filter(({ fileNo, version }) => batch.get(fileNo)?.version === version);
    const { outcome, due } = await addFiles(store, scope, { marks: current, files: batch, pause });
    if (outcome?.outcome === 'added') {
      result.size = outcome.size;
      for (const { fileNo } of due) result.added.add(fileNo);
    } else if (outcome !== null) result.obstacle = outcome.outcome;
    batch = new Map();
    bytes = 0;
  };
  for (const { fileNo, version, path, hash, content } of files) {
    await pause();
    const options = { isKept: false, pause };
    const indexed =
      content === null ? null : await caches.files.take({ path, hash, content }, options);
    const more = indexed === null ? 0 : weighPayloads(indexed);
    if (bytes + more > SEGMENT_BYTES) await add();
    if (result.obstacle !== null) return result;
    batch.set(fileNo, { version, indexed });
    bytes += more;
  }
  await add();
  return result;
}

/** A file to index; `null` for a deleted one. */
interface IndexedVersion {
  version: number;
  indexed: TokenisedFile | null;
}

function weighPayloads({ payloads }: TokenisedFile): number {
  let bytes = 0;
  for (const [term, payload] of payloads) bytes += term.length + payload.length + 4;
  return bytes;
}

/**
 * Adds a segment of the files that are still stale with the same version. `due` are these files. The outcome
 * is `null` if there are none.
 */
async function addFiles(
  store: IndexStore,
  scope: ScopeKey,
  {
    marks,
    files,
    pause,
  }: { marks: readonly StaleMark[]; files: ReadonlyMap<number, IndexedVersion>; pause: Pause },
): Promise<{
  outcome: Exclude<AddOutcome, { outcome: 'changed' }> | null;
  due: readonly StaleMark[];
}> {
  let due = marks;
  while (due.length > 0) {
    const own = due.flatMap((mark) => {
      const file = files.get(mark.fileNo);
      return file === undefined ? [] : [{ fileNo: mark.fileNo, ...file }];
    });
    const packed = await inSlices(
      packSegment(
        own.map(({ fileNo, version, indexed }) => ({
          fileNo,
          version,
          payloads: indexed?.payloads ?? null,
        })),
      ),
      pause,
    );
    const outcome = await store.add(scope, {
      ...packed,
      format: TOKENISER_VERSION,
      marks: due,
      passages: own.flatMap(({ fileNo, version, indexed }) => {
        const hashes = indexed?.hashes ?? null;
        return hashes === null ? [] : [{ fileNo, version, hashes }];
      }),
      removed: own.filter(({ indexed }) => indexed === null).map(({ fileNo }) => fileNo),
    });
    if (outcome.outcome !== 'changed') return { outcome, due };
    due = outcome.due;
  }
  return { outcome: null, due };
}
