import type { FileKey, RevisionRecord } from '../contracts/records.ts';
import type { FileStore, RevisionStore } from '../contracts/storage.ts';
import { toPhysicalPath } from '../files/paths.ts';
import { createPause } from '../time/pause.ts';
import { createOlderText, createStepReader, findRestored, readRevisions } from './blame.ts';
import type { Hunk } from './delta.ts';
import { parseTakenBack } from './undo/taken-back.ts';
import { type Step, Weave } from './weave.ts';

/** A line at one version of a file. Lines count from 1. */
interface LinePlace {
  file: FileKey;
  version: number;
  line: number;
}

/** Where a line stood over time. */
export interface LineHistory {
  /** Each file that the line was in: its line number by version, and by the version's revision. */
  files: readonly {
    file: FileKey;
    byVersion: ReadonlyMap<number, number>;
    byRevision: ReadonlyMap<string, number>;
  }[];
  /** `false` if the line may be older or newer than the revisions examined, or was in more files. */
  isComplete: boolean;
}

interface Stores {
  files: Pick<FileStore, 'get'>;
  revisions: Pick<RevisionStore, 'get' | 'list' | 'ofVersion' | 'steps'>;
}

/** The most revisions that one line is followed through, and the most files. */
const MAX_REVISIONS = 5_000;
const MAX_FILES = 20;

/**
 * Finds every version in which a line stands unchanged, before and after the one given, and its
 * number there. Follows moves of the file, and reverts that bring the line back. A line that was
 * edited is another line, as in blame. Throws `STORAGE_DAMAGED` where blame does.
 */
export async function followLine(stores: Stores, start: LinePlace): Promise<LineHistory> {
  const pause = createPause();
  const histories = new Map<string, FileHistory>();
  const open: LinePlace[] = [start];
  let left = MAX_REVISIONS;
  let isComplete = true;
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { file, version, line } = place;
    const path = toPhysicalPath(file);
    let history = histories.get(path);
    if (history === undefined) {
      if (histories.size >= MAX_FILES || left <= 0) {
        isComplete = false;
        continue;
      }
      history = await readHistory(stores, file, left);
      left -= history.revisions.size;
      histories.set(path, history);
    }
    if (history.places.has(version)) continue;
    history.places.set(version, line);
    isComplete &&= history.isWhole || history.steps.has(version);
    open.push(...neighbours(history, place));
    for (const elsewhere of await moved(stores, history, place)) {
      if (elsewhere === null) isComplete = false;
      else open.push(elsewhere);
    }
    await pause();
  }
  return { files: [...histories.values()].map(toFile), isComplete };
}

/** A line at a version of one file. */
type Place = Pick<LinePlace, 'version' | 'line'>;

/** What is kept of a file's past. */
interface FileHistory {
  file: FileKey;
  revisions: ReadonlyMap<number, RevisionRecord>;
  /** By version: how its text became the one before; `null` if the file did not exist before. */
  steps: ReadonlyMap<number, readonly Hunk[] | null>;
  /** Versions with the same text, one of which a revert made. */
  restored: readonly (readonly [number, number])[];
  /** Lines that a revert brought back: after it, and before the write that had taken them out. */
  putBack: readonly (readonly [Place, Place])[];
  /** Whether `steps` reaches back to the first version. */
  isWhole: boolean;
  /** The line's number by version, as far as it is known. */
  places: Map<number, number>;
}

