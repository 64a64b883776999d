import { spawn } from 'node:child_process';
import { Console } from 'node:console';
import { createReadStream, createWriteStream, fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { isatty, ReadStream, WriteStream } from 'node:tty';

/** Where a command reads and prints its data. */
export interface Streams {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean };
  /** Whether not even a child that inherits the standard streams can reach them. */
  isPrivate: boolean;
}

/** Tells a process that {@link restartWithPrivateStreams} has started it. */
const VARIABLE = 'MEMORY_SERVICE_PRIVATE_STREAMS';
const [OUTPUT_FD, INPUT_FD] = [3, 4];
const SIGNALS: NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];

let taken: Streams | null = null;

/**
 * The streams of a command whose output is data. From the first call, what a configuration, a plugin
 * or a worker prints to standard output goes to standard error.
 */
export function takeStreams(): Streams {
  taken ??= openStreams();
  return taken;
}

/** Writes to what {@link takeStreams} keeps of standard output. */
export function writeOutput(text: string): void {
  takeStreams().output.write(text);
}

/**
 * Runs this command again in a process whose standard input is empty and whose standard output is
 * standard error, so that neither native code nor a child can come between the data. Node can't move
 * an open descriptor of its own process. This process then only waits, and ends with the exit code of
 * the other. Returns if that is the one, or if no process can be started.
 */
export async function restartWithPrivateStreams(): Promise<void> {
  if (process.env[VARIABLE] !== undefined || taken?.isPrivate === true) return;
  const ended = new Promise<void>((resolve) => {
    // The channel closes with this process, however it ends, and the other one ends then.
    const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['ignore', 2, 2, 1, 0, 'ipc'],
      env: { ...process.env, [VARIABLE]: '1' },
      windowsHide: true,
    });
    child.on('error', () => resolve());
    child.on('exit', (code, signal) => {
      process.exit(code ?? 128 + constants.signals[signal as NodeJS.Signals]);
    });
    for (const each of SIGNALS) {
      process.on(each, () => {
        // What signals a whole group, such as a terminal, reaches the other process too. There a
        // closed channel is no second signal, which would cut its work off.
        if (child.connected) child.disconnect();
        else child.kill(each);
      });
    }
  });
  // Node's permissions may allow no child.
  await ended.catch(() => undefined);
}

/** Aborts when the process that waits for this one has ended or was told to. */
export function signalOfParent(): AbortSignal {
  const gone = new AbortController();
  if (takeStreams().isPrivate) {
    process.once('disconnect', () => gone.abort());
    if (!process.connected) gone.abort();
  }
  return gone.signal;
}

function openStreams(): Streams {
  const isPrivate = process.env[VARIABLE] !== undefined;
  // Those that this process starts have no such descriptors.
  delete process.env[VARIABLE];
  if (isPrivate) return { input: openInput(), output: openOutput(), isPrivate };
  const { stdin: input, stdout: output } = process;
  Object.defineProperty(process, 'stdout', { get: () => process.stderr, configurable: true });
  globalThis.console = new Console(process.stderr);
  return { input, output, isPrivate };
}

function openOutput(): Writable {
  if (isatty(OUTPUT_FD)) return new WriteStream(OUTPUT_FD);
  return isFile(OUTPUT_FD)
    ? createWriteStream('', { fd: OUTPUT_FD })
    : new Socket({ fd: OUTPUT_FD, readable: false, writable: true });
}

function openInput(): Readable {
  if (isatty(INPUT_FD)) return new ReadStream(INPUT_FD);
  return isFile(INPUT_FD)
    ? createReadStream('', { fd: INPUT_FD })
    : new Socket({ fd: INPUT_FD, readable: true, writable: false });
}

/** Whether it is a file or a device such as /dev/null, and no pipe. */
function isFile(fd: number): boolean {
  const found = fstatSync(fd);
  return found.isFile() || found.isCharacterDevice();
}
