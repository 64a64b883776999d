/**
 * The JSON Schema of `memory.config.json`, for editors: `"$schema": "…/memory.config.schema.json"`. The
 * service checks the file by the same definitions, and more: rules that a schema can't express.
 *
 * @param {typeof import('../../core/config/settings.ts')} settings
 * @param {typeof import('../../core/config/option.ts')} option
 */
export function renderConfigSchema({ SETTING_KEYS, settingOf }, { describeAllowed }) {
  /** @type {Record<string, any>} */
  const properties = {
    $schema: { type: 'string', description: 'Where this schema is, for editors.' },
    storage: { ...PLUGIN, description: 'The database; default SERVICE_DATABASE_URL.' },
    plugins: { ...PLUGINS, description: 'Plugins beside those that come with the service.' },
    exporters: { ...PLUGINS, description: 'Where traces go.' },
  };
  for (const key of SETTING_KEYS) {
    const setting = settingOf(key);
    const { schema, description, default: byDefault } = setting;
    const allowed = describeAllowed(setting);
    const value = {
      description: allowed === '' ? description : `${description} Allowed: ${allowed}.`,
      anyOf: [schema, { type: 'null' }],
      ...(byDefault === null || byDefault === '' ? {} : { default: byDefault }),
    };
    const [group = '', leaf] = key.split('.');
    if (leaf === undefined) properties[group] = value;
    else {
      properties[group] ??= { type: 'object', additionalProperties: false, properties: {} };
      properties[group].properties[leaf] = value;
    }
  }
  for (const part of ['model', 'verifier', 'embedder']) {
    properties[part] = { anyOf: [properties[part], PLUGIN, { type: 'null' }] };
  }
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'memory.config.json',
    description:
      'The configuration of memory-service. Each setting has an environment variable, too.',
    type: 'object',
    additionalProperties: false,
    properties,
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const NAMED = {
  type: 'object',
  additionalProperties: false,
  required: ['plugin'],
  properties: {
    plugin: {
      type: 'string',
      description: 'A plugin of the service as storage-mysql, a package, or a file as ./mine.mjs.',
    },
    options: { type: 'object', description: 'What the plugin takes.' },
  },
};
const PLUGIN = { anyOf: [{ type: 'string' }, NAMED, { type: 'null' }] };
const PLUGINS = { type: ['array', 'null'], items: { anyOf: [{ type: 'string' }, NAMED] } };
