import type {
  ConflictResolution,
  RevertedFile,
  RevertRequest,
  RevertWritesAnswer,
} from '../../contracts/admin.ts';
import type { AuditCaller } from '../../contracts/plugin.ts';
import type { RevisionRecord } from '../../contracts/records.ts';
import type { RunCurrent, RunDecision } from '../../contracts/runs.ts';
import type { Guard } from '../../contracts/storage.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import type { WrittenRun } from '../../files/commit.ts';
import { versionConflict } from '../../files/draft.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { groupBy } from '../../lists/group-by.ts';
import { createPause } from '../../time/pause.ts';
import { createDiffBudget } from '../diff-budget.ts';
import type { HistoryParts } from '../history-parts.ts';
import { createRedactionCounter } from '../redaction-counter.ts';
import {
  BATCH_FILES,
  type BatchWork,
  toBatches,
  unrevertedFile,
  writeBatch,
} from '../write-batches.ts';
import { findCarried, type RevertLink } from './carried.ts';
import { findFiles, type FoundFiles } from './find-files.ts';
import { type FileToUndo, planFile, type PlanOptions, type UndoPlan } from './plan.ts';
import type { SelectedWrites } from './selection.ts';

/** The end of a run's revert: it changes the rows of the run in the transaction of the last batch. */
export interface RevertEnd extends Pick<WrittenRun<unknown>, 'key'> {
  guards?: readonly Guard[] | undefined;
  /** Gets what became of all files; synchronous and pure. */
  change(current: RunCurrent, files: readonly RevertedFile[]): Omit<RunDecision<unknown>, 'result'>;
  /** Called once the rows are changed. Without it, the last batch had nothing to write. */
  ended(): void;
}

/** How writes are reverted. */
export interface RevertOptions {
  dryRun?: boolean | undefined;
  onConflict?: RevertRequest['onConflict'] | undefined;
  resolutions?: RevertRequest['resolutions'] | undefined;
  /** One revision alone: its files have diffs also where they are written, and a refusal is thrown. */
  isOne?: boolean;
  knownErasure: number;
  caller: AuditCaller;
  /** Files of which a plugin knows that the writes took lines from one to the other. */
  links?: readonly RevertLink[];
  end?: RevertEnd | undefined;
  /** The version that the file of a revision, or the one file, has to be at. */
  expected?: { revision: RevisionRecord | null; version: number } | undefined;
}

/** Files that moves link: they are reverted together or not at all. */
type Unit = readonly FileToUndo[];

/** What is to be undone, where its files are now, and how revisions and the audit name it. */
interface ToUndo extends FoundFiles {
  target: string;
  reason: string;
  /** For the audit. */
  details?: Record<string, unknown>;
}

/** Takes the selected writes out of the present memory: see {@link undoFiles}. */
export async function revertWrites(
  parts: HistoryParts,
  { revisions, siblings = [], target }: SelectedWrites,
  options: RevertOptions,
): Promise<RevertWritesAnswer> {
  const found = await findFiles(parts.storage, revisions);
  const carried = await findCarried(parts, revisions, siblings);
  const isRevision = revisions.some(({ id }) => id === target);
  const reason = `Reverts ${isRevision ? 'revision ' : ''}${target}.`;
  const links = [...(options.links ?? []), ...carried];
  return await undoFiles(parts, { ...found, target, reason }, { ...options, links });
}

/**
 * Takes writes, or lines of them, out of the present memory, file by file, and returns what became of
 * each file, by path: see `merge.ts` for what a file becomes. Each batch of files is one transaction. An
 * interrupted request can be repeated: what was undone is `unchanged` then. Throws before the first
 * write only, so that no receipt is lost.
 */
