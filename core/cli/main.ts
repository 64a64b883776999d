import { loadConfig } from '../config/index.ts';
import { ConfigError, Mistakes } from '../config/error.ts';
import { readFlags } from '../config/flags.ts';
import { nearest } from '../values/nearest.ts';
import { printConfig } from '../config/print.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import type { Command, CommandContext } from './command.ts';
import { EXIT_CONFIG, EXIT_FAILED, explainFailure } from './failure.ts';
import { printCommandHelp, printHelp } from './help.ts';
import { takeOwnFlags } from './own-flags.ts';
import { takeStreams, writeOutput } from './streams.ts';

/** Imported on demand, so that a command loads only the code that it needs. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./start.ts')).start,
  reindex: async () => (await import('./reindex.ts')).reindex,
  migrate: async () => (await import('./migrate.ts')).migrate,
  backup: async () => (await import('./backup.ts')).backup,
  copy: async () => (await import('./copy.ts')).copy,
  export: async () => (await import('./export.ts')).exportCommand,
  import: async () => (await import('./import.ts')).importCommand,
  mount: async () => (await import('./mount.ts')).mount,
  check: async () => (await import('./check.ts')).check,
  eval: async () => (await import('./eval.ts')).evalCommand,
  verify: async () => (await import('./verify.ts')).verify,
  freeze: async () => (await import('./freeze.ts')).freeze,
  keys: async () => (await import('./keys.ts')).keys,
  'spaces list': async () => (await import('./spaces.ts')).listSpaces,
  'spaces create': async () => (await import('./spaces.ts')).createSpace,
  'spaces show': async () => (await import('./spaces.ts')).showSpace,
  'spaces archive': async () => (await import('./spaces.ts')).archiveSpace,
  'spaces erase': async () => (await import('./spaces.ts')).eraseSpace,
  'spaces restore': async () => (await import('./spaces.ts')).restoreSpace,
  'operators list': async () => (await import('./operators.ts')).listOperators,
  'operators create': async () => (await import('./operators.ts')).createOperator,
  'operators rotate': async () => (await import('./operators.ts')).rotateOperator,
  'operators revoke': async () => (await import('./operators.ts')).revokeOperator,
  thaw: async () => (await import('./thaw.ts')).thaw,
  redact: async () => (await import('./redact.ts')).redact,
  erase: async () => (await import('./erase.ts')).erase,
  vacuum: async () => (await import('./vacuum.ts')).vacuum,
  prune: async () => (await import('./prune.ts')).prune,
  log: async () => (await import('./history/log.ts')).log,
  show: async () => (await import('./history/show.ts')).show,
  blame: async () => (await import('./history/blame.ts')).blame,
  readers: async () => (await import('./history/readers.ts')).readers,
  diff: async () => (await import('./history/diff.ts')).diff,
  search: async () => (await import('./search.ts')).search,
  revert: async () => (await import('./history/revert.ts')).revert,
  restore: async () => (await import('./history/restore.ts')).restore,
  release: async () => (await import('./release.ts')).release,
  embedder: async () => (await import('./embedder/embedder.ts')).embedder,
  doctor: async () => (await import('./doctor.ts')).doctor,
  mcp: async () => (await import('./mcp.ts')).mcp,
  new: async () => (await import('./new.ts')).newCommand,
};

/**
 * Runs the `memory-service` command with this process's arguments, environment, streams and
 * signals. On failure it prints one line to standard error and exits with code 78 for a wrong
 * configuration, else 1.
 */
export async function runCommand(): Promise<void> {
  try {
    const argv = process.argv.slice(2);
    const { env } = process;
    await dispatch({ argv, flags: new Map(), argument: null, env, cwd: process.cwd() });
  } catch (error) {
    process.stderr.write(`memory-service: ${explainFailure(error)}\n`);
    // Exits at once: anything opened before the failure would keep the process alive.
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : EXIT_FAILED);
  }
}

