import type { ConfiguredSetting } from '../../core/contracts/admin.ts';

/** Settings that belong together. */
export interface SettingGroup {
  label: string;
  settings: readonly ConfiguredSetting[];
}

/** The groups in their order, with keys, or beginnings of keys that end in a dot. */
const GROUPS: readonly (readonly [label: string, keys: readonly string[]])[] = [
  [
    'Server',
    ['host', 'port', 'basePath', 'allowedHosts', 'trustProxy', 'docsPath', 'logLevel', 'proxy'],
  ],
  ['Database', ['databaseUrl', 'storage']],
  [
    'Access',
    ['apiKey', 'adminSecret', 'operatorHeader', 'operatorRoles', 'proxySecret', 'auditReads'],
  ],
  [
    'Model',
    ['model', 'model.', 'verifier', 'verifier.', 'replyTokens', 'modelContext', 'modelPrompts'],
  ],
  ['Search', ['embedder', 'embedder.', 'search.']],
  [
    'Memory and tools',
    [
      'timeZone',
      'inboxPath',
      'sharedWrites',
      'memoryStores',
      'mcpResourceMetadata',
      'tools.',
      'context.',
    ],
  ],
  ['Limits', ['limits.', 'rateLimit']],
  ['Screening', ['screen.']],
  ['Dreaming', ['dream.']],
  ['Watch', ['sla.', 'checksAt', 'exporters']],
  ['Retention', ['retention.']],
];
const REST = 'Other';

/** The settings by what they are about; groups without one are left out. */
export function groupSettings(settings: readonly ConfiguredSetting[]): SettingGroup[] {
  const groupOf = ({ key }: ConfiguredSetting) =>
    GROUPS.find(([, keys]) =>
      keys.some((one) => (one.endsWith('.') ? key.startsWith(one) : key === one)),
    )?.[0] ?? REST;
  return [...GROUPS.map(([label]) => label), REST]
    .map((label) => ({ label, settings: settings.filter((one) => groupOf(one) === label) }))
    .filter((group) => group.settings.length > 0);
}

/** Where a value comes from, in words. */
export function tellSource({ source, origin, key }: ConfiguredSetting): string {
  switch (source) {
    case 'default':
      return 'default';
    case 'environment':
      return `environment, ${origin ?? ''}`;
    case '.env':
      return `.env, ${origin ?? ''}`;
    case 'flag':
      return `flag ${origin ?? ''}`;
    case 'file':
      return origin ?? 'config file';
    case 'code':
      return `code, ${key}`;
  }
}

/** Whether a setting, or what is said of it, has a text. */
export function hasText(setting: ConfiguredSetting, text: string): boolean {
  const { key, value, description, env, flag } = setting;
  const all = [key, value, description, env, flag].filter((one) => one !== null).join('\n');
  return all.toLowerCase().includes(text.trim().toLowerCase());
}
