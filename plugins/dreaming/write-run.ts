import type { Guard } from '../../core/contracts/storage.ts';
import { dreamBudgetOf } from '../../core/files/dream-names.ts';
import { checkStop, Stopped, type ActiveRun, type RunParts } from './active-run.ts';
import { applyFiles, type Writing } from './apply.ts';
import type { RunDetails, RunFile } from './details.ts';
import { writeLogEntry } from './dream-log.ts';

/**
 * Writes the files of a run that are proposed, one after the other, and says what became of each.
 * Throws `Stopped` when there is a reason to stop, also when another instance has canceled the run.
 *
 * @param details.files in the order in which they can be written.
 * @param picked paths of those that are written; `null` is all.
 */
export async function writeRunFiles(
  { host, dreams }: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
  { files, maxWrites }: Pick<RunDetails, 'files' | 'maxWrites'>,
  picked: ReadonlySet<string> | null,
): Promise<RunFile[]> {
  return await applyFiles(host, toWriting(run, maxWrites), files, {
    picked,
    async beforeWrite() {
      checkStop(run);
      const row = await dreams.run(run.id);
      if (row?.state !== 'running') throw new Stopped('canceled');
    },
  });
}

/**
 * Writes the one entry of a run into the user's log, at its end, if it has written anything; whether
 * it did. A budget of a single write has none left for it.
 */
export async function logRun(
  { host }: Pick<RunParts, 'host'>,
  run: ActiveRun,
  { files, operations, maxWrites }: Pick<RunDetails, 'files' | 'operations' | 'maxWrites'>,
): Promise<boolean> {
  const written = files.filter(({ status }) => status === 'applied');
  if (written.length === 0 || maxWrites < 2) return false;
  const entries = written.map(({ path }) => {
    const applied = operations.filter(
      ({ status, paths }) => status === 'applied' && paths.includes(path),
    );
    return { path, what: countKinds(applied.map(({ kind }) => kind)) };
  });
  return await writeLogEntry(host, toWriting(run, maxWrites), entries);
}

/** `merge, 28 × reword`. */
function countKinds(kinds: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const words = [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} × ${kind}`));
  return words.length === 0 ? 'tidied' : words.join(', ');
}

function toWriting({ userId, id, kept, trace }: ActiveRun, maxWrites: number): Writing {
  const budget: Guard = { kind: 'budget', name: dreamBudgetOf(id), max: maxWrites };
  return { userId, trace, runId: id, guards: [kept.lease.guard, budget] };
}
