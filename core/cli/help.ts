import { printFlags } from '../config/print.ts';
import { SETTING_KEYS, settingOf } from '../config/settings.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import type { Command } from './command.ts';

/** Prints the output of `memory-service --help`. */
export function printHelp(commands: readonly (readonly [string, Command])[]): string {
  const secrets = SETTING_KEYS.filter((key) => settingOf(key).isSecret === true);
  return [
    `memory-service ${findPackageRoot().version}: agent memory that you can read, diff, blame and undo.`,
    '',
    'Usage: memory-service [command] [flags]',
    '',
    'Commands',
    ...commands.map(([name, { summary }]) => `  ${name.padEnd(18)}${summary}`),
    '',
    ...commands.flatMap(printOwnFlags),
    'Flags',
    '  -h, --help      Show this text.',
    '  -v, --version   Show the version.',
    '  --print-config  Show every setting, its value and where it came from; secrets are masked.',
    '  --config=<file> Read this file instead of memory.config.{ts,mjs,js,json}.',
    '',
    'Settings',
    ...printFlags(),
    '',
    'Each setting is an environment variable, too: --port is SERVICE_PORT. A flag overrides the',
    'environment, which overrides .env, which overrides the config file.',
    'Secrets are no flags, since every user of the machine can read a command line. Set:',
    ...secrets.map((key) => `  ${settingOf(key).env}`),
  ].join('\n');
}

/** Prints the output of `memory-service help verify` and `memory-service verify --help`. */
export function printCommandHelp(name: string, command: Command): string {
  const { summary, argument, isArgumentOptional, exitCodes } = command;
  const operand = isArgumentOptional ? ` [<${argument}>]` : ` <${argument}>`;
  return [
    summary,
    '',
    `Usage: memory-service ${name}${argument === undefined ? '' : operand} [flags]`,
    '',
    ...printOwnFlags([name, command]),
    ...(exitCodes === undefined ? [] : ['Exit codes', `  ${exitCodes}`, '']),
    'It takes the settings of memory-service --help, too: which database it is, say.',
  ].join('\n');
}

function printOwnFlags([command, { flags = {} }]: readonly [string, Command]): string[] {
  const named = Object.entries(flags).map(([name, { value, summary }]) => {
    return [value === null ? `--${name}` : `--${name}=<${value}>`, summary] as const;
  });
  const width = Math.max(16, ...named.map(([flag]) => flag.length + 2));
  const lines = named.map(([flag, summary]) => `  ${flag.padEnd(width)}${summary}`);
  return lines.length === 0 ? [] : [`Flags of ${command}`, ...lines, ''];
}
