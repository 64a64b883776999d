import type {
  AuditRecord,
  FileKey,
  FileState,
  IdempotencyRecord,
  ScopeKey,
  ScopeState,
} from '../contracts/records.ts';
import type { Settings } from '../config/settings.ts';
import type { RunCurrent, RunDecision, RunKey, RunKeys, RunRowChanges } from '../contracts/runs.ts';
import type {
  Changes,
  Current,
  Decision,
  Guard,
  MutateRequest,
  Storage,
} from '../contracts/storage.ts';
import type { Caller, Span } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { ScreenedLine, Screening } from '../screening/screening.ts';
import { Draft, type Writing } from './draft.ts';
import { findReplay, toOpenKey, type WritingCall } from './idempotency.ts';
import { checkHolds, checkNotErased, type HeldWrite } from './hold.ts';
import { type KnownErasures, OldLook } from './known-erasures.ts';
import { ownerOf, SHARED, toOwner, toScopes } from './paths.ts';
import type { InstanceIds } from '../ids/ids.ts';
import type { WriteHealth } from './write-health.ts';

/** How often a write looks again at what operators have stopped, because it waited long for its lock. */
const LOOKS = 5;

/** A run, and how its rows change with a write. `change` is synchronous and pure. */
export interface WrittenRun<R> {
  key: RunKey;
  change(current: RunCurrent, result: R): Omit<RunDecision<unknown>, 'result'>;
}

/** A change of one or more files, before it is made. */
interface PlannedWrite<R> extends Writing {
  keys: readonly FileKey[];
  guards?: readonly Guard[] | undefined;
  call?: WritingCall | undefined;
  /** Set when the call makes only this write and may retry it. */
  isOnly?: boolean;
  audit?: (result: R) => AuditRecord;
  /** A plugin's run that changes with the files, in the same transaction. */
  run?: WrittenRun<R> | undefined;
  /** An operator asked for this very write: it goes on while writes are frozen. */
  isOperators?: boolean;
  /** Set for a write of work for which all others of the scope wait. */
  held?: HeldWrite | undefined;
  /** Past versions of the file that change with it. */
  past?: PastChange | undefined;
}

/** A change of past versions of the one file of a write. */
export interface PastChange extends Pick<MutateRequest, 'settings'> {
  versions: readonly number[];
  /** Gives the rows of the whole write. Pure and synchronous; throws if the rows have moved. */
  change(current: Current, changes: Changes): Changes;
}

/**
 * Changes one or more files in one transaction. Every change of a memory file goes through here.
 * `plan` may run more than once, each time on a new draft; if it throws, nothing is written.
 */
export type Commit = <R extends object>(
  write: PlannedWrite<NoInfer<R>>,
  plan: (draft: Draft) => R,
) => Promise<R>;

/** What {@link createCommit} needs. */
export interface CommitDependencies {
  storage: Storage;
  limits: Settings['limits'];
  screening: Pick<Screening, 'admit' | 'admitText' | 'admitPath' | 'countMasked' | 'countRefused'>;
  now: () => number;
  /** Expires idempotency keys: a jump of the clock must not turn a repeat into a second write. */
  confirmedNow: () => number;
  ids: InstanceIds;
  erasures: Pick<KnownErasures, 'latest' | 'refresh' | 'checkUnlocked' | 'checkWrites'>;
  /** Called after every write, with the files that it changed. */
  indexer: { wake(written: readonly FileState[]): void };
  /** Called with the outcome of every write. */
  health: Pick<WriteHealth, 'note'>;
}

