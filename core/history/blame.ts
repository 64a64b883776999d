import type { FileKey, RevisionRecord, RevisionStep } from '../contracts/records.ts';
import type { RevisionStore } from '../contracts/storage.ts';
import { hashText } from '../files/content.ts';
import { createPause } from '../time/pause.ts';
import { applyDelta, blankDelta, diffTexts, type Hunk } from './delta.ts';
import { decodeDelta } from './delta/codec.ts';
import { damagedHistory } from './texts.ts';
import { isMerged, parseTakenBack } from './undo/taken-back.ts';
import { type Step, Weave } from './weave.ts';

/** Consecutive lines that one revision wrote. Lines count from 1; both ends are included. */
export interface BlamedRange {
  startLine: number;
  endLine: number;
  /** `null` if the revision is pruned or too many revisions ago. */
  revision: RevisionRecord | null;
  /** The newest revert that brought the lines back. */
  putBackBy: RevisionRecord | null;
}

/** The history that blame reads. */
type History = Pick<RevisionStore, 'get' | 'list' | 'ofVersion' | 'steps'>;

/** The most revisions that one blame examines. */
const MAX_REVISIONS = 10_000;
/** Steps read in one query: each may hold a whole content. */
const STEPS = 16;

/**
 * Finds the revision that wrote each line of a file's content at a version.
 *
 * Walks back from that content one revision at a time. A revision wrote the lines that it changed;
 * all other lines are older. `oldestAt` is the time of the oldest revision examined: lines without a
 * revision are older. Throws `STORAGE_DAMAGED` if a step leads to another content than was written.
 */
export async function blameLines(
  history: History,
  file: FileKey,
  { version, content }: { version: number; content: string },
) {
  const pause = createPause();
  const lines = createBlamedLines(history, content);
  let oldestAt: number | null = null;
  for await (const { revision, step, putBack, moves, isAfter } of walkBack(
    history,
    file,
    version,
  )) {
    // Before the end, so that the last step is checked too.
    if (isAfter) await lines.check(revision);
    if (lines.isComplete()) break;
    if (putBack !== undefined) lines.putBack(revision, { step: putBack, moves });
    oldestAt = Math.min(oldestAt ?? revision.at, revision.at);
    if (step !== null) lines.stepBack(revision, { step, moves });
    await pause();
  }
  await pause();
  return { ranges: lines.toRanges(), oldestAt };
}

/** A revision on the way back. Without a step it wrote none of the lines, which are older than it. */
interface Passed {
  revision: RevisionRecord;
  step: RevisionStep | null;
  /** The step of a revert to an earlier content, which the walk goes on with. */
  putBack?: RevisionStep;
  /** How many moves of the file came after it. */
  moves: number;
  /** Whether the content so far is the one after this revision. */
  isAfter: boolean;
}

/**
 * Yields the revisions that led to a version, newest first, each with its step back. Follows a move
 * to the file at its old path, and a revert to the version that it restored. Ends where revisions
 * are pruned.
 */
