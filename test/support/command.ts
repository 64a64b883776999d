import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Runs the built command, as an installed one runs, until it ends. */
export function runCommand(options: CommandOptions): Promise<CommandResult> {
  return launch(options).ended;
}

/** Starts the built command on a free port of loopback, and waits until it is ready. */
export async function startCommand(options: CommandOptions): Promise<RunningCommand> {
  const args = ['start', '--port=0', ...(options.args ?? [])];
  const launched = launch({ ...options, args });
  const url = await Promise.race([
    launched.said(/^memory-service is ready: (\S+)\/admin$/m),
    launched.ended.then(({ code, stderr }) => {
      throw new Error(`The command ended with ${String(code)}: ${stderr}`);
    }),
  ]);
  const file = /(?:are|is) in (.*)$/m.exec(await launched.settledOutput())?.[1];
  const kept =
    file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>);
  return {
    url,
    process: launched.process,
    apiKey: options.env?.['SERVICE_API_KEY'] ?? kept['apiKey'] ?? '',
    adminSecret: options.env?.['SERVICE_ADMIN_SECRET'] ?? kept['adminSecret'] ?? '',
    stdout: launched.stdout,
    stderr: launched.stderr,
    ended: launched.ended,
    stop(signal = 'SIGTERM') {
      launched.process.kill(signal);
      return launched.ended;
    },
  };
}

function launch({ cwd, args = [], env = {}, under = [], program: given }: CommandOptions) {
  if (!existsSync(BIN)) throw new Error('Nothing is built: run npm test, or npm run build.');
  // Nothing of the surroundings but what a process needs: no SERVICE_*, no npm_*.
  const built = given ?? [process.execPath, BIN];
  const [program, ...rest] = [...under, ...built, ...args] as [string, ...string[]];
  const process_ = spawn(program, rest, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