async function dispatch(given: CommandContext): Promise<void> {
  const likely = findLikely(given.argv);
  const ownFlags = (await findCommand(likely))?.flags ?? {};
  const { values: flags, rest: argvOfSettings } = takeOwnFlags(given.argv, ownFlags);
  const context = { ...given, argv: argvOfSettings, flags };
  // The command reports wrong flags again, together with other mistakes of the configuration.
  const mistakes = new Mistakes();
  const { switches, words } = readFlags(context.argv, mistakes);
  if (words[0] === 'help' || switches.has('help') || switches.has('version')) mistakes.throwIfAny();
  if (words[0] === 'help') return writeOutput(`${await helpOf(nameOf(words.slice(1)))}\n`);
  if (switches.has('help')) return writeOutput(`${await helpOf(nameOf(words))}\n`);
  if (switches.has('version')) return writeOutput(`${findPackageRoot().version}\n`);

  const name = nameOf(words) ?? 'start';
  const own = name.split(' ');
  const rest = words.slice(own.length);
  const command = await findCommand(name);
  if (command === null) {
    const actions = actionsOf(name);
    if (actions.length > 0) {
      throw new ConfigError(null, `${name} needs one of ${actions.join(', ')} behind it.`);
    }
    const suggestion = nearest(name, Object.keys(COMMANDS));
    const hint =
      suggestion === null
        ? 'memory-service --help lists the commands.'
        : `Did you mean ${suggestion}?`;
    throw new ConfigError(null, `${name} is not a command. ${hint}`);
  }
  // What looked like a command was the value of an unknown flag.
  if (flags.size > 0 && name !== likely) {
    readFlags(given.argv, mistakes);
    mistakes.throwIfAny();
  }
  const argument = takeArgument({ name, command, rest });

  const argv = [...words.slice(0, own.length), argument ?? undefined].reduce(
    withoutFirst,
    context.argv,
  );
  const isPrintConfig = switches.has('print-config');
  // What a server prints is for people.
  if (name !== 'start' || isPrintConfig) takeStreams();
  if (isPrintConfig) {
    return writeOutput(`${await printConfig(await loadConfig({ ...context, argv }))}\n`);
  }
  await command.run({ ...context, argument, argv });
}

/** The command that the first words name: two words, as in `spaces list`, or one. */
function nameOf(words: readonly string[]): string | undefined {
  const pair = words.slice(0, 2).join(' ');
  return Object.hasOwn(COMMANDS, pair) ? pair : words[0];
}

/** The second words of commands that start with this one. */
function actionsOf(first: string): string[] {
  return Object.keys(COMMANDS)
    .filter((name) => name.startsWith(`${first} `))
    .map((name) => name.slice(first.length + 1));
}

/** The command that a command line seems to name, before its flags are known. */
function findLikely(argv: readonly string[]): string {
  const first = argv.findIndex(
    (argument) => Object.hasOwn(COMMANDS, argument) || actionsOf(argument).length > 0,
  );
  const word = argv[first] ?? '';
  const action = actionsOf(word).find((each) => argv.slice(first + 1).includes(each));
  return action === undefined ? word : `${word} ${action}`;
}

async function findCommand(name: string): Promise<Command | null> {
  return Object.hasOwn(COMMANDS, name) ? ((await COMMANDS[name]?.()) ?? null) : null;
}

/** The help of one command, or the general help. */
async function helpOf(name = ''): Promise<string> {
  const command = await findCommand(name);
  if (command !== null) return printCommandHelp(name, command);
  const entries = Object.entries(COMMANDS).map(
    async ([each, load]) => [each, await load()] as const,
  );
  return printHelp(await Promise.all(entries));
}

function takeArgument({
  name,
  command,
  rest,
}: {
  name: string;
  command: Command;
  rest: readonly string[];
}): string | null {
  const [first, second] = rest;
  const extra = command.argument === undefined ? first : second;
  if (extra !== undefined) throw new ConfigError(null, `${name} takes no argument ${extra}.`);
  if (command.argument === undefined) return null;
  if (first !== undefined || command.isArgumentOptional) return first ?? null;
  throw new ConfigError(
    null,
    `${name} needs a ${command.argument}: memory-service ${name} <${command.argument}>.`,
  );
}

function withoutFirst(argv: readonly string[], word: string | undefined): readonly string[] {
  const index = word === undefined ? -1 : argv.indexOf(word);
  return index < 0 ? argv : argv.toSpliced(index, 1);
}
