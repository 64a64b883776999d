import Type, { type Static } from 'typebox';
import { nullable, strictObject, text } from './shapes.ts';

/** A setting or a part of the configuration. */
export const ConfiguredSetting = strictObject({
  key: text(
    'As in memory.config, as limits.maxFileBytes; or the name of a part: storage, model, proxy.',
  ),
  value: nullable(
    text('In effect; ******** for a secret, whose text is never told; null where it is not set.'),
  ),
  source: Type.Enum(['default', 'file', '.env', 'environment', 'flag', 'code'], {
    description: 'Where it comes from. code: the argument of createMemoryService.',
  }),
  origin: nullable(text('Its name there, as SERVICE_PORT, --port or memory.config.json.')),
  description: nullable(text('What it does; null for a part.')),
  default: nullable(text('The value without a setting; null for none.')),
  allowed: nullable(text('The allowed values, where they need words.')),
  env: nullable(
    text('The environment variable; null for a part, and where the service reads no environment.'),
  ),
  flag: nullable(text('The flag of memory-service start; null for a secret, too.')),
});
export type ConfiguredSetting = Static<typeof ConfiguredSetting>;

/** What is set, and where it comes from: as `--print-config` prints it. */
export const AdminConfiguration = strictObject({
  file: nullable(text('The path of the config file; null without one.')),
  settings: Type.Array(ConfiguredSetting, {
    description: 'All settings of the instance that answers, then the parts.',
  }),
  warnings: Type.Array(Type.String(), { description: 'What was set and has no effect.' }),
});
export type AdminConfiguration = Static<typeof AdminConfiguration>;