async function readHistory(
  { files, revisions: store }: Stores,
  file: FileKey,
  limit: number,
): Promise<FileHistory> {
  const head = await files.get(file);
  const newest = head?.version ?? 0;
  const later = await store.ofVersion(file, newest + 1);
  const listed = await readRevisions(store, file, { upTo: newest, later, limit });
  const steps = new Map<number, readonly Hunk[] | null>();
  const older = createOlderText(store, head?.content ?? '');
  const weave = listed.some(({ reverts }) => reverts !== null)
    ? new Weave<Step & { moves: number }>(head?.content ?? '')
    : null;
  const putBack: [Place, Place][] = [];
  if (weave !== null) {
    weave.onPutBack = ({ revert, at, step, before }) => {
      const back = { version: step.version - 1, line: before + 1 };
      putBack.push([{ version: revert.version, line: at + 1 }, back]);
    };
  }
  const pause = createPause();
  const readStep = createStepReader(store, file);
  for (const [index, revision] of listed.entries()) {
    const { version } = revision;
    // Older ones than a gap are not reached.
    if (version !== newest - index) break;
    await older.check(revision);
    const step = await readStep(version);
    if (step === undefined) break;
    const after = older.text();
    const hunks = older.stepBack(step);
    steps.set(version, step.existedBefore ? hunks : null);
    const { reverts, redactedBefore: isBlank } = revision;
    const takesBack = reverts === null ? null : parseTakenBack(reverts, 0);
    const made = { version, moves: 0, takesBack };
    weave?.back({ step: made, hunks, before: older.text(), after, isBlank });
    await pause();
  }
  return {
    file,
    revisions: new Map(listed.map((revision) => [revision.version, revision])),
    steps,
    restored: [...findRestored(listed)].flatMap(([by, made]) => {
      const [revert, earlier] = [listed[by], listed[made]];
      return revert === undefined || earlier === undefined
        ? []
        : [[revert.version, earlier.version] as const];
    }),
    putBack,
    isWhole: steps.has(1),
    places: new Map(),
  };
}

/** The same line at the versions before and after, and at those with the same text. */
function neighbours(
  { steps, restored, putBack }: FileHistory,
  { file, version, line }: LinePlace,
): LinePlace[] {
  const found: LinePlace[] = [];
  const back = steps.get(version);
  const before = back === undefined || back === null ? null : toOlderLine(back, line);
  if (before !== null) found.push({ file, version: version - 1, line: before });
  const next = steps.get(version + 1);
  const after = next === undefined || next === null ? null : toNewerLine(next, line);
  if (after !== null) found.push({ file, version: version + 1, line: after });
  for (const [one, other] of restored) {
    if (one === version) found.push({ file, version: other, line });
    if (other === version) found.push({ file, version: one, line });
  }
  const isHere = (place: Place) => place.version === version && place.line === line;
  for (const [after, before] of putBack) {
    if (isHere(after)) found.push({ file, ...before });
    if (isHere(before)) found.push({ file, ...after });
  }
  return found;
}

/** The same line in the file that this one was moved from, or to; `null` if that is pruned. */
async function moved(
  { revisions: store }: Stores,
  { revisions }: FileHistory,
  { version, line }: LinePlace,
): Promise<(LinePlace | null)[]> {
  const found: (LinePlace | null)[] = [];
  const arrival = revisions.get(version);
  const departure = revisions.get(version + 1);
  if (arrival?.action === 'move' && !arrival.existedBefore && arrival.peerId !== null) {
    const left = await store.get(arrival.peerId);
    found.push(left && { file: left, version: left.version - 1, line });
  }
  if (departure?.action === 'move' && !departure.existsAfter && departure.peerId !== null) {
    const arrived = await store.get(departure.peerId);
    found.push(arrived && { file: arrived, version: arrived.version, line });
  }
  return found;
}

/** The number that a line of the newer text has in the older one; `null` if it is new. */
function toOlderLine(hunks: readonly Hunk[], line: number): number | null {
  let shift = 0;
  for (const { start, removed, addedLines } of hunks) {
    if (line <= start) break;
    if (line <= start + removed) return null;
    shift += addedLines - removed;
  }
  return line + shift;
}

/** The number that a line of the older text has in the newer one; `null` if it is gone. */
function toNewerLine(hunks: readonly Hunk[], line: number): number | null {
  let shift = 0;
  for (const { start, removed, addedLines } of hunks) {
    if (line <= start + shift) break;
    if (line <= start + shift + addedLines) return null;
    shift += addedLines - removed;
  }
  return line - shift;
}

function toFile({ file: { scope, path }, places, revisions }: FileHistory) {
  const byRevision = new Map<string, number>();
  for (const [version, line] of places) {
    const revision = revisions.get(version);
    if (revision !== undefined) byRevision.set(revision.id, line);
  }
  return { file: { scope, path }, byVersion: places, byRevision };
}
