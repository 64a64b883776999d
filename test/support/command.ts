import { type ChildProcess, fork, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const BIN = join(ROOT, 'dist/core/cli/bin.cjs');

/** What a command said, and how it ended. */
export interface CommandResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  cwd: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** What comes on standard input; nothing when left out. */
  input?: string;
  /** What Node runs under, with its arguments: `['strace', '-D', …]`. */
  under?: readonly string[];
  /** What is run in the place of this Node and of what it has built. */
  program?: readonly string[];
}

/** A `memory-service` that has said that it is ready. */
export interface RunningCommand {
  /** Of the service, without a slash at its end. */
  url: string;
  process: ChildProcess;
  apiKey: string;
  adminSecret: string;
  stdout(): string;
  stderr(): string;
  /** Settles when the process has ended and all that it said has arrived. */
  ended: Promise<CommandResult>;
  /** Ends it, and tells how it went. */
  stop(signal?: NodeJS.Signals): Promise<CommandResult>;
}

/** Where a server of these tests runs. */
const served = new Set<string>();
/** What this worker has run as a process: a command, with or without a server, with or without input. */
const launched = new Set<string>();

/**
 * Runs the built command until it ends. The first time that a worker runs a command without a server,
 * the first time with one, and the first time with an input, it is a process, as an installed command
 * is. Its later runs share a process, because the start of Node takes ten times as long as most of them
 * work.
 */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  return needsProcess(options) ? await launch(options).ended : await runInHost(options);
}

function needsProcess(options: CommandOptions): boolean {
  const { args = [], env = {}, input, under, program, cwd } = options;
  const name = args.find((argument) => !argument.startsWith('-')) ?? 'start';
  if (under !== undefined || program !== undefined || 'NODE_OPTIONS' in env) return true;
  // Those end the process that they run in, and what they opened with it.
  if (name === 'start' || name === 'mcp') return true;
  const run = [
    name,
    served.has(cwd) && 'with a server',
    input !== undefined && 'with input',
  ].join();
  if (launched.has(run)) return false;
  launched.add(run);
  return true;
}

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url));
/** What the host writes before and behind the output of a command, to both streams. */
const MARK = '\0\n';
let host: ChildProcess | null = null;
let last: Promise<unknown> = Promise.resolve();

function runInHost(options: CommandOptions): Promise<CommandResult> {
  const result = last.then(() => askHost((host ??= startHost()), options));
  last = result.catch(() => undefined);
  return result;
}

/** It ends with the worker that runs the tests, and keeps no worker from ending. */
function startHost(): ChildProcess {
  const env = { PATH: process.env['PATH'], UV_THREADPOOL_SIZE: '16' };
  const child = fork(HOST, [], { cwd: '/', env, execArgv: [], stdio: 'pipe' });
  child.on('exit', () => (host = null));
  child.unref();
  child.channel?.unref();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8');
    (stream as unknown as { unref(): void }).unref();
  }
  return child;
}

async function askHost(child: ChildProcess, options: CommandOptions): Promise<CommandResult> {
  const { cwd, args = [], env = {}, input = '' } = options;
  const ended = new AbortController();
  const { signal } = ended;
  const onExit = () => ended.abort();
  child.once('exit', onExit);
  try {
    const answered = Promise.all([
      once(child, 'message', { signal }),
      readToMark(child.stdout, signal),
      readToMark(child.stderr, signal),
    ]);
    child.send({ cwd, args, env, input });
    const [[code], stdout, stderr] = await answered;
    return { code: Number(code), signal: null, stdout, stderr };
  } finally {
    child.off('exit', onExit);
  }
}

async function readToMark(stream: Readable | null, signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const [data] of on(stream as Readable, 'data', { signal })) {
    text += String(data);
    if (text.split(MARK).length > 2) break;
  }
  return text.split(MARK)[1] ?? '';
}

/** Starts the built command on a free port of loopback, and waits until it is ready. */
export async function startCommand(options: CommandOptions): Promise<RunningCommand> {
  const args = ['start', '--port=0', ...(options.args ?? [])];
  const server = launch({ ...options, args });
  const url = await Promise.race([
    server.said(/^memory-service is ready: (\S+)\/admin$/m),
    server.ended.then(({ code, stderr }) => {
      throw new Error(`The command ended with ${String(code)}: ${stderr}`);
    }),
  ]);
  served.add(options.cwd);
  void server.ended.then(() => served.delete(options.cwd));
  const file = /(?:are|is) in (.*)$/m.exec(await server.settledOutput())?.[1];
  const kept =
    file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>);
  return {
    url,
    process: server.process,
    apiKey: options.env?.['SERVICE_API_KEY'] ?? kept['apiKey'] ?? '',
    adminSecret: options.env?.['SERVICE_ADMIN_SECRET'] ?? kept['adminSecret'] ?? '',
    stdout: server.stdout,
    stderr: server.stderr,
    ended: server.ended,
    stop(signal = 'SIGTERM') {
      server.process.kill(signal);
      return server.ended;
    },
  };
}

function launch({ cwd, args = [], env = {}, input, under = [], program: given }: CommandOptions) {
  if (!existsSync(BIN)) throw new Error('Nothing is built: run npm test, or npm run build.');
  // Nothing of the surroundings but what a process needs: no SERVICE_*, no npm_*.
  const built = given ?? [process.execPath, BIN];
  const [program, ...rest] = [...under, ...built, ...args] as [string, ...string[]];
  const process_ = spawn(program, rest, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command that reads no input may have ended before.
  process_.stdin.on('error', () => undefined).end(input);
  let stdout = '';
  let stderr = '';
  process_.stdout.setEncoding('utf8').on('data', (data: string) => (stdout += data));
  process_.stderr.setEncoding('utf8').on('data', (data: string) => (stderr += data));
  const ended = new Promise<CommandResult>((resolve) => {
    process_.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    process: process_,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    said(pattern: RegExp): Promise<string> {
      return new Promise((resolve) => {
        const look = () => {
          const match = pattern.exec(stdout)?.[1];
          if (match !== undefined) resolve(match);
        };
        process_.stdout.on('data', look);
        look();
      });
    },
    // The ready line and the one about secrets are one write, so that they arrive as one.
    settledOutput: () => Promise.resolve(stdout),
  };
}
