import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** What a process said and how it ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A process that serves until the test ends. */
export interface Serving {
  url: string;
  /** Sends SIGTERM, and waits for the end. */
  stop(): Promise<Ended>;
}

export interface RunOptions {
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

/** A directory of the test's own, removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-example-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs a file of the repository with Node to its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { end } = await launch(args, options);
  return end;
}

/** Runs a file that serves, until it has printed its address. */
export async function serve(args: readonly string[], options: RunOptions = {}): Promise<Serving> {
  const { child, end, said } = await launch(args, options);
  const stop = (): Promise<Ended> => {
    child.kill('SIGTERM');
    return end;
  };
  onTestFinished(async () => {
    await stop();
  });
  const url = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout?.on('data', () => {
        const found = /https?:\/\/[\w.:[\]-]+/.exec(said.stdout);
        if (found !== null) resolve(found[0]);
      });
    }),
    end.then(({ code, stderr }) => {
      throw new Error(`${args.join(' ')} ended with ${String(code)} before it served:\n${stderr}`);
    }),
  ]);
  return { url, stop };
}

async function launch(
  args: readonly string[],
  { env = {}, cwd = root }: RunOptions,
): Promise<{
  child: ChildProcess;
  end: Promise<Ended>;
  said: { stdout: string; stderr: string };
}> {
  if (!existsSync(join(root, 'dist/core/index.js'))) {
    throw new Error('The examples import the built package: run npm run build first.');
  }
  const [file = '', ...rest] = args;
  const TMPDIR = await temporaryDirectory();
  const child = spawn(process.execPath, [join(root, file), ...rest], {
    cwd,
    // Nothing of this machine's configuration: an example works on a fresh clone.
    env: { PATH: process.env['PATH'] ?? '', TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const end = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...said }));
  });
  return { child, end, said };
}
