import { code, page, table } from './markdown.mjs';

/**
 * @param {typeof import('../../core/config/settings.ts')} settings
 * @param {typeof import('../../core/config/option.ts')} option
 */
export function renderConfiguration({ SETTING_KEYS, settingOf }, { describeAllowed }) {
  const secrets = SETTING_KEYS.filter((key) => settingOf(key).isSecret === true);
  return page('Configuration', 'core/config/settings.ts', [
    'How these are given, and which one wins: [Configuration](../guides/configuration.md). A dot in ' +
      'a key is a level of nesting in `memory.config`.',
    table(
      ['variable', 'key', 'default', 'meaning', 'allowed'],
      SETTING_KEYS.map((key) => {
        const { env, default: byDefault, description } = settingOf(key);
        const isUnset = byDefault === null || byDefault === '';
        const shown = isUnset ? 'unset' : code(String(byDefault));
        return [code(env), code(key), shown, description, describeAllowed(settingOf(key))];
      }),
    ),
    'Each one is a flag of the command too: the variable without `SERVICE_`, in lower case with ' +
      'dashes, as in `--max-file-bytes 65536`. These are secrets and have no flag: ' +
      `${secrets.map((key) => code(settingOf(key).env)).join(', ')}.`,
    '`SERVICE_CONFIG` or `--config` names the config file.',
  ]);
}
