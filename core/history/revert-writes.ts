import type { RevertedFile, RevertSelection, RevertWritesAnswer } from '../contracts/admin.ts';
import type { FileKey, RevisionRecord } from '../contracts/records.ts';
import type { RevisionFilter, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { AdminCaller, AdminFiles, Restoration } from '../files/admin-files.ts';
import { parseUserId, toPhysicalPath, toScope } from '../files/paths.ts';
import { parseTime, parseTimeOrNull, toTime } from '../time.ts';
import { unifiedDiff } from './delta/unified-diff.ts';

/** The most revisions that one request reverts. */
const MAX_REVISIONS = 10_000;
/** The most files and bytes that one transaction restores. */
const BATCH_FILES = 100;
const BATCH_BYTES = 2 * 1024 * 1024;
/** How often a batch is planned again because its files changed meanwhile. */
const TRIES = 5;

interface Parts {
  storage: Pick<Storage, 'files' | 'revisions'>;
  files: Pick<AdminFiles, 'restore'>;
  /** The content of a file at a version; `null` where it did not exist or is pruned. */
  textAt(key: FileKey, version: number): Promise<string | null>;
}

/** The planned change of one file. */
interface Plan {
  /** Its selected revisions, oldest first. */
  selected: readonly RevisionRecord[];
  file: RevertedFile;
  /** `null` if nothing is to be written. */
  restoration: Restoration | null;
}

/**
 * Reverts the selected writes file by file. A file whose newest revisions are selected gets the
 * content from before them. A file that was written since stays as it is, with the reason in `why`.
 *
 * Each batch of files is one transaction. An interrupted request can be repeated: files that are
 * already restored are `unchanged` then.
 */
export async function revertWrites(
  parts: Parts,
  selection: RevertSelection,
  caller: AdminCaller,
): Promise<RevertWritesAnswer> {
  const { filter, target } = parseSelection(selection);
  const dryRun = selection.dryRun === true;
  const groups = groupByFile(await readSelected(parts.storage, filter));
  const reason = `Reverts ${target}.`;
  const files: RevertedFile[] = [];
  let batch: Plan[] = [];
  let bytes = 0;
  const write = async () => {
    files.push(...(dryRun ? batch.map(({ file }) => file) : await writeBatch(batch)));
    batch = [];
    bytes = 0;
  };
  const writeBatch = (plans: Plan[]) =>
    restoreBatch(parts, plans, { groups, reason, target, caller });
  const held = await findHeld(parts, groups);
  for (const selected of groups) {
    const plan = await planFile(parts, selected, { held });
    const size = Buffer.byteLength(plan.restoration?.content ?? '');
    if (batch.length === BATCH_FILES || bytes + size > BATCH_BYTES) await write();
    batch.push(plan);
    bytes += size;
  }
  await write();
  return { dryRun, files };
}

function parseSelection(selection: RevertSelection): { filter: RevisionFilter; target: string } {
  const { runId, toolCallId, actor, since, until, userId } = selection;
  const kinds = [runId, toolCallId, actor].filter((kind) => kind !== undefined);
  if (kinds.length !== 1) throw refuse('', 'needs one of runId, toolCallId and actor');
  if (actor === undefined && [since, until, userId].some((one) => one !== undefined)) {
    throw refuse('', 'takes since, until and userId only with actor');
  }
  if (runId !== undefined) return { filter: { runId }, target: `dream run ${runId}` };
  if (toolCallId !== undefined)
    return { filter: { toolCallId }, target: `tool call ${toolCallId}` };
  if (since === undefined) throw refuse('/since', 'is required with actor');
  const filter = {
    actor: actor ?? null,
    since: parseTime(since, 'since'),
    until: parseTimeOrNull(until, 'until'),
    scope: userId === undefined ? null : toScope(parseUserId(userId)),
  };
  const span = `since ${since}${until === undefined ? '' : ` until ${until}`}`;
  return { filter, target: `what ${actor} wrote ${span}` };
}

/** The selected revisions, oldest first. A run's reverts don't count as its writes. */
async function readSelected(
  storage: Parts['storage'],
  filter: RevisionFilter,
): Promise<RevisionRecord[]> {
  const selected: RevisionRecord[] = [];
  let after: readonly (string | number)[] | null = null;
  do {
    const page = { limit: 500, order: 'asc', after } as const;
    const { items, next } = await storage.revisions.list(filter, page);
    const isUndoing = ({ action }: RevisionRecord) => action === 'revert' && filter.runId;
    selected.push(...items.filter((revision) => !isUndoing(revision)));
    after = next;
    if (selected.length > MAX_REVISIONS) {
      const message = `More than ${MAX_REVISIONS} revisions are selected: narrow the time or the user.`;
      throw new MemoryError('WORK_LIMIT_EXCEEDED', message, {
        details: { limit: 'revisions', max: MAX_REVISIONS },
      });
    }
  } while (after !== null);
  return selected;
}

/** Groups revisions by file, sorted by physical path. */
function groupByFile(revisions: readonly RevisionRecord[]): RevisionRecord[][] {
  const groups = new Map<string, RevisionRecord[]>();
  for (const revision of revisions) {
    const path = toPhysicalPath(revision);
    const group = groups.get(path);
    if (group === undefined) groups.set(path, [revision]);
    else group.push(revision);
  }
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
}

/**
 * Paths that must stay because a move links them to a file that stays: to revert one path alone
 * would lose the content that was moved.
 */
async function findHeld(
  parts: Parts,
  groups: readonly (readonly RevisionRecord[])[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const moves = groups
    .map((revisions) => revisions.filter(({ peerId }) => peerId !== null))
    .filter((revisions) => revisions.length > 0);
  const pathOf = new Map(moves.flat().map((revision) => [revision.id, toPhysicalPath(revision)]));
  for (const selected of groups) {
    const path = toPhysicalPath(selected[0] as RevisionRecord);
    if (!selected.some(({ peerId }) => peerId !== null)) continue;
    const { file } = await planFile(parts, selected, { held });
    if (file.outcome === 'changed_since' || file.outcome === 'gone') held.add(path);
  }
  for (let size = -1; size !== held.size;) {
    size = held.size;
    for (const { id, peerId } of moves.flat()) {
      const peer = pathOf.get(peerId ?? '');
      if (peer === undefined || held.has(peer)) held.add(pathOf.get(id) ?? '');
    }
  }
  return held;
}

async function planFile(
  { storage, textAt }: Parts,
  selected: readonly RevisionRecord[],
  { held }: { held: ReadonlySet<string> },
): Promise<Plan> {
  const newest = selected.at(-1) as RevisionRecord;
  const key = { scope: newest.scope, path: newest.path };
  const path = toPhysicalPath(key);
  const head = await storage.files.get(key);
  const present = head?.content ?? null;
  const version = head?.version ?? 0;
  const leave = (outcome: RevertedFile['outcome'], why: string): Plan => ({
    selected,
    file: { path, outcome, version: null, revisionId: null, why, diff: '' },
    restoration: null,
  });

  // Only the newest consecutive revisions of the selection can be reverted.
  const undone = selected.filter(
    (revision, index) => newest.version - revision.version === selected.length - 1 - index,
  );
  const oldest = undone[0] ?? newest;
  const before = oldest.existedBefore ? await textAt(key, oldest.version - 1) : null;
  if (oldest.existedBefore && before === null) {
    return leave('gone', 'Its content from before is pruned or redacted.');
  }
  if (present === before) return leave('unchanged', 'It holds the content from before already.');
  if (newest.version !== version) {
    return leave('changed_since', await describeLaterWrite(storage, key, newest.version));
  }
  if (held.has(path)) {
    return leave('changed_since', 'The other path of its move stays, and would lose its content.');
  }
  const left = selected[selected.length - undone.length - 1];
  return {
    selected,
    file: {
      path,
      outcome: 'reverted',
      version: null,
      revisionId: null,
      why:
        left === undefined
          ? null
          : `Version ${left.version} and older ones stay: others wrote after them.`,
      diff: unifiedDiff(present, before, { path }),
    },
    restoration: {
      key,
      content: before,
      ifVersion: present === null ? 0 : version,
    },
  };
}

/** Describes who wrote a file after a version. */
async function describeLaterWrite(
  storage: Parts['storage'],
  key: FileKey,
  version: number,
): Promise<string> {
  const later = await storage.revisions.ofVersion(key, version + 1);
  if (later === null) return 'It was written since.';
  return `${later.actor} wrote version ${later.version} since, at ${toTime(later.at)}.`;
}

/** Writes a batch in one transaction. Plans it again when a file was written meanwhile. */
async function restoreBatch(
  parts: Parts,
  plans: readonly Plan[],
  {
    groups,
    reason,
    target,
    caller,
  }: {
    groups: readonly (readonly RevisionRecord[])[];
    reason: string;
    target: string;
    caller: AdminCaller;
  },
): Promise<RevertedFile[]> {
  let planned = plans;
  for (let tries = 1; ; tries += 1) {
    const due = planned.filter(({ restoration }) => restoration !== null);
    if (due.length === 0) return planned.map(({ file }) => file);
    try {
      const written = await parts.files.restore(
        due.map(({ restoration }) => restoration as Restoration),
        // Reverting a dream must not trigger another dream.
        { reason, target, qualifies: due[0]?.selected[0]?.actor !== 'dream-agent' },
        caller,
      );
      return planned.map(({ file, restoration }) => {
        const one = written[due.findIndex((each) => each.restoration === restoration)];
        if (restoration === null || one === undefined) return file;
        return { ...file, version: one.version, revisionId: one.revisionId, diff: '' };
      });
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || tries === TRIES) throw error;
      const anew: Plan[] = [];
      const held = await findHeld(parts, groups);
      for (const { selected } of planned) anew.push(await planFile(parts, selected, { held }));
      planned = anew;
    }
  }
}

function refuse(path: string, message: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `The request ${message}.`, {
    details: { issues: [{ path, message }] },
  });
}
