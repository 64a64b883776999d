import type {
  AuditRecord,
  FileKey,
  IdempotencyRecord,
  ScopeKey,
  ScopeState,
} from '../contracts/records.ts';
import type { Settings } from '../config/settings.ts';
import type { Guard, Storage } from '../contracts/storage.ts';
import type { Span, ToolCall, Trace } from '../contracts/tool.ts';
import { Draft, type DraftCaller } from './draft.ts';
import { findReplay, toOpenKey } from './idempotency.ts';
import type { InstanceIds } from '../ids.ts';
import type { WriteHealth } from './write-health.ts';

/** A change of one or more files, before it is made. */
interface PlannedWrite<R> {
  keys: readonly FileKey[];
  caller: DraftCaller;
  trace: Trace;
  guards?: readonly Guard[] | undefined;
  call?: ToolCall | undefined;
  /** The one write of its call, which may try it again. */
  isOnly?: boolean;
  audit?: (result: R) => AuditRecord;
}

/**
 * A transaction of one or more files: every change of a memory file is made here. `plan` may run
 * more than once, on a fresh draft each time; what it throws leaves nothing behind.
 */
export type Commit = <R extends object>(
  write: PlannedWrite<R>,
  plan: (draft: Draft) => R,
) => Promise<R>;

/** What the write path works with. */
export interface CommitDependencies {
  storage: Storage;
  limits: Settings['limits'];
  now: () => number;
  /** Idempotency keys end by it: a jump of the clock must not make a repeat a second write. */
  confirmedNow: () => number;
  ids: InstanceIds;
  /** Told of every write. */
  indexer: { wake(): void };
  /** Told whether it was made. */
  health: Pick<WriteHealth, 'note'>;
}

/** THE write path. */
export function createCommit(deps: CommitDependencies): Commit {
  const { storage, limits } = deps;
  /** How many writes a call has made: a plugin's tool may make several under one key. */
  const writesOf = new WeakMap<ToolCall, number>();

  return async function commit<R extends object>(
    write: PlannedWrite<R>,
    plan: (draft: Draft) => R,
  ): Promise<R> {
    const { call, caller, trace } = write;
    // Refused ones count, too: repeated, a call makes the same writes in the same order.
    const nth = call === undefined || write.isOnly === true ? 0 : (writesOf.get(call) ?? 0);
    if (call !== undefined) writesOf.set(call, nth + 1);
    const idempotency = toOpenKey(call, nth);
    const scopes = inLockOrder([
      ...write.keys.map(({ scope }) => scope),
      ...(idempotency === null ? [] : [idempotency.scope]),
    ]);
    const now = deps.now();
    let read: Span = trace.start('db.read', 'lock and read');
    let apply: Span | null = null;
    let replayed: IdempotencyRecord | null = null;
    let clocks: readonly ScopeState[] = [];
    try {
      const result = await storage.mutate<R>(
        {
          scopes,
          files: write.keys,
          ...(idempotency === null ? {} : { idempotency }),
          ...(write.guards === undefined ? {} : { guards: write.guards }),
        },
        (current) => {
          read.end({ files: write.keys.length });
          // Before versions and quota: a repeat after a lost answer gets the first one, not a 409.
          replayed = findReplay(current.idempotency, idempotency, deps.confirmedNow());
          if (replayed !== null) {
            return { result: JSON.parse(replayed.result) as R, writes: 0, changes: {} };
          }
          const building = trace.start('revision.write', 'revision');
          const draft = new Draft(current, {
            now,
            ids: deps.ids,
            caller,
            maxFilesPerUser: limits.maxFilesPerUser,
          });
          let planned: R;
          try {
            planned = plan(draft);
          } catch (error) {
            building.fail(error);
            throw error;
          }
          building.end({ revisions: draft.revisionCount });
          const rows = trace.start('access_log.write', 'access rows');
          const changes = draft.changes({
            ...(idempotency === null
              ? {}
              : {
                  idempotency: { ...idempotency, result: JSON.stringify(planned), createdAt: now },
                }),
            ...(write.audit === undefined ? {} : { audit: write.audit(planned) }),
          });
          rows.end({ rows: changes.access?.length ?? 0 });
          clocks = changes.scopes ?? [];
          apply = trace.start('db.write', 'apply and commit');
          // A replay of the transaction reads again.
          read = trace.start('db.read', 'lock and read again');
          return { result: planned, writes: draft.revisionCount > 0 ? 1 : 0, changes };
        },
      );
      (apply as Span | null)?.end({ files: write.keys.length });
      deps.indexer.wake();
      deps.health.note('memory', null);
      if (replayed !== null) call?.onReplay?.(replayed);
      clocks.forEach((clock) => deps.ids.follow(clock));
      return result;
    } catch (error) {
      (apply ?? read).fail(error);
      deps.health.note('memory', error);
      throw error;
    }
  };
}

/** Scopes, each once: a user's before the shared one, so that no two writes wait for each other. */
function inLockOrder(scopes: readonly ScopeKey[]): ScopeKey[] {
  return [...new Set(scopes)].sort((a, b) => (a > b ? -1 : 1));
}
