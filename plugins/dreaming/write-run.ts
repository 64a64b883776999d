import { Stopped, type ActiveRun, type RunParts } from './active-run.ts';
import { applyFiles, writeLog, type Writing } from './apply.ts';
import { detailsOf, type RunFile } from './details.ts';
import { skipped } from './transitions.ts';

/**
 * Writes the files of a run that are proposed, one after the other, and says what became of each.
 * Throws `Stopped` when the run is canceled meanwhile, and what `checkStop` throws.
 */
export async function writeRunFiles(
  { host, dreams }: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
  files: readonly RunFile[],
  options: {
    maxWrites: number;
    checkStop: () => void;
    /** Called after each file, so that what is written is known wherever it ends. */
    onProgress?: (files: readonly RunFile[]) => void;
  },
): Promise<RunFile[]> {
  const writing = toWriting(run, options.maxWrites);
  let done = [...files];
  for (const file of files) {
    if (file.status !== 'proposed') continue;
    const others = done.map((other) => (other.path === file.path ? file : skipped(other)));
    const written = await applyFiles(host, writing, others, async () => {
      options.checkStop();
      const row = await dreams.run(run.id);
      if (row?.state !== 'running') throw new Stopped('canceled');
    });
    const now = written.find(({ path }) => path === file.path) ?? file;
    done = done.map((other) => (other.path === file.path ? now : other));
    options.onProgress?.(done);
  }
  return done;
}

/** Writes the entry of a run into the user's log, if it has written anything; whether it did. */
export async function logRun(
  { host, dreams }: Pick<RunParts, 'host' | 'dreams'>,
  run: ActiveRun,
  files: readonly RunFile[],
  maxWrites: number,
): Promise<boolean> {
  const written = files.filter(({ status }) => status === 'applied');
  if (written.length === 0) return false;
  const row = await dreams.run(run.id);
  const { operations } = row === null ? { operations: [] } : detailsOf(row);
  const entries = written.map(({ path }) => {
    const kinds = operations
      .filter(({ status, paths }) => status === 'applied' && paths.includes(path))
      .map(({ kind }) => kind);
    return { path, what: kinds.length === 0 ? 'tidied' : kinds.join(', ') };
  });
  return await writeLog(host, toWriting(run, maxWrites), entries);
}

function toWriting({ userId, id, kept, trace }: ActiveRun, maxWrites: number): Writing {
  return { userId, runId: id, lease: kept.lease, trace, maxWrites };
}
