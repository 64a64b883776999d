import { code, page, table } from './markdown.mjs';

/**
 * @param {typeof import('../../core/config/settings.ts')} settings
 * @param {typeof import('../../core/config/option.ts')} option
 * @param {Readonly<Record<string, import('../../core/config/option.ts').OptionTable>>} plugins
 *   the option table of each plugin, by the plugin's name
 */
export function renderConfiguration({ SETTING_KEYS, settingOf }, { describeAllowed }, plugins) {
  const secrets = SETTING_KEYS.filter((key) => settingOf(key).isSecret === true);
  return page('Configuration', 'core/config/settings.ts', [
    'How these are given, and which one wins: [Configuration](../guides/configuration.md). A dot in ' +
      'a key is a level of nesting in `memory.config`.',
    table(
      ['variable', 'key', 'default', 'meaning', 'allowed'],
      SETTING_KEYS.map((key) => {
        const { env, default: byDefault, description } = settingOf(key);
        const allowed = describeAllowed(settingOf(key));
        return [code(env), code(key), showDefault(byDefault), description, allowed];
      }),
    ),
    'Each one is a flag of the command too: the variable without `SERVICE_`, in lower case with ' +
      'dashes, as in `--max-file-bytes 65536`. These are secrets and have no flag: ' +
      `${secrets.map((key) => code(settingOf(key).env)).join(', ')}.`,
    '`SERVICE_CONFIG` or `--config` names the config file.',
    ...Object.entries(plugins).flatMap(([plugin, options]) => [
      `## Options of ${code(plugin)}`,
      table(
        ['option', 'default', 'meaning', 'allowed'],
        Object.entries(options).map(([name, option]) => {
          const shown = option.isRequired === true ? 'required' : showDefault(option.default);
          return [code(name), shown, option.description, describeAllowed(option)];
        }),
      ),
    ]),
  ]);
}

/** @param {unknown} value */
function showDefault(value) {
  const isUnset = value === null || value === '' || typeof value === 'object';
  return isUnset ? 'unset' : code(String(value));
}
