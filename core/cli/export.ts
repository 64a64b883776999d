import { createWriteStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PassThrough, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExportSelection } from '../archive/export.ts';
import { isExportFolder, writeFolder } from '../archive/folder.ts';
import { readArchive } from '../archive/read.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { ownerOf } from '../files/paths.ts';
import { toScopeSelection } from '../archive/scopes.ts';
import { loadConfig } from '../config/index.ts';
import { moveToItsPlace } from './backup.ts';
import { preparePartial } from '../maintenance/temporary-folders.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import {
  checkRepositoryFolder,
  isStreamFile,
  readNotices,
  writeRepository,
} from './git-repository.ts';
import { carryMemory, countLeftOut, type MemoryCarrier, reportFolder } from './memory-carrier.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

/** How often a watching export looks for changes. */
const WATCH_MS = 2_000;

/**
 * `memory-service export <file.tar.gz | folder>`: writes memory into an archive with its history, or
 * into a folder of plain files, with or without a running server. With `--format git` it writes a git
 * repository into a folder, or the stream for `git fast-import` into a file.
 */
export const exportCommand: Command = {
  summary: 'Write memory into an archive (.tar.gz), a folder of plain files, or a git repository.',
  argument: 'file.tar.gz|folder',
  flags: {
    format: {
      value: 'format',
      summary: 'git: a repository, or in a file a git fast-import stream; a commit per revision.',
    },
    user: { value: 'userId', summary: 'Only the memory of this user.' },
    space: { value: 'spaceId', summary: 'Only the memory of this space.' },
    prefix: { value: 'prefix', summary: 'Only users and spaces whose ids start so: acme:*' },
    watch: { value: null, summary: 'Keep writing changes into the folder.' },
    force: { value: null, summary: 'Replace the file when it exists.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const target = resolve(context.cwd, context.argument ?? '');
  const owner = {
    userId: context.flags.get('user'),
    spaceId: context.flags.get('space'),
    prefix: context.flags.get('prefix'),
  };
  const { scope } = toScopeSelection(owner);
  const isWatching = context.flags.has('watch');
  const isForced = context.flags.has('force');
  const isGit = context.flags.has('format');
  if (isGit && context.flags.get('format') !== 'git') {
    throw new StartError(
      '--format is git; without it, the name decides between archive and folder.',
    );
  }
  const isFile = isGit ? await isStreamFile(target) : /\.(?:tar\.gz|tgz)$/.test(target);
  if (isFile && isWatching) throw new StartError('--watch writes into a folder, not a file.');
  if (isGit && isWatching) throw new StartError('--watch writes plain files: leave out --format.');
  if (isFile && !isForced && existsSync(target)) {
    throw new StartError(`${target} exists: choose another file, or replace it with --force.`);
  }
  if (isGit && !isFile) await checkRepositoryFolder(target);
  else if (!isFile && !(await isExportFolder(target))) {
    throw new StartError(`${target} has files that no export wrote: choose a new folder.`);
  }
  process.umask(0o077);
  await carryMemory(loaded, { mayCreate: false }, async (carrier) => {
    const selection = { ...owner, history: true, format: isGit ? 'git' : 'archive' } as const;
    if (isFile) return await writeExport(carrier, selection, { target, isForced });
    if (isGit) return await writeRepository(await carrier.export(selection), target);
    if (isWatching && !carrier.isShared) {
      throw new StartError('--watch needs a running service: nothing else changes this database.');
    }
    if (isWatching) await watch(carrier, { target, owner, scope });
    else await writeOut(carrier, { target, owner, scope });
  });
}

async function writeExport(
  carrier: MemoryCarrier,
  selection: ExportSelection,
  { target, isForced }: { target: string; isForced: boolean },
): Promise<void> {
  const partial = await preparePartial(target);
  const progress = createProgress('bytes');
  const report = reportFolder('files');
  let bytes = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      bytes += chunk.length;
      progress(bytes, null);
      done(null, chunk);
    },
  });
  try {
    const source = await carrier.export(selection);
    const read = selection.format === 'git' ? readNotices(report.onLeftOut) : new PassThrough();
    await pipeline(source, read, counter, createWriteStream(partial, { flags: 'wx', flush: true }));
    await moveToItsPlace(partial, target, isForced);
  } finally {
    await rm(partial, { force: true });
  }
  const more = countLeftOut(report.leftOut.size);
  writeOutput(`The memory was exported to ${target}: ${bytes} bytes.${more}\n`);
}

/** Writes the folder, and returns the files that were left out; `known` ones are not named again. */
async function writeOut(
  carrier: MemoryCarrier,
  { target, owner, scope }: FolderTarget,
  known?: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const source = await carrier.export({ ...owner, history: false });
  const archive = readArchive(() => source, { maxFileBytes: Infinity, now: Date.now() });
  const report = reportFolder('files', known);
  const files = await writeFolder(target, archive, {
    userId: scope === null ? null : ownerOf(scope),
    ...report,
  });
  const more = countLeftOut(report.leftOut.size);
  writeOutput(`The memory was exported to ${target}: ${files} files.${more}\n`);
  return report.leftOut;
}

/** A folder, and whose memory it has. */
interface FolderTarget {
  target: string;
  owner: Pick<ExportSelection, 'userId' | 'spaceId' | 'prefix'>;
  /** The only scope; `null` for several. */
  scope: ScopeKey | null;
}

/** Writes the folder, and again after each change, until the process is told to stop. */
async function watch(
  carrier: MemoryCarrier,
  { target, owner, scope }: FolderTarget,
): Promise<void> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  let written: string | null = null;
  let leftOut: ReadonlySet<string> = new Set();
  while (!stopped.signal.aborted) {
    // Read before the files: a change between the two is written again.
    const mark = await carrier.mark(scope);
    if (mark !== written) leftOut = await writeOut(carrier, { target, owner, scope }, leftOut);
    written = mark;
    await sleep(WATCH_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
  }
  process.off('SIGINT', stop).off('SIGTERM', stop);
}
