import type { Host, RunTrace } from '../../core/contracts/plugin.ts';
import type { Guard } from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import { toApplied, toLeft, type RunFile } from './details.ts';

/** What a run writes with. */
export interface Writing {
  userId: string;
  runId: string;
  trace: RunTrace;
  /** Each write is held to all of them in its own transaction. */
  guards: readonly Guard[];
}

/** Who reads and writes in a run. */
export const ACTOR = 'dream-agent';

/**
 * Writes files in their order, each only if it, and what it needs, is as the run saw it: what
 * someone changed meanwhile is left alone. One that cannot be written now stays proposed, with the
 * reason. Throws when the lease is lost, and when the run is stopped.
 *
 * @param options.picked paths of those that are written; `null` is all.
 * @param options.beforeWrite throws when the run was stopped.
 */
export async function applyFiles(
  host: Pick<Host, 'write'>,
  writing: Writing,
  files: readonly RunFile[],
  options: { picked: ReadonlySet<string> | null; beforeWrite: () => Promise<void> },
): Promise<RunFile[]> {
  const done = new Map(files.map((file) => [file.path, file]));
  for (const file of files) {
    if (file.status !== 'proposed' || file.after === null) continue;
    if (options.picked?.has(file.path) === false) continue;
    const held = findHold(file, done);
    if (held === null) await options.beforeWrite();
    done.set(file.path, held ?? (await writeFile(host, writing, file, done)));
  }
  return [...done.values()];
}

/** The file as it stays while one that takes lines of it is not written; `null` when all are. */
function findHold(file: RunFile, files: ReadonlyMap<string, RunFile>): RunFile | null {
  for (const { path } of file.needs) {
    const taker = files.get(path);
    if (taker === undefined || taker.written !== null) continue;
    return taker.status === 'proposed'
      ? { ...file, note: `it waits for ${path}, which takes lines of it` }
      : toLeft(file, `${path}, which takes lines of it, was not written`);
  }
  return null;
}

async function writeFile(
  host: Pick<Host, 'write'>,
  { userId, runId, trace, guards }: Writing,
  file: RunFile,
  files: ReadonlyMap<string, RunFile>,
): Promise<RunFile> {
  const { path, after: content, reason, version: ifVersion } = file;
  const requires = file.needs.map((need) => ({
    path: need.path,
    version: files.get(need.path)?.written ?? need.version,
  }));
  try {
    const { version } = await host.write(
      { userId, path, content, reason: reason.slice(0, 1_000).toWellFormed(), ifVersion, requires },
      { runId, trace, guards, actor: ACTOR, tool: toolOf(ifVersion) },
    );
    return toApplied(file, version);
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    switch (error.code) {
      case 'VERSION_CONFLICT':
      case 'INVALID_CONTENT':
        return toLeft(file, error.message);
      case 'QUOTA_EXCEEDED':
      case 'PAYLOAD_TOO_LARGE':
        // There may be room for it later.
        return { ...file, note: error.message };
      default:
        throw error;
    }
  }
}

/** A run edits lines of a file that is there, and writes a new one whole. */
export function toolOf(version: number): 'memory_patch' | 'memory_write' {
  return version === 0 ? 'memory_write' : 'memory_patch';
}

/** Whether a file cannot be written as it is, while others can: its lease and the storage are there. */
export function isRefusal(error: unknown): error is MemoryError {
  return error instanceof MemoryError && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<string> = new Set([
  'VERSION_CONFLICT',
  'QUOTA_EXCEEDED',
  'PAYLOAD_TOO_LARGE',
  'INVALID_CONTENT',
]);