/** THE write path. */
export function createCommit(deps: CommitDependencies): Commit {
  const { storage, limits } = deps;
  /** The number of writes per call: a plugin's tool may make several under one key. */
  const writesOf = new WeakMap<WritingCall, number>();

  return async function commit<R extends object>(
    write: PlannedWrite<NoInfer<R>>,
    plan: (draft: Draft) => R,
  ): Promise<R> {
    const { call, caller } = write;
    const { trace } = caller;
    // Counts refused writes too, since a repeated call makes the same writes in the same order.
    const nth = call === undefined || write.isOnly === true ? 0 : (writesOf.get(call) ?? 0);
    if (call !== undefined) writesOf.set(call, nth + 1);
    const written = toWritten(write);
    const idempotency = toOpenKey(call, { nth, written });
    const admission = createAdmission(write, { deps, written, idempotency });
    let read: Span = trace.start('db.read', 'lock and read');
    let apply: Span | null = null;
    let replayed: IdempotencyRecord | null = null;
    let clocks: readonly ScopeState[] = [];
    let files: readonly FileState[] = [];
    let masked: readonly ScreenedLine[] = [];
    const decide = (current: Current): Decision<R> => {
      read.end({ files: write.keys.length });
      // Before versions and quota are checked: a repeat must get the first answer, not a 409.
      replayed = findReplay(current.idempotency, {
        wanted: idempotency,
        now: deps.confirmedNow(),
      });
      if (replayed !== null) {
        // eslint-disable-next-line no-restricted-syntax -- this service wrote it
        return { result: JSON.parse(replayed.result) as R, writes: 0, changes: {} };
      }
      const holds = admission.admit(current);
      const building = trace.start('revision.write', 'revision');
      const draft = new Draft(current, {
        caller,
        toPath: write.toPath,
        triggersDream: write.triggersDream,
        now: admission.now,
        ids: deps.ids,
        maxFilesPerUser: limits.maxFilesPerUser,
        screening: deps.screening,
      });
      let planned: R;
      try {
        planned = plan(draft);
        masked = draft.masked;
      } catch (error) {
        building.fail(error);
        throw error;
      }
      const { audit: runAudit, runs } = changeRun(write, current, planned);
      building.end({ revisions: draft.revisionCount });
      const rows = trace.start('access_log.write', 'access rows');
      const answer =
        idempotency === null
          ? null
          : { ...idempotency, result: JSON.stringify(planned), createdAt: admission.now };
      const audit = [write.audit?.(planned) ?? [], runAudit ?? []].flat();
      const own = draft.changes({
        ...(answer === null ? {} : { idempotency: answer }),
        ...(holds.length === 0 ? {} : { holds }),
        ...(audit.length === 0 ? {} : { audit }),
        ...(runs === undefined ? {} : { runs }),
      });
      const changes = write.past?.change(current, own) ?? own;
      rows.end({ rows: changes.access?.length ?? 0 });
      clocks = changes.scopes ?? [];
      files = changes.files ?? [];
      apply = trace.start('db.write', 'apply and commit');
      // A retried transaction reads again.
      read = trace.start('db.read', 'lock and read again');
      return { result: planned, writes: draft.revisionCount, changes };
    };
    try {
      const request = { ...toRequest(write, idempotency), scopes: admission.scopes };
      const result = await admission.run(() => storage.mutate<R>(request, decide));
      (apply as Span | null)?.end({ files: write.keys.length });
      deps.indexer.wake(files);
      deps.health.note('memory', null);
      if (replayed !== null) call?.onReplay?.(replayed);
      else if (masked.length > 0) deps.screening.countMasked(masked);
      clocks.forEach((clock) => deps.ids.follow(clock));
      return result;
    } catch (error) {
      deps.screening.countRefused(error);
      (apply ?? read).fail(error);
      deps.health.note('memory', error);
      throw error;
    }
  };
}

/** Whether a write may be made, from before its transaction until its decision. */
interface Admission {
  /** When the write began. */
  now: number;
  /** What the write locks, in the order of all writes. */
  scopes: readonly ScopeKey[];
  /** Runs the transaction, with a look at erasures and freezes that is recent when it decides. */
  run<R>(mutate: () => Promise<R>): Promise<R>;
  /** For `decide`. Throws unless all memories of the write may change. Returns the holds that do. */
  admit(current: Current): NonNullable<Changes['holds']>;
}

