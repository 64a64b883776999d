import type { AuditFacts, Host, HostWrite, RunRevision } from '../../core/contracts/plugin.ts';
import type { RunDecision, RunRecord } from '../../core/contracts/runs.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import type { Guard } from '../../core/contracts/storage.ts';
import {
  type AppliedEdits,
  applyEdits,
  examine,
  type ExaminedOperation,
} from '../../core/edits/engine.ts';
import { isNeverDreamed } from '../../core/edits/markdown.ts';
import type { EditedFile, EditedMemory } from '../../core/edits/edited-memory.ts';
import { MemoryError } from '../../core/errors.ts';
import { DREAM_LOG, toLogged } from './dream-log.ts';
import type { WrittenOperations } from './life-cycle.ts';
import { pathsOf, type RunOperation } from './operations.ts';
import {
  ACTOR,
  type ActiveRun,
  checkStop,
  type Rows,
  type RunContext,
  toRows,
  updateRun,
} from './run.ts';
import { takeStart } from '../../core/encoding/take-text.ts';
import { toVirtualPath, virtualHomeOf } from '../../core/plugin.ts';

/** How often a write is planned again while others write the same files. */
const TRIES = 5;
const PAGE = 500;

/** What to write for a run. */
export interface WriteRequest {
  /** In the order of the reply. */
  operations: readonly RunOperation[];
  memory: EditedMemory;
  /** The most files that the run writes, its log included; `null` where a person decided. */
  maxWrites: number | null;
  /** Whether the run has room for the entry in its log. */
  isLogged: boolean;
}

/** What a write would change now. */
export interface WritePlan extends AppliedEdits {
  /** Operations beyond the write budget. */
  overBudget: readonly RunOperation[];
}

/** Plans a write: the operations in their order, as far as the budget of files allows. */
export async function planWrite(
  host: Pick<Host, 'settings' | 'now'>,
  { operations, memory, maxWrites, isLogged }: WriteRequest,
): Promise<WritePlan> {
  const maxFiles = maxWrites === null ? Infinity : Math.max(1, maxWrites - Number(isLogged));
  const touched = new Set<string>();
  const chosen: RunOperation[] = [];
  const overBudget: RunOperation[] = [];
  for (const operation of operations) {
    const all = new Set([...touched, ...pathsOf(operation)]);
    if (all.size > maxFiles) {
      overBudget.push(operation);
      continue;
    }
    all.forEach((path) => touched.add(path));
    chosen.push(operation);
  }
  const options = {
    limits: { maxFileBytes: host.settings.maxFileBytes, mayCreate: false },
    moment: { at: host.now(), timeZone: host.settings.timeZone },
  };
  const examined: ExaminedOperation[] = [];
  for (const one of chosen) {
    const [located] =
      one.isUnlocated === true ? await examine(memory, [one.operation], options) : [];
    examined.push(located ?? { ...one, fault: null, knownBy: [], values: [] });
  }
  return { ...(await applyEdits(memory, examined, options)), overBudget };
}

/**
 * Writes a plan, the entry of the log and the rows of the run in one transaction. When somebody has
 * written one of the files meanwhile, it plans again with the new contents. Where nothing can be
 * written, only the rows of the run change.
 *
 * @param options.states in which the run may be.
 * @param options.end returns the rows of the run after the write; synchronous and pure.
 */
export async function commitWrite<R>(
  context: Pick<RunContext, 'host' | 'dreams'>,
  run: ActiveRun,
  request: WriteRequest,
  {
    plan,
    states,
    end,
  }: { plan: WritePlan; states: readonly RunRecord['state'][]; end: EndWrite<R> },
): Promise<R> {
  const { host, dreams } = context;
  const { id, trace, lease, scope } = run;
  const withoutWrite = (written: WrittenOperations) =>
    updateRun(context, run, states, (rows) => end(rows, written));
  const budget: Guard[] =
    request.maxWrites === null
      ? []
      : [{ kind: 'budget', name: dreams.budget(id), max: request.maxWrites }];
  let planned = plan;
  let isLogged = request.isLogged;
  for (let tries = 1; planned.files.length > 0; tries += 1) {
    const files = planned.files.map(({ path, version, after }): HostWrite => {
      const reason = toReason(planned.applied, path);
      return { scope, path, content: after, ifVersion: version, reason };
    });
    const log = isLogged ? await toLogWrite(host, run, planned) : null;
    const outcome = toOutcome(planned);
    let ended: { result: R } | null = null;
    checkStop(run);
    try {
      await host.write(log === null ? files : [...files, log], {
        runId: id,
        trace,
        actor: ACTOR,
        tool: 'memory_patch',
        guards: [lease.guard, ...budget],
        isOperators: request.maxWrites === null,
        with(written, current) {
          const paths = written.filter(({ unchanged }) => !unchanged).map(({ path }) => path);
          const { result, ...changes } = end(toRows(current, states), { ...outcome, paths });
          ended = { result };
          return changes;
        },
      });
      lease.noteProgress();
      if (ended === null) throw new MemoryError('INTERNAL', 'A write left its run as it was.');
      return (ended as { result: R }).result;
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      if (error.code === 'QUOTA_EXCEEDED' && log?.ifVersion === 0) {
        // The user's quota of files leaves no room for the log: then the entry is left out.
        host.log.warn({ runId: id, code: error.code }, 'the entry of a dream run was not written');
        isLogged = false;
        continue;
      }
      const isConflict = error.code === 'VERSION_CONFLICT' && tries < TRIES;
      if (!isConflict && !REFUSALS.has(error.code)) throw error;
      if (!isConflict) return await withoutWrite(toHeld(planned, error.message));
      const memory = await readMemory(host, scope, planned.applied);
      // Their lines were followed up to the contents from before.
      const operations = request.operations.map((one) => ({ ...one, isFollowed: false }));
      planned = await planWrite(host, { ...request, operations, memory });
    }
  }
  return await withoutWrite({ ...toOutcome(planned), paths: [] });
}

