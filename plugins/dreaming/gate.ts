import type { CheckTrial } from '../../core/contracts/plugin.ts';
import type { EditedMemory } from '../../core/edits/edited-memory.ts';
import { virtualHomeOf } from '../../core/plugin.ts';
import type { RunOperation } from './operations.ts';
import { LEFT_TO_PERSON } from './propose.ts';
import { type ActiveRun, checkStop, type RunContext } from './run.ts';
import { planWrite, type WriteRequest } from './write.ts';

/** Why an operation waits that would turn a stored check red. */
const WHY = 'check';

/**
 * Tries the operations that a run would apply against the stored checks: all together, and where one turns red,
 * one after the other on top of those that pass. What turns a check red waits for a person, and names it. A check
 * that is red already holds back nothing.
 */
export async function holdBackFailing(
  { host }: Pick<RunContext, 'host'>,
  run: ActiveRun,
  {
    operations,
    dryRun,
    ...request
  }: Omit<WriteRequest, 'operations'> & {
    operations: readonly RunOperation[];
    memory: EditedMemory;
    dryRun: boolean;
  },
): Promise<readonly RunOperation[]> {
  const good = operations.filter(({ status }) => status === 'applied');
  if (good.length === 0) return operations;
  const trial = await host.memory.tryChecks(run.scope);
  if (trial === null) return operations;
  const findRed = (some: readonly RunOperation[]) =>
    tryOperations({ host }, run, { trial, request: { ...request, operations: some } });
  if ((await findRed(good)).length === 0) return operations;
  const passing: RunOperation[] = [];
  const failing = new Map<RunOperation, readonly string[]>();
  for (const one of good) {
    const checks = await findRed([...passing, one]);
    if (checks.length === 0) passing.push(one);
    else failing.set(one, checks);
  }
  return operations.map((one) => {
    const checks = failing.get(one);
    if (checks === undefined) return one;
    const held = { ...one, isPreselected: false, checks };
    return dryRun
      ? { ...held, status: 'dropped' as const, why: `${LEFT_TO_PERSON} ${WHY}` }
      : { ...held, status: 'waiting' as const, why: WHY };
  });
}

/** The names of the checks that operations would turn red. */
async function tryOperations(
  { host }: Pick<RunContext, 'host'>,
  run: ActiveRun,
  { trial, request }: { trial: CheckTrial; request: WriteRequest },
): Promise<readonly string[]> {
  checkStop(run);
  const home = virtualHomeOf(run.scope);
  const { files } = await planWrite(host, request);
  const red = await trial.turnedRed(
    files.map(({ path, after }) => ({ path: path.slice(home.length), content: after })),
  );
  checkStop(run);
  return red;
}