async function* walkBack(history: History, file: FileKey, version: number): AsyncGenerator<Passed> {
  let left = MAX_REVISIONS;
  let place: { file: FileKey; version: number } | null = { file, version };
  for (let moves = 0; place !== null && left > 0; moves += 1) {
    const { file: at, version: upTo } = place;
    const later = await history.ofVersion(at, upTo + 1);
    const revisions = await readRevisions(history, at, { upTo, later, limit: left });
    if (revisions.length === 0) {
      const oldest = later ?? (await findOldest(history, at));
      if (oldest !== null) yield { revision: oldest, step: null, moves, isAfter: false };
      return;
    }
    const restoredBy = findRestored(revisions);
    const readStep = createStepReader(history, at);
    let expected = upTo;
    left -= revisions.length;
    place = null;
    for (let index = 0; index < revisions.length; index++) {
      if (revisions[index]?.version !== expected) return;
      const restored = restoredBy.get(index) ?? index;
      if (restored === PRUNED) {
        const oldest = revisions.at(-1) as RevisionRecord;
        yield { revision: oldest, step: null, moves, isAfter: false };
        return;
      }
      const restoring = revisions[index] as RevisionRecord;
      const by = restored === index ? undefined : await readStep(restoring.version);
      if (by !== undefined)
        yield { revision: restoring, step: null, putBack: by, moves, isAfter: true };
      index = restored;
      const revision = revisions[index] as RevisionRecord;
      expected = revision.version - 1;
      if (isArrival(revision)) {
        yield { revision, step: null, moves, isAfter: true };
        const left = await history.get(revision.peerId ?? '');
        if (left === null) return;
        place = { file: left, version: left.version - 1 };
        break;
      }
      const step = await readStep(revision.version);
      if (step === undefined) return;
      yield { revision, step, moves, isAfter: true };
    }
  }
}

/** Reads the steps of a file from version to version, newest first, many at a time. */
export function createStepReader(history: Pick<RevisionStore, 'steps'>, file: FileKey) {
  let steps = new Map<number, RevisionStep>();
  return async (version: number): Promise<RevisionStep | undefined> => {
    if (!steps.has(version)) {
      const rows = await history.steps(file, { after: version - STEPS, upTo: version });
      steps = new Map(rows.map((step) => [step.version, step]));
    }
    return steps.get(version);
  };
}

/** The revisions of a file up to a version, newest first; none if that version's own is pruned. */
export async function readRevisions(
  history: History,
  path: FileKey,
  { upTo, later, limit }: { upTo: number; later: RevisionRecord | null; limit: number },
): Promise<RevisionRecord[]> {
  const revisions: RevisionRecord[] = [];
  let after: readonly (string | number)[] | null = later === null ? null : [later.id];
  do {
    const { items, next } = await history.list({ path }, { limit: 500, order: 'desc', after });
    revisions.push(...items);
    if (revisions[0]?.version !== upTo) return [];
    after = next;
  } while (after !== null && revisions.length < limit);
  return revisions.slice(0, limit);
}

/** The oldest revision of a file that is kept. */
async function findOldest(history: History, path: FileKey): Promise<RevisionRecord | null> {
  const { items } = await history.list({ path }, { limit: 1, order: 'asc', after: null });
  return items[0] ?? null;
}

/** Stands for a revision that is pruned, or too many revisions ago. */
const PRUNED = -1;

/**
 * Maps the index of each revert to the index of the revision whose content it restored. A revert that
 * was merged with later writes restored no earlier content, and is not in the map.
 */
export function findRestored(revisions: readonly RevisionRecord[]): Map<number, number> {
  const restored = new Map<number, number>();
  const madeBy = new Map<string, number>();
  const isWhole = revisions.at(-1)?.version === 1;
  for (let index = revisions.length - 1; index >= 0; index--) {
    const { action, existsAfter, hash, reverts, version } = revisions[index] as RevisionRecord;
    // The content of a redacted revision is not known.
    if (!existsAfter || hash === null) continue;
    // In a whole history, a plugin's revert may have written something new.
    const isNew = isWhole || (reverts !== null && isMerged(reverts, version));
    const earlier = madeBy.get(hash) ?? (isNew ? undefined : PRUNED);
    if (action === 'revert' && earlier !== undefined) restored.set(index, earlier);
    else madeBy.set(hash, index);
  }
  return restored;
}

/** Whether a revision brought a file here by a move: the lines were written at the old path. */
export function isArrival({ action, existedBefore, peerId }: RevisionRecord): boolean {
  return action === 'move' && !existedBefore && peerId !== null;
}

/** A revision on the way back through the moves of a file. */
interface BlamedStep extends Step {
  revision: RevisionRecord;
  moves: number;
}

