import type { Host, RunTrace } from '../../core/contracts/plugin.ts';
import type { RunRecord } from '../../core/contracts/runs.ts';

/** The events of a run: itself, and what is done with it later. */
export type RunTraceName = 'dream.run' | 'dream.apply' | 'dream.recover' | 'dream.revert';

/** Begins an event of a run. */
export function startRunTrace(
  host: Pick<Host, 'trace'>,
  { id, scope }: Pick<RunRecord, 'id' | 'scope'>,
  name: RunTraceName,
): RunTrace {
  const actor = name === 'dream.revert' ? 'admin' : 'dream-agent';
  return host.trace({ name, runId: id, scope, actor });
}
