import type { RunRecord } from '../../core/contracts/runs.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { assertState, toDecided, type WrittenOperations } from './life-cycle.ts';
import { detailsOf, isApplicable, pathsOf, type RunOperation } from './operations.ts';
import { relocate } from './relocate.ts';
import { type ActiveRun, type Rows, type RunContext, updateRun } from './run.ts';
import { commitWrite, planWrite, readMemory } from './write.ts';

/**
 * What a person decides. Without numbers and paths, `apply` means the operations that are preselected,
 * and `reject` means all.
 */
export interface Decision {
  verb: 'apply' | 'reject';
  operations: readonly number[] | null;
  /** Virtual. */
  paths: readonly string[] | null;
  caller: AuditCaller;
}

/** A run after a decision, with the numbers of the operations that were picked. */
export interface DecidedRun {
  run: RunRecord;
  picked: readonly number[];
}

/**
 * Applies or rejects operations of a run that has ended. Operations to apply are located again in the
 * files as they are now, wherever their lines were moved, and written in one transaction.
 *
 * @throws MemoryError `RUN_STATE` for a run that has not ended or is a dry run, and for an operation
 * that is closed; `INVALID_REQUEST` for one that the run does not have.
 */
export async function decideOnRun(
  context: RunContext,
  run: ActiveRun,
  decision: Decision,
): Promise<DecidedRun> {
  const { host, dreams } = context;
  const { verb, caller } = decision;
  const row = assertDecidable(await dreams.run(run.id));
  const picked = pickOperations(row, decision);
  const numbers = picked.map(({ operation }) => operation.number);
  const audit = {
    action: `dream.${verb}`,
    target: run.id,
    details: { operations: numbers },
    caller,
  };
  const states = ['completed'] as const;
  const settle = (rows: Rows, written: WrittenOperations | null, rejected: readonly number[]) => {
    assertOpen(rows.run, picked, verb);
    const next = toDecided(rows, { written, rejected: new Set(rejected) }, host.now());
    return { ...next, audit, result: { run: next.run, picked: numbers } };
  };
  if (verb === 'reject') {
    return await updateRun(context, run, states, (rows) => settle(rows, null, numbers));
  }
  const since = row.startedAt ?? row.createdAt;
  const { versions } = detailsOf(row);
  const placed = await relocate(host, { scope: run.scope, since, versions }, picked);
  const memory = await readMemory(host, run.scope, placed);
  const isLogged = detailsOf(row).maxWrites > 1;
  const request = { operations: placed, memory, maxWrites: null, isLogged };
  const plan = await planWrite(host, request);
  return await commitWrite(context, run, request, {
    plan,
    states,
    end: (rows, written) => settle(rows, { ...written, placed }, []),
  });
}

/** Throws `RUN_STATE` where an operation has expired since it was picked. */
function assertOpen(run: RunRecord, picked: readonly RunOperation[], verb: Decision['verb']): void {
  const { operations } = detailsOf(run);
  for (const { operation } of picked) {
    const one = operations.find((other) => other.operation.number === operation.number);
    if (one !== undefined && isOpenFor(one, verb)) continue;
    throw toClosed(operation.number, one ?? null);
  }
}

function isOpenFor(one: RunOperation, verb: Decision['verb']): boolean {
  return verb === 'apply' ? isApplicable(one) : one.status === 'waiting';
}

function toClosed(number: number, one: RunOperation | null): MemoryError {
  const { status = 'gone', guard = null, why = null } = one ?? {};
  return new MemoryError('RUN_STATE', `Operation ${number} is ${status}.`, {
    details: { operation: number, status, guard, why },
  });
}

function assertDecidable(run: RunRecord | null): RunRecord {
  const present = assertState(run, ['completed']);
  if (!present.dryRun) return present;
  throw new MemoryError('RUN_STATE', 'A dry run is not decided on: start a run that writes.', {
    details: { state: present.state, dryRun: true },
  });
}

function pickOperations(
  run: RunRecord,
  { verb, operations: numbers, paths }: Decision,
): RunOperation[] {
  const { operations } = detailsOf(run);
  const waiting = operations.filter(({ status }) => status === 'waiting');
  if (numbers === null && paths === null) {
    return verb === 'reject' ? waiting : waiting.filter(({ isPreselected }) => isPreselected);
  }
  const picked = new Set<RunOperation>();
  for (const number of numbers ?? []) {
    const one = operations.find(({ operation }) => operation.number === number);
    if (one === undefined) throw refuse('/operations', 'names an operation that this run lacks');
    if (!isOpenFor(one, verb)) throw toClosed(number, one);
    picked.add(one);
  }
  for (const path of paths ?? []) {
    const some = waiting.filter((one) => pathsOf(one).includes(path));
    if (some.length === 0) throw refuse('/paths', 'names a file that no waiting operation changes');
    some.forEach((one) => picked.add(one));
  }
  return operations.filter((one) => picked.has(one));
}

function refuse(path: string, message: string): MemoryError {
  return new MemoryError('INVALID_REQUEST', `${path.slice(1)} ${message}.`, {
    details: { issues: [{ path, message }] },
  });
}