/** The lines of a content, each with its writer once known. */
function createBlamedLines(history: History, content: string) {
  const weave = new Weave<BlamedStep>(content);
  const lines = [...weave.places];
  const older = createOlderText(history, content);

  return {
    isComplete: () =>
      !weave.places.some(({ number }) => number >= 0) &&
      !(weave.hasPending && lines.some(({ pending }) => pending !== null)),

    check: older.check,

    /** Steps from the text after a revision to the text before it. */
    stepBack(
      revision: RevisionRecord,
      { step, moves }: { step: RevisionStep; moves: number },
    ): void {
      const after = older.text();
      const hunks = older.stepBack(step);
      const { version, reverts, redactedBefore: isBlank } = revision;
      const takesBack = reverts === null ? null : parseTakenBack(reverts, moves);
      weave.back({
        step: { revision, version, moves, takesBack },
        hunks,
        before: older.text(),
        after,
        isBlank,
      });
    },

    /** Notes the lines that a revert brought back. */
    putBack(
      revision: RevisionRecord,
      { step: { delta, keyframe }, moves }: { step: RevisionStep; moves: number },
    ): void {
      const { version } = revision;
      const step = { revision, version, moves, takesBack: null };
      const before = keyframe ?? '';
      const hunks =
        delta === null ? diffTexts(before, older.text()).delta.hunks : decodeDelta(delta).hunks;
      for (const { start, removed } of hunks) {
        for (const line of weave.places.slice(start, start + removed)) line.putBackBy ??= step;
      }
    },

    toRanges(): BlamedRange[] {
      // A line that stands in the oldest content that was examined is older.
      const unknown = new Set(weave.places);
      const ranges: BlamedRange[] = [];
      for (const [index, line] of lines.entries()) {
        const revision = unknown.has(line) ? null : (line.writer?.revision ?? null);
        const putBackBy = line.putBackBy?.revision ?? null;
        const last = ranges.at(-1);
        const isSame = last?.revision?.id === revision?.id && last?.putBackBy?.id === putBackBy?.id;
        if (last !== undefined && isSame) last.endLine = index + 1;
        else ranges.push({ startLine: index + 1, endLine: index + 1, revision, putBackBy });
      }
      return ranges;
    },
  };
}

/** Goes back from a content to the ones before it. Throws `STORAGE_DAMAGED` for damaged steps. */
export function createOlderText(history: Pick<RevisionStore, 'get'>, content: string) {
  let text = content;
  /** Of a redacted text only the number of lines is known. */
  let isKnown = true;

  /** Goes back by a delta; its hunks fit a redacted text as well. */
  function applyStep(bytes: Uint8Array): readonly Hunk[] {
    try {
      const delta = decodeDelta(bytes);
      text = applyDelta(text, isKnown ? delta : blankDelta(delta));
      return delta.hunks;
    } catch (error) {
      throw damagedHistory(error);
    }
  }

  return {
    text: () => text,

    /** Compares the current text with the revision that made it. */
    async check({ id, redacted, hash }: RevisionRecord): Promise<void> {
      if (!redacted && (!isKnown || hashText(text) === hash)) return;
      // It may have been redacted, or erased, since it was listed.
      const now = redacted ? null : await history.get(id);
      if (now?.redacted === false) throw damagedHistory();
      isKnown = false;
    },

    /** The hunks between the text after a revision and the text before it. */
    stepBack({ existedBefore, delta, keyframe }: RevisionStep): readonly Hunk[] {
      const before = existedBefore ? keyframe : '';
      if (before === null && delta === null) throw damagedHistory();
      const hunks = delta === null ? diffTexts(before ?? '', text).delta.hunks : applyStep(delta);
      if (before === null) return hunks;
      // With a delta and a keyframe, both lead to the same text.
      if (delta !== null && isKnown && text !== before) throw damagedHistory();
      text = before;
      isKnown = true;
      return hunks;
    },
  };
}
