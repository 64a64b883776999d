import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { Host, PluginDreams, RunTrace } from '../../core/contracts/plugin.ts';
import type { SpanAttributes } from '../../core/contracts/records.ts';
import { ACTOR } from './apply.ts';

/** What an event is recorded of: a run, and what is done with it later. */
export type RunTraceName = 'dream.run' | 'dream.apply' | 'dream.recover' | 'dream.revert';

/** Begins the record of what is done with a run. */
export function startRunTrace(
  host: Pick<Host, 'startRun'>,
  { id, userId }: { id: string; userId: string },
  name: RunTraceName,
): RunTrace {
  const actor = name === 'dream.revert' ? 'admin' : ACTOR;
  return host.startRun({ name, runId: id, userId, actor });
}

/** Ends the record with what the run came to, as it stands in the database. */
export async function finishRunTrace(
  { dreams }: { dreams: Pick<PluginDreams, 'run'> },
  { id, trace }: { id: string; trace: RunTrace },
  error: unknown,
): Promise<void> {
  const run = await dreams.run(id).catch(() => null);
  trace.finish(error, run === null ? {} : toAttributes(run));
}

/** Counts, and words of this code alone. */
function toAttributes(run: DreamRunRecord): SpanAttributes {
  const { state, outcome, mode, filesTouched, writes, applied, dropped } = run;
  return {
    state,
    ...(outcome === null ? {} : { outcome }),
    mode,
    files: filesTouched,
    writes,
    applied,
    dropped,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
  };
}
