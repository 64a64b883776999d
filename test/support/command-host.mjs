// One process that runs commands one after another, for test/support/command.ts: each as bin.cjs
// runs it, with its own arguments, environment and directory. Standard output and error are those of
// this process, and MARK stands before and behind a command's part of them.

import { writeSync } from 'node:fs';
import { runCommand } from '../../dist/core/cli/main.js';

const MARK = '\0\n';
const own = { ...process.env };
const umask = process.umask();

/** Standard input of one command after another: a stream ends only once. */
const stdin = {
  text: '',
  isTTY: false,
  setEncoding: () => stdin,
  async *[Symbol.asyncIterator]() {
    if (stdin.text !== '') yield stdin.text;
  },
};
Object.defineProperty(process, 'stdin', { value: stdin });

/** The exit that a command asked for. */
class Exit extends Error {
  /** @param {number} code */
  constructor(code) {
    super('exit');
    this.code = code;
  }
}

process.exit = (code) => {
  throw new Exit(Number(code ?? 0));
};

process.on('message', (given) => {
  const { args, ...surroundings } =
    /** @type {{ args: string[], env: NodeJS.ProcessEnv, cwd: string, input: string }} */ (given);
  void run(args, surroundings);
});
// The worker of the tests is gone.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

/**
 * @param {string[]} args
 * @param {{ env: NodeJS.ProcessEnv, cwd: string, input: string }} surroundings
 */
async function run(args, { env, cwd, input }) {
  stdin.text = input;
  process.argv = [...process.argv.slice(0, 2), ...args];
  process.env = { ...own, ...env };
  process.chdir(cwd);
  mark();
  const code = await runCommand().then(
    () => Number(process.exitCode ?? 0),
    (error) => {
      if (error instanceof Exit) return error.code;
      throw error;
    },
  );
  process.exitCode = undefined;
  process.umask(umask);
  process.chdir('/');
  process.send?.(code);
  mark();
}

function mark() {
  writeSync(1, MARK);
  writeSync(2, MARK);
}
