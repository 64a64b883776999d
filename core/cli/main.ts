import { loadConfig } from '../config/index.ts';
import { ConfigError, Mistakes } from '../config/error.ts';
import { readFlags } from '../config/flags.ts';
import { nearest } from '../config/nearest.ts';
import { printConfig } from '../config/print.ts';
import { EXIT_CONFIG, EXIT_FAILED, explainFailure } from './failure.ts';
import { printCommandHelp, printHelp } from './help.ts';
import { type OwnFlag, takeOwnFlags } from './own-flags.ts';
import { readVersion } from './version.ts';

/** A sub-command: a file of its name beside this one, imported when it runs. */
export interface Command {
  summary: string;
  /** Those that no setting has. */
  flags?: Readonly<Record<string, OwnFlag>>;
  /** What the help calls its argument, for one that takes one. */
  argument?: string;
  load(): Promise<(context: CommandContext) => Promise<void>>;
}

/** What a sub-command gets: the command line without its own name, and the surroundings. */
export interface CommandContext {
  argv: readonly string[];
  /** The sub-command's own flags, taken out of `argv`. */
  flags: ReadonlyMap<string, string>;
  /** The sub-command's argument, for one that takes one. */
  argument: string | null;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  start: {
    summary: 'Serve the tools API, the admin API and the console. The default.',
    flags: {
      demo: { value: null, summary: 'Fill a fresh database of its own with a team’s memory.' },
    },
    load: async () => (await import('./start.ts')).start,
  },
  reindex: {
    summary: 'Make the search index anew, with progress; asks the server when one is running.',
    flags: {
      embeddings: { value: null, summary: 'Make the vectors of all passages anew instead.' },
    },
    load: async () => (await import('./reindex.ts')).reindex,
  },
  migrate: {
    summary: 'Bring the database to the schema of this version.',
    flags: { 'dry-run': { value: null, summary: 'List the steps, and run none of them.' } },
    load: async () => (await import('./migrate.ts')).migrate,
  },
  backup: {
    summary: 'Copy a SQLite database into a file while it is served.',
    argument: 'file',
    flags: { force: { value: null, summary: 'Replace the file when it exists.' } },
    load: async () => (await import('./backup.ts')).backup,
  },
  verify: {
    summary: 'Look whether all that was acknowledged is there, and changes nothing.',
    flags: { json: { value: null, summary: 'Print what was found as JSON.' } },
    load: async () => (await import('./verify.ts')).verify,
  },
  prune: {
    summary: 'Remove what is past its retention, as a server does once an hour.',
    flags: { 'dry-run': { value: null, summary: 'Count it, and remove nothing.' } },
    load: async () => (await import('./prune.ts')).prune,
  },
  mcp: {
    summary: 'Serve one user’s memory over MCP on standard input and output.',
    flags: {
      user: { value: 'id', summary: 'Whose memory it is. Required.' },
      actor: { value: 'name', summary: 'Who reads and writes, in the access log; default agent.' },
      tools: {
        value: 'names',
        summary: 'Offer only these tools, with commas; default all usable.',
      },
      'read-only': { value: null, summary: 'Offer only the tools that change nothing.' },
    },
    load: async () => (await import('./mcp.ts')).mcp,
  },
};

/**
 * Runs the `memory-service` command on this process: its arguments, environment, streams and
 * signals. A failure is one line on standard error: exit code 78 when the configuration is at
 * fault, else 1.
 */
export async function runCommand(): Promise<void> {
  try {
    const argv = process.argv.slice(2);
    const { env } = process;
    await dispatch({ argv, flags: new Map(), argument: null, env, cwd: process.cwd() });
  } catch (error) {
    process.stderr.write(`memory-service: ${explainFailure(error)}\n`);
    // At once: what was opened before the failure would keep the process alive.
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILED);
  }
}

async function dispatch(given: CommandContext): Promise<void> {
  const likely = given.argv.find((argument) => Object.hasOwn(COMMANDS, argument)) ?? '';
  const { values: flags, rest: argvOfSettings } = takeOwnFlags(
    given.argv,
    COMMANDS[likely]?.flags ?? {},
  );
  const context = { ...given, argv: argvOfSettings, flags };
  // Wrong flags are collected again by the command, with the other mistakes of the configuration.
  const mistakes = new Mistakes();
  const { switches, words } = readFlags(context.argv, mistakes);
  if (words[0] === 'help' || switches.has('help') || switches.has('version')) mistakes.throwIfAny();
  if (words[0] === 'help') return print(helpOf(words[1] ?? null));
  if (switches.has('help')) return print(helpOf(words[0] ?? null));
  if (switches.has('version')) return print(readVersion());

  const [name = 'start', ...rest] = words;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const meant = nearest(name, Object.keys(COMMANDS));
    const hint =
      meant === null ? 'memory-service --help lists the commands.' : `Did you mean ${meant}?`;
    throw new ConfigError(null, `${name} is not a command. ${hint}`);
  }
  // A value of another flag looked like a command: its own flags are not known here.
  if (flags.size > 0 && name !== likely) {
    readFlags(given.argv, mistakes);
    mistakes.throwIfAny();
  }
  const argument = takeArgument(name, command, rest);

  const argv = withoutFirst(withoutFirst(context.argv, words[0]), argument ?? undefined);
  if (switches.has('print-config'))
    return print(printConfig(await loadConfig({ ...context, argv })));
  const run = await command.load();
  await run({ ...context, argument, argv });
}

/** Of one command, where it is one. */
function helpOf(name: string | null): string {
  const command = name !== null && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return name === null || command === undefined
    ? printHelp(COMMANDS)
    : printCommandHelp(name, command);
}

function takeArgument(name: string, command: Command, rest: readonly string[]): string | null {
  const [first, second] = rest;
  const extra = command.argument === undefined ? first : second;
  if (extra !== undefined) throw new ConfigError(null, `${name} takes no argument ${extra}.`);
  if (command.argument === undefined) return null;
  if (first !== undefined) return first;
  throw new ConfigError(
    null,
    `${name} needs a ${command.argument}: memory-service ${name} <${command.argument}>.`,
  );
}

function withoutFirst(argv: readonly string[], word: string | undefined): readonly string[] {
  const index = word === undefined ? -1 : argv.indexOf(word);
  return index < 0 ? argv : argv.toSpliced(index, 1);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
