import { ConfigError } from '../config/error.ts';

/** A flag that only one sub-command has. */
export interface OwnFlag {
  /** The name of its value in the help; `null` for a switch. */
  value: string | null;
  summary: string;
}

/**
 * Takes a sub-command's flags out of the command line; the rest are settings. Throws a
 * `ConfigError` for a flag that lacks its value, has one but takes none, or is repeated.
 */
export function takeOwnFlags(
  argv: readonly string[],
  flags: Readonly<Record<string, OwnFlag>>,
): { values: ReadonlyMap<string, string>; rest: readonly string[] } {
  const values = new Map<string, string>();
  const rest: string[] = [];
  const queue = [...argv];
  for (let argument = queue.shift(); argument !== undefined; argument = queue.shift()) {
    const [, name = '', attached] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (argument === '--') {
      rest.push(argument, ...queue);
      break;
    }
    if (flag === undefined) {
      rest.push(argument);
      continue;
    }
    if (values.has(name)) throw new ConfigError(null, `--${name} comes twice.`);
    values.set(
      name,
      flag.value === null ? takeNone(name, attached) : takeOne(name, attached, queue),
    );
  }
  return { values, rest };
}

function takeNone(name: string, attached: string | undefined): string {
  if (attached === undefined) return 'true';
  throw new ConfigError(null, `--${name} takes no value.`);
}

function takeOne(name: string, attached: string | undefined, queue: string[]): string {
  const value = attached ?? queue.shift();
  if (value !== undefined && value !== '' && (attached !== undefined || !value.startsWith('--'))) {
    return value;
  }
  throw new ConfigError(null, `--${name} needs a value, as in --${name}=….`);
}
