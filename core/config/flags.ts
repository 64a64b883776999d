import { ConfigError, type Mistakes } from './error.ts';
import { nearest } from '../values/nearest.ts';
import type { SchemaFacts } from './option.ts';
import { SETTING_KEYS, flagOf, settingOf, type SettingKey } from './settings.ts';

/** The command line's flags, still as text. */
interface Flags {
  settings: ReadonlyMap<SettingKey, string>;
  /** `--config`. */
  config: string | null;
  /** `--print-config`, `--help`, `--version`, and those of sub-commands. */
  switches: ReadonlySet<string>;
  /** Arguments that are not flags, in order: the sub-command first. */
  words: readonly string[];
}

const SWITCHES = ['print-config', 'help', 'version'];
const SHORT = new Map([
  ['-h', '--help'],
  ['-v', '--version'],
]);

/**
 * Reads `--port 9000`, `--port=9000`, `--trust-proxy`, `--no-trust-proxy`. Collects a mistake for each
 * flag that is unknown, lacks its value, or has one where it takes none.
 */
export function readFlags(argv: readonly string[], mistakes: Mistakes): Flags {
  const settings = new Map<SettingKey, string>();
  const switches = new Set<string>();
  const words: string[] = [];
  let config: string | null = null;

  function readFlag(argument: string): void {
    const equals = argument.indexOf('=');
    const flag = equals < 0 ? argument : argument.slice(0, equals);
    const attached = equals < 0 ? null : argument.slice(equals + 1);
    const name = flag.replace(/^--?/, '');

    if (SWITCHES.includes(name)) {
      if (attached !== null) throw new ConfigError(null, `${flag} takes no value.`);
      switches.add(name);
    } else if (name === 'config') {
      config = attached ?? takeValue(flag, queue);
    } else {
      const { key, isNegated } = findSetting(name, flag);
      const isSwitch = (settingOf(key).schema as SchemaFacts).type === 'boolean';
      if (isNegated && attached !== null) throw new ConfigError(key, `${flag} takes no value.`);
      if (isNegated) settings.set(key, 'false');
      else settings.set(key, attached ?? (isSwitch ? 'true' : takeValue(flag, queue)));
    }
  }

  const queue = argv.map((argument) => SHORT.get(argument) ?? argument);
  for (let argument = queue.shift(); argument !== undefined; argument = queue.shift()) {
    if (argument === '--') {
      words.push(...queue);
      break;
    }
    if (!argument.startsWith('-') || argument === '-') {
      words.push(argument);
      continue;
    }
    mistakes.collect(() => readFlag(argument));
  }
  return { settings, config, switches, words };
}

function takeValue(flag: string, queue: string[]): string {
  const value = queue.shift();
  if (value !== undefined && !value.startsWith('--')) return value;
  throw new ConfigError(null, `${flag} needs a value, as in ${flag}=….`);
}

function findSetting(name: string, flag: string): { key: SettingKey; isNegated: boolean } {
  const isBoolean = (key: SettingKey) => (settingOf(key).schema as SchemaFacts).type === 'boolean';
  for (const key of SETTING_KEYS) {
    if (name === flagOf(key) && flag.startsWith('--')) {
      const { isSecret, env } = settingOf(key);
      if (isSecret !== true) return { key, isNegated: false };
      throw new ConfigError(
        key,
        `${flag} is no flag, since every user of the machine can read a command line: set ${env}.`,
      );
    }
    if (name === `no-${flagOf(key)}` && isBoolean(key)) return { key, isNegated: true };
  }
  const known = SETTING_KEYS.filter((key) => settingOf(key).isSecret !== true).map(flagOf);
  const meant = nearest(name, [...known, ...SWITCHES, 'config']);
  throw new ConfigError(
    null,
    `${flag} is not known. ${meant === null ? 'memory-service --help lists the flags.' : `Did you mean --${meant}?`}`,
  );
}