export async function undoFiles(
  parts: HistoryParts,
  found: ToUndo,
  options: RevertOptions,
): Promise<RevertWritesAnswer> {
  const { target, reason, details } = found;
  const { caller, end, links = [], knownErasure } = options;
  const dryRun = options.dryRun === true;
  const pause = createPause();
  const linked = links.map((link) => ({
    ...link,
    from: found.at(link.from),
    to: found.at(link.to),
  }));
  const units = toUnits(found.files, linked);
  await pause();
  const planner = createPlanner(parts, options);
  planner.hold(await findHeld(planner, found.files, linked));
  await checkResolutions(planner, units, options.resolutions);
  const files: RevertedFile[] = [];
  const work: BatchWork<Unit, RevertedFile> = {
    throwsRefusals: options.isOne === true,
    plan: (unit) => planUnit(planner, unit),
    async write(restorations, written, outcomes) {
      const isLast = written.at(-1) === units.at(-1);
      // Reverting a dream must not trigger another dream.
      const qualifies = written[0]?.[0]?.selected[0]?.actor !== 'dream-agent';
      const restoring = { reason, target, details, qualifies, knownErasure };
      try {
        if (end === undefined || !isLast) {
          return await parts.files.restore(restorations, restoring, caller);
        }
        const { key, guards, change } = end;
        const run: WrittenRun<unknown> = {
          key,
          change: (current) => change(current, [...files, ...outcomes]),
        };
        const restored = await parts.files.restore(
          restorations,
          { ...restoring, run, guards },
          caller,
        );
        end.ended();
        return restored;
      } catch (error) {
        if (error instanceof MemoryError && error.code === 'VERSION_CONFLICT') {
          planner.forget();
          planner.hold(await findHeld(planner, found.files, linked));
        }
        throw error;
      }
    },
  };
  try {
    for await (const batch of toBatches(units, (unit) => work.plan(unit))) {
      files.push(
        ...(dryRun
          ? batch.flatMap(({ plans }) => plans.map(({ outcome }) => outcome))
          : await writeBatch(work, batch)),
      );
    }
  } catch (error) {
    if (!(error instanceof MemoryError) || files.every(({ version }) => version === null)) {
      throw error;
    }
    const done = new Set(files.map(({ path }) => path));
    for (const { key } of found.files) {
      const path = toPhysicalPath(key);
      if (done.has(path)) continue;
      files.push({ ...unrevertedFile(path), outcome: 'refused', why: error.message });
    }
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { dryRun, files };
}

/** Plans files by what the request says of conflicts, versions and paths that have to stay. */
interface Planner {
  plan(file: FileToUndo, options?: { isLook: boolean }): Promise<UndoPlan>;
  hold(paths: ReadonlySet<string>): void;
  /** Forgets what was read of the scopes. */
  forget(): void;
}

function createPlanner(
  parts: HistoryParts,
  { resolutions, onConflict = 'skip', dryRun, isOne, expected }: RevertOptions,
): Planner {
  const diffs = dryRun === true || isOne === true ? createDiffBudget() : null;
  const redactions = createRedactionCounter(parts.storage);
  let held: ReadonlySet<string> = new Set();
  const options: PlanOptions = {
    onConflict,
    resolutions: resolutions ?? null,
    held,
    diffs,
    redactions,
  };
  return {
    async plan(file, { isLook } = { isLook: false }) {
      const plan = await planFile(
        parts,
        file,
        isLook ? { ...options, held: new Set(), diffs: null } : { ...options, held },
      );
      const { path, fromVersion } = plan.outcome;
      const actual = fromVersion ?? 0;
      const other = resolutions?.find((one) => one.path === path && one.version !== actual);
      if (other !== undefined) {
        throw withStatus(versionConflict(path, { expected: other.version, actual }));
      }
      const isExpected =
        expected?.revision === null ||
        file.selected.some(({ id }) => id === expected?.revision?.id);
      if (expected !== undefined && isExpected && expected.version !== actual) {
        throw versionConflict(path, { expected: expected.version, actual });
      }
      return plan;
    },
    hold: (paths) => (held = paths),
    forget: redactions.forget,
  };
}

function withStatus(error: MemoryError): MemoryError {
  const { message, details } = error;
  return new MemoryError('VERSION_CONFLICT', message, { status: 412, details });
}

async function planUnit(planner: Planner, unit: Unit): Promise<UndoPlan[]> {
  const plans: UndoPlan[] = [];
  for (const file of unit) plans.push(await planner.plan(file));
  return plans;
}

/** Throws unless each conflict is decided once, before anything is written. */
async function checkResolutions(
  planner: Planner,
  units: readonly Unit[],
  resolutions: readonly ConflictResolution[] | undefined,
): Promise<void> {
  if (resolutions === undefined) return;
  const open = new Set(resolutions.map(placeOf));
  if (open.size < resolutions.length) {
    throw invalidField('/resolutions', 'decides a conflict twice', 'The request');
  }
  const undecided: Pick<ConflictResolution, 'path' | 'version' | 'startLine'>[] = [];
  const decided = new Set<string>();
  for (const file of units.flat()) {
    const { outcome, conflicts } = await planner.plan(file, { isLook: true });
    for (const { startLine } of conflicts) {
      const place = { path: outcome.path, version: outcome.fromVersion ?? 0, startLine };
      if (open.has(placeOf(place))) decided.add(placeOf(place));
      else undecided.push(place);
    }
  }
  const unknown = resolutions.find((one) => !decided.has(placeOf(one)));
  if (unknown !== undefined) {
    const message = `names no conflict of ${unknown.path} at line ${unknown.startLine}`;
    throw invalidField('/resolutions', message, 'The request');
  }
  if (undecided.length === 0) return;
  throw new MemoryError('CONFLICTS_UNDECIDED', undefined, {
    details: { conflicts: undecided.slice(0, 100) },
  });
}

const placeOf = ({ path, startLine }: Pick<ConflictResolution, 'path' | 'startLine'>) =>
  `${startLine} ${path}`;

/**
 * Puts the files together that a move or link ties, so that one transaction writes them; links only as
 * long as they fit in one batch. Files that only go come first, since they make room for others in a full
 * memory.
 */
function toUnits(files: readonly FileToUndo[], links: readonly RevertLink[]): Unit[] {
  const unitOf = new Map<FileToUndo, FileToUndo[]>(files.map((file) => [file, [file]]));
  const join = (one: FileToUndo, other: FileToUndo, most: number) => {
    const [unit = [], joined = []] = [unitOf.get(one), unitOf.get(other)];
    if (unit === joined || unit.length + joined.length > most) return;
    unit.push(...joined);
    for (const each of joined) unitOf.set(each, unit);
  };
  const writes = files.flatMap((file) => file.selected.map((write) => ({ file, write })));
  const fileOf = new Map(writes.map(({ file, write }) => [write.id, file]));
  for (const { file, write } of writes) {
    const peer = fileOf.get(write.peerId ?? '');
    if (peer !== undefined) join(file, peer, Infinity);
  }
  const fileAt = new Map(files.map((file) => [toPhysicalPath(file.key), file]));
  for (const { from, to } of links) {
    const [one, other] = [fileAt.get(from), fileAt.get(to)];
    if (one !== undefined && other !== undefined) join(one, other, BATCH_FILES);
  }
  const units = [...new Set(unitOf.values())];
  const isRemoval = (unit: Unit) =>
    unit.every(({ selected: [oldest] }) => oldest?.existedBefore === false);
  return [...units.filter(isRemoval), ...units.filter((unit) => !isRemoval(unit))];
}

/**
 * Paths that must stay because a move or a link ties them to a file that stays: to revert one path
 * alone would lose the content that was moved, or leave it in both.
 */
async function findHeld(
  planner: Planner,
  files: readonly FileToUndo[],
  links: readonly RevertLink[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const moves = files
    .map(({ key, selected }) => ({
      path: toPhysicalPath(key),
      moved: selected.filter(({ peerId }) => peerId !== null),
    }))
    .filter(({ moved }) => moved.length > 0);
  const pathOf = new Map(moves.flatMap(({ path, moved }) => moved.map(({ id }) => [id, path])));
  const known = new Set(files.map(({ key }) => toPhysicalPath(key)));
  const linksOf = groupBy(
    links.flatMap((link) => [link.from, link.to].map((path) => ({ path, link }))),
    ({ path }) => path,
  );
  for (const { from, to, lines, isCut } of links) {
    if (isCut === true) held.add(from).add(to);
    // Of a file without a selected revision, the revision is pruned, or of another memory.
    if (!known.has(from)) held.add(from);
    if (!known.has(to) && lines !== undefined) held.add(to);
  }
  for (const file of files) {
    const path = toPhysicalPath(file.key);
    const isMoved = file.selected.some(({ peerId }) => peerId !== null);
    const tied = (linksOf.get(path) ?? []).map(({ link }) => link);
    if (!isMoved && tied.length === 0) continue;
    const { isWhole, leaves, outcome } = await planner.plan(file, { isLook: true });
    const isRefused = outcome.outcome === 'gone' || outcome.outcome === 'refused';
    const isLeft = tied.some(({ lines }) =>
      lines === undefined ? !isWhole || outcome.blanked > 0 : leaves(lines),
    );
    if (isRefused || isLeft || (isMoved && !isWhole)) held.add(path);
  }
  for (let size = -1; size !== held.size;) {
    size = held.size;
    for (const { path, moved } of moves) {
      const isTied = moved.some(({ peerId }) => held.has(pathOf.get(peerId ?? '') ?? ''));
      if (isTied) held.add(path);
    }
    for (const { from, to, lines } of links) {
      if (held.has(from)) held.add(to);
      // What could not be taken out of one file is not put back into the other.
      if (held.has(to) && (known.has(to) || lines !== undefined)) held.add(from);
    }
  }
  return held;
}
