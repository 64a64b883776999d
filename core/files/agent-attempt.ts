import type { FileKey } from '../contracts/records.ts';
import type { ToolCall } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from '../telemetry/access-queue.ts';
import { logAccess, toOutcome } from '../telemetry/access-rows.ts';
import { isPathRefused } from '../screening/screening.ts';
import { parseVirtualPath, type Reach, toVirtualPath } from './paths.ts';

/** Parses the paths of a call and runs it; a refusal leaves an access row of the refused file. */
export type Attempt = <R>(
  call: { paths: readonly unknown[]; action: 'read' | 'write'; call: ToolCall },
  run: (...keys: FileKey[]) => Promise<R>,
) => Promise<R>;

/** What an attempt works with. */
interface AttemptDependencies {
  ids: IdSource;
  accessQueue: AccessQueue;
  /** Throws `READ_ONLY_SCOPE` for a file that the caller may not change. */
  checkWritable(key: FileKey, reach: Reach): void;
}

/** Creates the frame of what an agent does with files that it names. */
export function createAttempt(deps: AttemptDependencies): Attempt {
  return async ({ paths, action, call }, run) => {
    const keys: FileKey[] = [];
    try {
      for (const path of paths) keys.push(parseVirtualPath(path, call));
      if (action === 'write') keys.forEach((key) => deps.checkWritable(key, call));
      return await run(...keys);
    } catch (error) {
      const named = error instanceof MemoryError ? error.details?.['path'] : undefined;
      const key = keys.find((one) => toVirtualPath(one) === named) ?? keys[0];
      if (key !== undefined && !isPathRefused(error)) {
        await logAccess(deps, { call, rows: [{ ...key, action, outcome: toOutcome(error) }] });
      }
      throw error;
    }
  };
}
