import type { FileKey, FileState, RevisionRecord } from '../../contracts/records.ts';
import type { RevisionStore } from '../../contracts/storage.ts';
import { createPause } from '../../time/pause.ts';
import { createOlderText, createStepReader, isArrival } from '../blame.ts';
import type { Change } from '../weave.ts';
import type { UndoStep } from './merge.ts';
import { isMerged, isOfLines, parseTakenBack } from './taken-back.ts';

/** A revision on the way back. */
export interface RevisionStep extends UndoStep {
  revision: RevisionRecord;
  /** How many moves of the file came after it. */
  moves: number;
}

/** The history that a walk reads. */
type History = Pick<RevisionStore, 'get' | 'list' | 'steps'>;

/** The most revisions that one walk examines. */
const MAX_REVISIONS = 10_000;
const PAGE = 500;

/** What a walk is for. */
interface WalkOptions {
  selected: ReadonlySet<string>;
  /** Gets what a revert took back that the walk passes over. */
  onUndone(revision: RevisionRecord): void;
  /** A version that the walk has to meet, and what is called with the lines of its content as they are. */
  met: (FileKey & { version: number }) | null;
  onMet(): void;
}

/**
 * Yields the changes of a file, newest first, each with the contents before and after it. Follows moves
 * to the old path, and a revert to the version whose content it restored, unless they are selected
 * themselves, or the version to meet is in between. Ends where revisions are pruned, or missing.
 */
export async function* walkChanges(
  history: History,
  head: FileState,
  { selected, onUndone, met, onMet }: WalkOptions,
): AsyncGenerator<Change<RevisionStep>> {
  const pause = createPause();
  const older = createOlderText(history, head.content ?? '');
  let left = MAX_REVISIONS;
  let place: { file: FileKey; version: number } | null = { file: head, version: head.version };
  for (let moves = 0; place !== null && left > 0; moves += 1) {
    const list = createRevisionList(history, place.file, place.version);
    const readStep = createStepReader(history, place.file);
    let expected: number = place.version;
    const isMetHere = met?.scope === place.file.scope && met.path === place.file.path;
    place = null;
    for (let at = 0; left > 0; at += 1, left -= 1) {
      const revision = await list.get(at);
      if (revision?.version !== expected) return;
      expected -= 1;
      await older.check(revision);
      if (isMetHere && met.version === revision.version) onMet();
      const isSelected = selected.has(revision.id);
      if (isArrival(revision) && !isSelected) {
        const departure = await history.get(revision.peerId ?? '');
        if (departure !== null) place = { file: departure, version: departure.version - 1 };
        break;
      }
      const restored = isSelected ? null : await list.restored(at);
      const target = restored === null ? undefined : await list.get(restored);
      const isBetween =
        isMetHere && met.version < revision.version && met.version > (target?.version ?? 0);
      if (restored !== null && !isBetween) {
        for (let undone = at + 1; undone < restored; undone += 1) {
          const one = await list.get(undone);
          if (one !== undefined) onUndone(one);
        }
        expected = target?.version ?? 0;
        at = restored - 1;
        continue;
      }
      const recorded = await readStep(revision.version);
      if (recorded === undefined) return;
      const after = older.text();
      const hunks = older.stepBack(recorded);
      const { version, existedBefore, existsAfter, redactedBefore: isBlank } = revision;
      const { reverts } = revision;
      const takesBack = reverts === null ? null : parseTakenBack(reverts, moves);
      const step = {
        version,
        moves,
        revision,
        isSelected,
        existedBefore,
        existsAfter,
        takesBack,
        isOfLines: isOfLines(reverts),
      };
      yield { step, hunks, before: older.text(), after, isBlank };
      await pause();
    }
  }
}

/** The revisions of a file from a version back, read page by page. */
function createRevisionList(history: History, path: FileKey, version: number) {
  const revisions: RevisionRecord[] = [];
  let after: readonly (string | number)[] | null = null;
  let isAll = false;

  async function get(at: number): Promise<RevisionRecord | undefined> {
    while (at >= revisions.length && !isAll) {
      const page = await history.list({ path }, { limit: PAGE, order: 'desc', after });
      revisions.push(...page.items.filter((one) => one.version <= version));
      after = page.next;
      isAll = after === null || revisions.length >= MAX_REVISIONS;
    }
    return revisions[at];
  }

  return {
    get,
    /** The place of the version whose content a revert restored; `null` where it made a new one. */
    async restored(at: number): Promise<number | null> {
      const { action, reverts, hash, existsAfter, version: by } = revisions[at] as RevisionRecord;
      if (action !== 'revert' || !existsAfter || hash === null) return null;
      if (reverts !== null && isMerged(reverts, by)) return null;
      for (let earlier = at + 1; ; earlier += 1) {
        const one = await get(earlier);
        if (one === undefined) return null;
        if (one.existsAfter && one.hash === hash) return earlier;
      }
    },
  };
}
