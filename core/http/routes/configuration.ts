import { type ShownSetting, showValue } from '../../config/shown.ts';
import { flagOf, SETTING_KEYS, type SettingKey, settingOf } from '../../config/settings.ts';
import type { RouteDefinition } from '../../contracts/route.ts';
import { AdminConfiguration, type ConfiguredSetting } from '../../schemas/configuration.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';

/** What is set, and where it comes from. */
export function configurationRoutes({
  configuration,
}: Pick<Core, 'configuration'>): RouteDefinition[] {
  const isOfCode = configuration.settings.some(({ source }) => source === 'code');
  const answer: AdminConfiguration = {
    file: configuration.file,
    settings: configuration.settings.map((setting) => toConfigured(setting, isOfCode)),
    warnings: [...configuration.warnings],
  };
  return [
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/configuration',
      role: 'admin',
      summary: 'Read the configuration',
      description:
        'Each setting with its value and where it comes from, as memory-service --print-config prints them. Secrets are masked. Of the instance that answers, as it was started: a change needs a restart.',
      resultSchema: AdminConfiguration,
      handle: () => answer,
    }),
  ];
}

function toConfigured(setting: ShownSetting, isOfCode: boolean): ConfiguredSetting {
  const key = SETTING_KEYS.find((known) => known === setting.key);
  return { ...setting, ...(key === undefined ? UNKNOWN : toFacts(key, isOfCode)) };
}

const UNKNOWN = { description: null, default: null, allowed: null, env: null, flag: null };

function toFacts(key: SettingKey, isOfCode: boolean) {
  const { default: byDefault, description, allowed = null, env, isSecret } = settingOf(key);
  return {
    description,
    default: showValue(key, byDefault),
    allowed,
    env: isOfCode ? null : env,
    flag: isOfCode || isSecret === true ? null : `--${flagOf(key)}`,
  };
}
