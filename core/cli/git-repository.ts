import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { EXPORT_MARKER } from '../archive/export-marker.ts';
import type { FolderOptions } from '../archive/folder.ts';
import { LEFT_OUT_NOTICE } from '../archive/git.ts';
import { StartError } from './failure.ts';
import { countLeftOut, reportFolder } from './memory-carrier.ts';
import { writeOutput } from './streams.ts';

/** Whether a target of `export --format git` is a file: by what is there, or else by its ending. */
export async function isStreamFile(target: string): Promise<boolean> {
  const found = await stat(target).catch(() => null);
  if (found !== null) return !found.isDirectory();
  // A name like memory.git is that of a repository.
  return !['', '.git'].includes(extname(target));
}

/** Throws a `StartError` unless a repository can be made here: in a new or empty folder, with git. */
export async function checkRepositoryFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (names.length > 0) throw new StartError(`${folder} is not empty: choose a new folder.`);
  await git(['--version']);
}

/** Makes a git repository of a `git fast-import` stream, with its newest commit checked out. */
export async function writeRepository(commits: Readable, folder: string): Promise<void> {
  const report = reportFolder('files');
  await mkdir(folder, { recursive: true });
  try {
    // Without the templates of this machine, which may hold hooks.
    await git(['init', '--quiet', '--template=', folder]);
    const inFolder = (args: string[], input?: Input) => git(['-C', folder, ...args], input);
    await inFolder(['symbolic-ref', 'HEAD', 'refs/heads/main']);
    // A checkout gives the files as memory has them.
    await inFolder(['config', 'core.autocrlf', 'false']);
    await inFolder(['fast-import', '--quiet'], [commits, readNotices(report.onLeftOut)]);
    const count = Number(await inFolder(['rev-list', '--count', '--all']));
    if (count > 0) await inFolder(['reset', '--hard', '--quiet']);
    // Says that models chose what is in the folder, and is no file of memory.
    await mkdir(join(folder, '.git/info'), { recursive: true });
    await appendFile(join(folder, '.git/info/exclude'), `/${EXPORT_MARKER}\n`);
    await writeFile(join(folder, EXPORT_MARKER), '{"format":"git"}\n', { flag: 'wx' });
    const more = countLeftOut(report.leftOut.size);
    writeOutput(`The memory was exported to ${folder}: ${count} commits.${more}\n`);
  } catch (error) {
    // Half a history would look like a whole one. The folder was empty before.
    for (const name of await readdir(folder)) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
    throw error;
  }
}

/** Passes a `git fast-import` stream on, and reports the files that its first lines name. */
export function readNotices(onLeftOut: FolderOptions['onLeftOut']): Transform {
  let head: Buffer | null = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      if (head !== null) {
        head = Buffer.concat([head, chunk]);
        for (let end = head.indexOf('\n'); end !== -1; end = head.indexOf('\n')) {
          const line = head.toString('utf8', 0, end);
          head = head.subarray(end + 1);
          const [, path, why] = LEFT_OUT_NOTICE.exec(line) ?? [];
          if (path !== undefined && why !== undefined) onLeftOut({ path, why });
          else if (line !== 'feature done') {
            head = null;
            break;
          }
        }
      }
      done(null, chunk);
    },
  });
}

/** What git reads, and what it passes through before. */
type Input = readonly [Readable, Transform];

/** Errors of writing to a process that ended. */
const CLOSED_PIPE = new Set(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED']);

/** Runs git and returns what it says. Throws a `StartError` where there is no git, or if it fails. */
async function git(args: readonly string[], input?: Input): Promise<string> {
  // GIT_DIR and its like would lead to another repository.
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  const child = spawn('git', args, { env: Object.fromEntries(kept), stdio: 'pipe' });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const sent = input === undefined ? child.stdin.end() : pipeline(...input, child.stdin);
  try {
    const [[code], [stdout, stderr], broken] = await Promise.all([
      ended,
      said,
      // A git that fails closes its input early; its own message says more.
      Promise.resolve(sent).then(
        () => null,
        (error: unknown) => error,
      ),
    ]);
    const isPipeClosed = CLOSED_PIPE.has((broken as NodeJS.ErrnoException | null)?.code ?? '');
    if (broken !== null && !(isPipeClosed && code !== 0)) throw broken as Error;
    if (code !== 0) throw new StartError(`git ${args.join(' ')} failed: ${stderr.trim()}`);
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new StartError(
      'There is no git on this machine: install it, or export into a file (memory.fast-import), which git fast-import reads elsewhere.',
      { cause: error },
    );
  }
}
