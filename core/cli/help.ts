import { printFlags } from '../config/print.ts';
import { SETTING_KEYS, settingOf } from '../config/settings.ts';
import { findPackageRoot } from '../package-root.ts';
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
    ...commands.map(([name, { summary }]) => `  ${name.padEnd(16)}${summary}`),
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
  const { summary, argument } = command;
  return [
    summary,
    '',
    `Usage: memory-service ${name}${argument === undefined ? '' : ` <${argument}>`} [flags]`,
    '',
    ...printOwnFlags([name, command]),
    'It takes the settings of memory-service --help, too: which database it is, say.',
  ].join('\n');
}

function printOwnFlags([command, { flags = {} }]: readonly [string, Command]): string[] {
  const lines = Object.entries(flags).map(([name, { value, summary }]) => {
    const flag = value === null ? `--${name}` : `--${name}=<${value}>`;
    return `  ${flag.padEnd(16)}${summary}`;
  });
  return lines.length === 0 ? [] : [`Flags of ${command}`, ...lines, ''];
}
