import type { Logger } from '../contracts/plugin.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import type { JobState } from '../schemas/jobs.ts';

/** Work that an operator starts and comes back to look at: one run at a time. */
interface Job<Options, Result> {
  /** Begins a run, unless one is under way. */
  start(options: Options): JobState<Result>;
  /** `null` before the first. */
  state(): JobState<Result> | null;
}

/** Makes a job of some work; what it throws goes to the log, and its code to who asks. */
export function createJob<Options, Result>(deps: {
  name: string;
  log: Logger;
  work: (options: Options, progress: (done: number, total: number) => void) => Promise<Result>;
}): Job<Options, Result> {
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
    state: () => last && { ...last },
    start(options) {
      if (last?.state === 'running') return { ...last };
      last = { state: 'running', done: 0, total: 0, result: null, error: null };
      const begun = { ...last };
      void run(last, options);
      return begun;
    },
  };
}
