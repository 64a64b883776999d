import type { Host, Lease, RunTrace } from '../../core/contracts/plugin.ts';
import type { Guard } from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import type { RunFile } from './details.ts';

/** Who reads and writes in a run. */
export const ACTOR = 'dream-agent';
/** Times that the log is tried when others write it at the same moment. */
const LOG_TRIES = 3;
const LOG = 'dream-log.md';

/** What a run writes with: each write is held to all of it in its own transaction. */
export interface Writing {
  userId: string;
  runId: string;
  lease: Pick<Lease, 'guard'>;
  trace: RunTrace;
  maxWrites: number;
}

/**
 * Writes files in their order, each only if it, and what it needs, is as the run saw it: what
 * someone changed meanwhile is left alone. Throws when the lease is lost, and when the run is
 * stopped.
 *
 * @param beforeWrite throws when the run was stopped.
 */
export async function applyFiles(
  host: Pick<Host, 'write'>,
  writing: Writing,
  files: readonly RunFile[],
  beforeWrite: () => Promise<void>,
): Promise<RunFile[]> {
  const versions = new Map<string, number>();
  const planned = new Set(files.map(({ path }) => path));
  for (const file of files) if (file.written !== null) versions.set(file.path, file.written);
  const done: RunFile[] = [];
  for (const file of files) {
    if (file.status !== 'proposed' || file.after === null) {
      done.push(file);
      continue;
    }
    const lacking = file.needs.find(({ path }) => planned.has(path) && !versions.has(path));
    if (lacking !== undefined) {
      done.push(left(file, `${lacking.path}, which takes lines of it, was not written`));
      continue;
    }
    await beforeWrite();
    const written = await writeFile(host, writing, file, versions);
    if (written.written !== null) versions.set(file.path, written.written);
    done.push(written);
  }
  return done;
}

async function writeFile(
  host: Pick<Host, 'write'>,
  writing: Writing,
  file: RunFile,
  versions: ReadonlyMap<string, number>,
): Promise<RunFile> {
  const { userId, runId, trace } = writing;
  const { path, after: content, reason, version: ifVersion } = file;
  const requires = file.needs.map((need) => ({
    path: need.path,
    version: versions.get(need.path) ?? need.version,
  }));
  try {
    const { version } = await host.write(
      { userId, path, content, reason: reason.slice(0, 1_000).toWellFormed(), ifVersion, requires },
      { actor: ACTOR, runId, trace, guards: guardsOf(writing) },
    );
    return { ...file, status: 'applied', after: null, diff: null, written: version };
  } catch (error) {
    const why = toLeft(error);
    if (why === null) throw error;
    return left(file, why);
  }
}

/** Why a file is left alone; `null` for what ends the run. */
function toLeft(error: unknown): string | null {
  if (!(error instanceof MemoryError)) return null;
  switch (error.code) {
    case 'VERSION_CONFLICT':
      return error.message;
    case 'QUOTA_EXCEEDED':
    case 'PAYLOAD_TOO_LARGE':
    case 'INVALID_CONTENT':
      return error.message;
    default:
      return null;
  }
}

function left(file: RunFile, note: string): RunFile {
  return { ...file, status: 'left', note, after: null };
}

function guardsOf({ lease, runId, maxWrites }: Writing): Guard[] {
  return [lease.guard, { kind: 'budget', name: `dream:${runId}`, max: maxWrites }];
}

/**
 * Writes the entry of a run into the log: what was done to which file, in words of this code alone.
 * Whether it was written: the budget may have been spent.
 */
export async function writeLog(
  host: Pick<Host, 'write' | 'memory' | 'now'>,
  writing: Writing,
  files: readonly { path: string; what: string }[],
): Promise<boolean> {
  const { userId, runId, trace } = writing;
  const time = new Date(host.now()).toISOString();
  const entry = `## ${time}\n\n${files.map(({ path, what }) => `- ${path}: ${what}\n`).join('')}- run ${runId}\n`;
  for (let tries = 1; ; tries += 1) {
    const log = await host.memory.read(`u:${userId}`, LOG);
    const before = log?.content ?? '# Dream log\n';
    const gap = before.endsWith('\n') ? '\n' : '\n\n';
    try {
      await host.write(
        {
          userId,
          path: `user/${LOG}`,
          content: `${before}${gap}${entry}`,
          reason: 'Entry of a dream run.',
          ifVersion: log?.version ?? 0,
        },
        { actor: ACTOR, runId, trace, guards: guardsOf(writing) },
      );
      return true;
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      const isRaced = error.code === 'VERSION_CONFLICT' && tries < LOG_TRIES;
      if (!isRaced && toLeft(error) === null) throw error;
      if (!isRaced) return false;
    }
  }
}