function createAdmission(
  write: Omit<PlannedWrite<never>, 'audit' | 'run'>,
  {
    deps,
    written,
    idempotency,
  }: {
    deps: CommitDependencies;
    written: readonly ScopeKey[];
    idempotency: { scope: ScopeKey } | null;
  },
): Admission {
  const { caller } = write;
  const { erasures } = deps;
  const now = deps.now();
  const scopes = inLockOrder([...written, ...(idempotency === null ? [] : [idempotency.scope])]);
  // Rows in shared memory and in a space name the user, too, and what a call writes may come from any
  // of its spaces: their scopes are not locked for it.
  const unlocked = toOwnScopes(caller).filter((scope) => !scopes.includes(scope));
  const knownErasure = caller.trace.knownErasure ?? erasures.latest();
  const isFreezable = write.isOperators !== true;
  return {
    now,
    scopes,
    async run(mutate) {
      for (let looks = 1; ; looks += 1) {
        if (isFreezable || unlocked.length > 0) await erasures.refresh();
        try {
          return await mutate();
        } catch (error) {
          // It waited for its lock longer than a look counts.
          if (!(error instanceof OldLook) || looks === LOOKS) throw error;
        }
      }
    },
    admit(current) {
      checkNotErased(current, scopes, knownErasure);
      for (const scope of unlocked) erasures.checkUnlocked(scope, knownErasure);
      if (isFreezable) erasures.checkWrites({ ...caller, scopes: written }, { isCertain: true });
      // What was erased or redacted has to go from an archive, too.
      if (write.past === undefined) checkArchived(current, written);
      return checkHolds(current, written, { held: write.held ?? null, now });
    },
  };
}

/** The scopes that a write changes. */
function toWritten({ keys, held }: Pick<PlannedWrite<never>, 'keys' | 'held'>): ScopeKey[] {
  const places = held === undefined ? keys : [...keys, held.hold];
  return places.map(({ scope }) => scope);
}

/** Throws `READ_ONLY_SCOPE` for a space that an operator has archived. */
function checkArchived(current: Current, scopes: Iterable<ScopeKey>): void {
  for (const scope of scopes) {
    if (current.scope(scope).archivedAt === null) continue;
    const spaceId = ownerOf(scope);
    throw new MemoryError('READ_ONLY_SCOPE', `The space ${spaceId} is archived.`, {
      details: { spaceId, reason: 'archived' },
    });
  }
}

/** What a write locks and reads, apart from the scopes. */
function toRequest(
  { keys, guards, run, past }: Pick<PlannedWrite<never>, 'keys' | 'guards' | 'run' | 'past'>,
  idempotency: Required<MutateRequest>['idempotency'] | null,
): Omit<MutateRequest, 'scopes'> {
  return {
    files: keys,
    ...toSpaces(keys),
    ...(idempotency === null ? {} : { idempotency }),
    ...(guards === undefined ? {} : { guards }),
    ...(run === undefined ? {} : { runs: toRunKeys(run.key) }),
    ...(past === undefined ? {} : toPastRequest(keys, past)),
  };
}

/** Spaces have rules of their own for what is written in them. */
function toSpaces(keys: readonly FileKey[]): Pick<MutateRequest, 'spaces'> {
  const spaces = keys.map(({ scope }) => scope).filter((scope) => toOwner(scope).spaceId !== null);
  return spaces.length === 0 ? {} : { spaces: [...new Set(spaces)] };
}

function toPastRequest([key]: readonly FileKey[], { versions, settings }: PastChange) {
  return {
    ...(key === undefined ? {} : { past: { key, versions } }),
    ...(settings === undefined ? {} : { settings }),
  };
}

function toRunKeys({ plugin, scope, id }: RunKey): RunKeys {
  return { plugin, scope, ids: [id] };
}

function changeRun<R>(
  { run: written }: PlannedWrite<R>,
  current: Current,
  planned: R,
): { audit?: AuditRecord; runs?: RunRowChanges } {
  if (written === undefined) return {};
  const rows = current.runs();
  const present = { user: rows.user, run: rows.run(written.key.id) };
  const { audit, user, run } = written.change(present, planned);
  const runs = { user, runs: run === undefined ? [] : [run] };
  return { runs, ...(audit === undefined ? {} : { audit }) };
}

/** The memories that the rows of a call may come from, shared memory aside. */
function toOwnScopes({ userId, spaces }: Caller): ScopeKey[] {
  return userId === null ? [] : toScopes({ userId, spaces }).filter((scope) => scope !== SHARED);
}

/** Each scope once, in one order for all writes, so that no two writes deadlock. */
function inLockOrder(scopes: readonly ScopeKey[]): ScopeKey[] {
  return [...new Set(scopes)].sort((a, b) => (a > b ? -1 : 1));
}
