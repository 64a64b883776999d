import type { Logger } from '../contracts/plugin.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import type { JobState } from '../schemas/jobs.ts';

/**
 * Creates background work that an operator starts and polls; one run at a time. If `work` throws, the
 * error is logged and the state gets its code.
 */
export function createJob<Options, Result>(deps: {
  name: string;
  log: Logger;
  work: (options: Options, progress: (done: number, total: number) => void) => Promise<Result>;
}) {
  const { name, log, work } = deps;
  let last: JobState<Result> | null = null;

  async function run(state: JobState<Result>, options: Options): Promise<void> {
    try {
      state.result = await work(options, (done, total) => Object.assign(state, { done, total }));
      state.state = 'completed';
    } catch (error) {
      state.error = toMemoryError(error).code;
      state.state = 'failed';
      log.error({ job: name, error: describeError(error) }, 'a job of the operator failed');
    }
  }

  return {
    /** `null` before the first. */
    state: () => last && { ...last },
    /** Starts a run, unless one is already running. */
    start(options: Options): JobState<Result> {
      if (last?.state === 'running') return { ...last };
      last = { state: 'running', done: 0, total: 0, result: null, error: null };
      const begun = { ...last };
      void run(last, options);
      return begun;
    },
  };
}
