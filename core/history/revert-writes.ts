import type { RevertedFile, RevertSelection, RevertWritesAnswer } from '../contracts/admin.ts';
import type { FileState, RevisionRecord } from '../contracts/records.ts';
import type { RunCurrent, RunDecision } from '../contracts/runs.ts';
import type { Guard, RevisionFilter, Storage } from '../contracts/storage.ts';
import { invalidField, MemoryError } from '../errors.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { WrittenRun } from '../files/commit.ts';
import { parseUserId, toPhysicalPath, toScope } from '../files/paths.ts';
import { groupBy } from '../lists/group-by.ts';
import { readRows } from '../lists/page.ts';
import { createPause } from '../time/pause.ts';
import { parseTime, parseTimeOrNull, toTime } from '../time/time.ts';
import { createDiffBudget, type DiffBudget } from './diff-budget.ts';
import type { HistoryParts } from './history-parts.ts';
import {
  type BatchWork,
  leave,
  type Plan,
  toBatches,
  unwritten,
  writeBatch,
} from './write-batches.ts';

/** The most revisions that one request reverts. */
const MAX_REVISIONS = 10_000;

/**
 * Two files by their physical paths: `to` holds lines that were taken from `from`, so it stays as long
 * as `from` can't be reverted.
 */
export interface RevertLink {
  from: string;
  to: string;
}

/** The end of a run's revert: it changes the rows of the run in the transaction of the last batch. */
export interface RevertEnd extends Pick<WrittenRun<unknown>, 'key'> {
  guards?: readonly Guard[] | undefined;
  /** Gets what became of all files; synchronous and pure. */
  change(current: RunCurrent, files: readonly RevertedFile[]): Omit<RunDecision<unknown>, 'result'>;
  /** Called once the rows are changed. Without it, the last batch had nothing to write. */
  ended(): void;
}

/** The selected revisions of a file, oldest first. */
type Selected = readonly RevisionRecord[];
/** Files that moves link: they are reverted together or not at all. */
type Unit = readonly Selected[];

/**
 * Reverts the selected writes file by file, and returns what became of each file, by path. A file
 * whose newest revisions are selected gets the content from before them (`reverted`). A file that
 * was written since stays as it is, with the reason in `why` (`changed_since`), and so does one that
 * can't be written (`refused`) or whose earlier content is pruned (`gone`).
 *
 * Each batch of files is one transaction. An interrupted request can be repeated: files that are
 * already restored are `unchanged` then. Throws before the first write only, so that no receipt is
 * lost.
 *
 * `{ runId }` selects a dream run's writes, not the reverts of that run. A run writes the memory of
 * one user, and an import keeps run ids: without `userId`, only the memory that the run's own record
 * names is selected.
 */
