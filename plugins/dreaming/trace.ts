import type { Host, RunTrace } from '../../core/contracts/plugin.ts';

/** What an event is recorded of: a run, and what is done with it later. */
export type RunTraceName = 'dream.run' | 'dream.apply' | 'dream.recover' | 'dream.revert';

/** Begins the record of what is done with a run. */
export function startRunTrace(
  host: Pick<Host, 'trace'>,
  { id, userId }: { id: string; userId: string },
  name: RunTraceName,
): RunTrace {
  const actor = name === 'dream.revert' ? 'admin' : 'dream-agent';
  return host.trace({ name, runId: id, userId, actor });
}