/** Returns the rows of a run after a write. */
type EndWrite<R> = (rows: Rows, written: WrittenOperations) => RunDecision<R, AuditFacts>;

/** The outcome of each operation of a plan, once it is written. */
function toOutcome({ applied, stale, overBudget }: WritePlan): Omit<WrittenOperations, 'paths'> {
  return {
    applied: new Set(applied.map(({ operation }) => operation.number)),
    stale: new Map(
      stale.map(({ operation, fault }) => [operation.number, fault?.why ?? 'It is out of date.']),
    ),
    held: new Map(
      overBudget.map(({ operation }) => [
        operation.number,
        'The write budget of the run is spent.',
      ]),
    ),
  };
}

/** Why the operations of a plan can't be written now: the user's quota, for one. */
function toHeld({ applied }: WritePlan, why: string): WrittenOperations {
  return {
    applied: new Set(),
    stale: new Map(),
    paths: [],
    held: new Map(applied.map(({ operation }) => [operation.number, why])),
  };
}

const REFUSALS: ReadonlySet<string> = new Set([
  'WRITES_FROZEN',
  'VERSION_CONFLICT',
  'QUOTA_EXCEEDED',
  'PAYLOAD_TOO_LARGE',
  'INVALID_CONTENT',
]);

/** The memory of a run now, with the contents of the files that operations change or rest on. */
export async function readMemory(
  host: Pick<Host, 'memory'>,
  scope: ScopeKey,
  operations: readonly Pick<ExaminedOperation, 'operation'>[],
): Promise<EditedMemory> {
  const named = operations.flatMap(({ operation: { remove, add, sources } }) =>
    [...remove, ...(add === null ? [] : [add]), ...sources].map(({ path }) => path),
  );
  const home = virtualHomeOf(scope);
  const files: EditedFile[] = [];
  for (const path of new Set(named)) {
    if (!path.startsWith(home)) continue;
    const read = await host.memory.read(scope, path.slice(home.length));
    if (read === null || read.content === null) continue;
    const { version, content } = read;
    if (!isNeverDreamed(content)) files.push({ path, version, content });
  }
  return { home, files, paths: await listPaths(host, scope) };
}

async function listPaths(host: Pick<Host, 'memory'>, scope: ScopeKey): Promise<Set<string>> {
  const paths = new Set<string>();
  let after: string | null = null;
  for (;;) {
    const page: readonly { path: string }[] = await host.memory.list(scope, {
      prefix: '',
      after,
      limit: PAGE,
    });
    for (const { path } of page) paths.add(toVirtualPath({ scope, path }));
    if (page.length < PAGE) return paths;
    after = page.at(-1)?.path ?? null;
  }
}

/** Whether a revision is a write of the run, and not the revert of one. */
export function isRunsWrite({ revision }: RunRevision): boolean {
  return revision.action !== 'revert' && revision.actor === ACTOR;
}

async function toLogWrite(
  host: Host,
  { scope, id }: ActiveRun,
  { files, applied }: WritePlan,
): Promise<HostWrite | null> {
  const log = await host.memory.read(scope, DREAM_LOG);
  const entry = {
    runId: id,
    at: host.now(),
    files: files.map(({ path }) => ({ path, what: countKinds(applied, path) })),
  };
  const content = toLogged(log?.content ?? null, entry, host.settings.maxFileBytes);
  if (content === null) return null;
  const ifVersion = log?.version ?? 0;
  const path = toVirtualPath({ scope, path: DREAM_LOG });
  return { scope, path, content, ifVersion, reason: 'Entry of a dream run.' };
}

/** `merge, 28 × reword`. */
function countKinds(applied: readonly ExaminedOperation[], path: string): string {
  const counts = new Map<string, number>();
  for (const one of applied.filter((each) => pathsOf(each).includes(path))) {
    const { kind } = one.operation;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} × ${kind}`)).join(', ');
}

/** The reasons that the model gave for a file. */
function toReason(applied: readonly ExaminedOperation[], path: string): string {
  const reasons = applied.filter((one) => pathsOf(one).includes(path));
  const text = [...new Set(reasons.map(({ operation }) => operation.reason.trim()))].join(' ');
  return takeStart(text === '' ? 'Tidied by dreaming.' : text, 1_000);
}