export async function revertWrites(
  parts: HistoryParts,
  selection: RevertSelection,
  {
    caller,
    links = [],
    end,
  }: { caller: AuditCaller; links?: readonly RevertLink[]; end?: RevertEnd | undefined },
): Promise<RevertWritesAnswer> {
  const knownErasure = parts.erasures.latest();
  const { filter, target } = await withRunScope(parts.storage, parseSelection(selection));
  const dryRun = selection.dryRun === true;
  const diffs = dryRun ? createDiffBudget() : null;
  const pause = createPause();
  const groups = groupByFile(await readSelected(parts.storage, filter));
  await pause();
  const units = toUnits(groups);
  await pause();
  let held = await findHeld(parts, groups, links);
  const files: RevertedFile[] = [];
  const work: BatchWork<Unit, RevertedFile> = {
    async plan(unit) {
      const plans: Plan<RevertedFile>[] = [];
      for (const selected of unit) plans.push(await planFile(parts, selected, { held, diffs }));
      return plans;
    },
    async write(restorations, written, outcomes) {
      const [first] = written;
      const isLast = written.at(-1) === units.at(-1);
      // Reverting a dream must not trigger another dream.
      const qualifies = first?.[0]?.[0]?.actor !== 'dream-agent';
      const reason = `Reverts ${target}.`;
      try {
        const options = { reason, target, qualifies, knownErasure };
        if (end === undefined || !isLast) {
          return await parts.files.restore(restorations, options, caller);
        }
        const { key, guards, change } = end;
        const run: WrittenRun<unknown> = {
          key,
          change: (current) => change(current, [...files, ...outcomes]),
        };
        const restored = await parts.files.restore(
          restorations,
          { ...options, run, guards },
          caller,
        );
        end.ended();
        return restored;
      } catch (error) {
        const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
        if (isConflict) held = await findHeld(parts, groups, links);
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
    if (!(error instanceof MemoryError) || files.every(({ version }) => version === null))
      throw error;
    const done = new Set(files.map(({ path }) => path));
    for (const selected of groups) {
      const path = toPhysicalPath(selected[0] as RevisionRecord);
      if (!done.has(path))
        files.push({ ...unwritten(path), outcome: 'refused', why: error.message });
    }
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { dryRun, files };
}

function parseSelection(selection: RevertSelection): { filter: RevisionFilter; target: string } {
  const { runId, toolCallId, actor, since, until, userId } = selection;
  const kinds = [runId, toolCallId, actor].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) throw invalidSelection('', 'needs one of runId, toolCallId and actor');
  if (actor === undefined && [since, until].some((one) => one !== undefined)) {
    throw invalidSelection('', 'takes since and until only with actor');
  }
  const scope = userId === undefined ? null : toScope(parseUserId(userId));
  if (runId !== undefined) return { filter: { scope, runId }, target: `dream run ${runId}` };
  if (toolCallId !== undefined) {
    return { filter: { scope, toolCallId }, target: `tool call ${toolCallId}` };
  }
  if (since === undefined) throw invalidSelection('/since', 'is required with actor');
  const filter = {
    actor: actor ?? null,
    since: parseTime(since, 'since'),
    until: parseTimeOrNull(until, 'until'),
    scope,
  };
  const span = `since ${since}${until === undefined ? '' : ` until ${until}`}`;
  return { filter, target: `what ${actor} wrote ${span}` };
}

/** Adds the memory that a run's own record names, where the selection names none. */
async function withRunScope(
  { runs }: Storage,
  selection: ReturnType<typeof parseSelection>,
): Promise<ReturnType<typeof parseSelection>> {
  const { filter } = selection;
  if (typeof filter.runId !== 'string' || filter.scope !== null) return selection;
  const run = (await runs?.find(filter.runId)) ?? null;
  return run === null ? selection : { ...selection, filter: { ...filter, scope: run.scope } };
}

/** The selected revisions, oldest first. A run's reverts don't count as its writes. */
async function readSelected(storage: Storage, filter: RevisionFilter): Promise<RevisionRecord[]> {
  const selected: RevisionRecord[] = [];
  for await (const revision of readRows((page) => storage.revisions.list(filter, page))) {
    if (revision.action === 'revert' && filter.runId) continue;
    selected.push(revision);
    if (selected.length > MAX_REVISIONS) {
      const message = `More than ${MAX_REVISIONS} revisions are selected: narrow the time or the user.`;
      throw new MemoryError('WORK_LIMIT_EXCEEDED', message, {
        details: { limit: 'revisions', max: MAX_REVISIONS },
      });
    }
  }
  const scopes = new Set(selected.map(({ scope }) => scope));
  if (typeof filter.runId === 'string' && scopes.size > 1) {
    throw invalidSelection(
      '/userId',
      'needs userId: several users have writes of this run, and no record says whose it was',
    );
  }
  return selected;
}

/** Groups revisions by file, sorted by physical path. */
function groupByFile(revisions: readonly RevisionRecord[]): RevisionRecord[][] {
  const groups = [...groupBy(revisions, toPhysicalPath)];
  return groups.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
}

/**
 * Puts the files that moves link together. Files that only go come first, since they make room for
 * others in a full memory.
 */
function toUnits(groups: readonly Selected[]): Unit[] {
  const unitOf = new Map<string, Selected[]>();
  for (const group of groups) {
    const unit = [group];
    for (const { id } of group) unitOf.set(id, unit);
  }
  for (const { id, peerId } of groups.flat()) {
    const unit = unitOf.get(id) as Selected[];
    const other = unitOf.get(peerId ?? '');
    if (other === undefined || other === unit) continue;
    unit.push(...other);
    for (const { id: each } of other.flat()) unitOf.set(each, unit);
  }
  const units = [...new Set(unitOf.values())];
  const isRemoval = (unit: Unit) => unit.every(([oldest]) => oldest?.existedBefore === false);
  return [...units.filter(isRemoval), ...units.filter((unit) => !isRemoval(unit))];
}

/**
 * Paths that must stay because a move or a link ties them to a file that stays: to revert one path
 * alone would lose the content that was moved.
 */
async function findHeld(
  parts: HistoryParts,
  groups: readonly (readonly RevisionRecord[])[],
  links: readonly RevertLink[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const moves = groups
    .map((revisions) => revisions.filter(({ peerId }) => peerId !== null))
    .filter((revisions) => revisions.length > 0);
  const pathOf = new Map(moves.flat().map((revision) => [revision.id, toPhysicalPath(revision)]));
  const known = new Set(groups.map(([selected]) => toPhysicalPath(selected as RevisionRecord)));
  // Of a file without a selected revision, the revision is pruned.
  for (const { from } of links) if (!known.has(from)) held.add(from);
  for (const selected of groups) {
    const path = toPhysicalPath(selected[0] as RevisionRecord);
    const isMoved = selected.some(({ peerId }) => peerId !== null);
    if (!isMoved && !links.some(({ from }) => from === path)) continue;
    const { outcome } = (await planFile(parts, selected, { held, diffs: null })).outcome;
    if (outcome !== 'reverted' && outcome !== 'unchanged') held.add(path);
  }
  for (let size = -1; size !== held.size;) {
    size = held.size;
    for (const { id, peerId } of moves.flat()) {
      const peer = pathOf.get(peerId ?? '');
      if (peer === undefined || held.has(peer)) held.add(pathOf.get(id) ?? '');
    }
    for (const { from, to } of links) if (held.has(from)) held.add(to);
  }
  return held;
}

async function planFile(
  { storage, textAt }: HistoryParts,
  selected: Selected,
  { held, diffs }: { held: ReadonlySet<string>; diffs: DiffBudget | null },
): Promise<Plan<RevertedFile>> {
  const newest = selected.at(-1) as RevisionRecord;
  const key = { scope: newest.scope, path: newest.path };
  const path = toPhysicalPath(key);
  // Only the newest consecutive revisions of the selection can be reverted.
  const undone = selected.filter(
    (revision, index) => newest.version - revision.version === selected.length - 1 - index,
  );
  const oldest = undone[0] ?? newest;
  let present: string | null;
  let before: string | null;
  let version: number;
  let since: string | null;
  try {
    const head = await storage.files.get(key);
    present = head?.content ?? null;
    version = head?.version ?? 0;
    before = oldest.existedBefore ? await textAt(key, oldest.version - 1) : null;
    since = await describeLaterWrites({ storage, textAt }, newest, head);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'STORAGE_DAMAGED') {
      return leave(path, 'refused', error.message);
    }
    throw error;
  }
  if (oldest.existedBefore && before === null) {
    return leave(path, 'gone', 'Its content from before is pruned or redacted.');
  }
  if (present === before) {
    return leave(path, 'unchanged', 'It holds the content from before already.');
  }
  if (since !== null) return leave(path, 'changed_since', since);
  if (held.has(path)) {
    const why = 'The file that its content came from stays, and would lose it.';
    return leave(path, 'changed_since', why);
  }
  const left = selected[selected.length - undone.length - 1];
  return {
    outcome: {
      ...unwritten(path),
      outcome: 'reverted',
      why:
        left === undefined
          ? null
          : `Version ${left.version} and older ones stay: others wrote after them.`,
      ...diffs?.diff(present, before, path),
    },
    restoration: {
      key,
      content: before,
      ifVersion: present === null ? 0 : version,
    },
  };
}

/**
 * Describes who wrote a file after one of its revisions; `null` if the file is as that revision left
 * it. `head` is the present file.
 */
export async function describeLaterWrites(
  { storage, textAt }: Pick<HistoryParts, 'storage' | 'textAt'>,
  revision: RevisionRecord,
  head: FileState | null,
): Promise<string | null> {
  const present = head?.content ?? null;
  const newest = head?.version ?? 0;
  if (revision.version === newest) return null;
  // A later write that was reverted has left the file as it was, at another version.
  if (revision.existsAfter && present !== null) {
    if ((await textAt(revision, revision.version)) === present) return null;
  }
  const later = await storage.revisions.ofVersion(revision, revision.version + 1);
  if (later === null) return 'It was written since.';
  const more = newest - later.version;
  const others = more <= 0 ? '' : ` ${more} later version${more === 1 ? '' : 's'} followed.`;
  return `${later.actor} wrote version ${later.version} since, at ${toTime(later.at)}.${others}`;
}

function invalidSelection(path: string, message: string): MemoryError {
  return invalidField(path, message, 'The request');
}
