import Type, { type Static, type TObject } from 'typebox';
import type { AuditCaller, Host } from '../../core/contracts/plugin.ts';
import { toCount } from '../../core/encoding/setting-count.ts';
import { readAfterWrite } from '../../core/errors.ts';
import { nullable } from '../../core/schemas/shapes.ts';
import { SETTING_BOUNDS } from './setting-bounds.ts';
import { MIN_RUN_TOKENS } from './tokens.ts';
import { isWindow, WINDOW_PATTERN } from './window.ts';

const integer = (setting: keyof typeof SETTING_BOUNDS, description: string) => {
  const { min: minimum, max: maximum } = SETTING_BOUNDS[setting];
  return Type.Integer({ minimum, maximum, description });
};

/** One schema a setting, for the routes and for the rows of `svc_config`, which have these names. */
export const SETTING_SCHEMAS = {
  dream_enabled: Type.Boolean({ description: 'The switch while the service runs.' }),
  dream_interval_minutes: integer('dream_interval_minutes', 'How often users are looked for.'),
  dream_grace_period_minutes: integer(
    'dream_grace_period_minutes',
    'Quiet time after the last qualifying write.',
  ),
  dream_max_writes: integer(
    'dream_max_writes',
    'Writes of one run, the entry of the log included.',
  ),
  dream_concurrency: integer('dream_concurrency', 'Users that are dreamed at once.'),
  dream_mode: Type.Enum(['auto', 'review'], {
    type: 'string',
    description: 'auto applies what is safe; in review, all waits for a person.',
  }),
  dream_window: nullable(Type.String({ pattern: WINDOW_PATTERN }), {
    description:
      'When runs begin, in the time zone of the service, as in 22:30-05:00; null is always. A run by hand begins at any time.',
  }),
  dream_waiting_days: integer('dream_waiting_days', 'How long an operation waits for a person.'),
  dream_max_tokens_per_user_day: integer(
    'dream_max_tokens_per_user_day',
    'Tokens of the model for one user on one day in UTC; 0 is no limit.',
  ),
  dream_max_tokens_per_day: integer(
    'dream_max_tokens_per_day',
    'Tokens of the model for all users and spaces together on one day in UTC; 0 is no limit.',
  ),
  dream_max_reply_tokens: integer(
    'dream_max_reply_tokens',
    'Tokens of one reply of a model, with what it thinks.',
  ),
  dream_run_timeout_seconds: integer('dream_run_timeout_seconds', 'How long one run may take.'),
  dream_require_exam: Type.Boolean({
    description: 'What needs a verdict waits until the models have been examined.',
  }),
};

/** What an operator can change while the service runs. */
export type DreamSettings = Static<TObject<typeof SETTING_SCHEMAS>>;

/** The values of settings that nobody has set. */
const DEFAULT_DREAM_SETTINGS: DreamSettings = {
  dream_enabled: true,
  dream_interval_minutes: 60,
  dream_grace_period_minutes: 30,
  dream_max_writes: 10,
  dream_concurrency: 3,
  dream_mode: 'auto',
  dream_window: null,
  dream_waiting_days: 30,
  dream_max_tokens_per_user_day: 200_000,
  dream_max_tokens_per_day: 20_000_000,
  dream_max_reply_tokens: 32_000,
  dream_run_timeout_seconds: 600,
  dream_require_exam: false,
};

/**
 * The value of a setting whose row cannot be read, and of which no good value is known. The row may
 * have been set to restrict dreaming. So no run begins, nothing is written without a person's look,
 * and as few tokens as possible are used.
 */
const SAFE_DREAM_SETTINGS: DreamSettings = {
  ...DEFAULT_DREAM_SETTINGS,
  dream_enabled: false,
  dream_max_writes: 1,
  dream_concurrency: 1,
  dream_mode: 'review',
  dream_window: '00:00-00:01',
  dream_max_tokens_per_user_day: MIN_RUN_TOKENS,
  dream_max_tokens_per_day: MIN_RUN_TOKENS,
  dream_require_exam: true,
};

const KEYS = Object.keys(SETTING_SCHEMAS) as (keyof DreamSettings)[];
const PREFIX = 'dream_';
/** The setting that counts the changes of the others. */
const VERSION = 'dream_version';

/** The settings as they are in the database. */
export interface SettingsReader {
  /**
   * The settings now. For a value that is not valid, since somebody edited it by hand, the log warns,
   * and the last good value is returned, or a safe one where none is known.
   */
  read(): Promise<DreamSettings>;
  /** How often the settings were changed, from 1. */
  version(): Promise<number>;
  /**
   * Writes these settings, which are valid, all or none. Returns the settings after that. With
   * `ifVersion` it throws `VERSION_CONFLICT` unless they are at that version.
   */
  write(
    changes: Partial<DreamSettings>,
    options: { caller: AuditCaller; ifVersion?: number | undefined },
  ): Promise<DreamSettings>;
  /** Those that were not valid when they were read last. */
  invalidKeys(): readonly (keyof DreamSettings)[];
}

/** Creates a reader that remembers the last good value of each setting. */
export function createSettings(host: Pick<Host, 'config' | 'log'>): SettingsReader {
  const lastGood: Partial<Record<keyof DreamSettings, unknown>> = {};
  /** The settings that are not valid, with the reason. */
  let invalid = new Map<keyof DreamSettings, string>();

  async function read(): Promise<DreamSettings> {
    const entries = await host.config.entries(PREFIX);
    const found = new Map<keyof DreamSettings, string>();
    const settings: Record<string, unknown> = { ...DEFAULT_DREAM_SETTINGS };
    for (const key of KEYS) {
      // A row that is not JSON is an entry without a value. So is one that was there, and is gone.
      if (!(key in entries) && !(key in lastGood)) continue;
      if (isValid(key, entries[key])) lastGood[key] = entries[key];
      else found.set(key, JSON.stringify(entries[key]) ?? 'unreadable');
      settings[key] = lastGood[key] ?? SAFE_DREAM_SETTINGS[key];
    }
    for (const [key, text] of found) {
      if (invalid.get(key) === text) continue;
      const message =
        'a setting of dreaming is not valid: its last good value holds, or a safe one';
      host.log.warn({ key, holds: settings[key] }, message);
    }
    invalid = found;
    return settings as unknown as DreamSettings;
  }

  return {
    read,
    async version() {
      return toCount((await host.config.entries(VERSION))[VERSION]);
    },
    async write(changes, { caller, ifVersion }) {
      await host.config.set({ ...changes }, caller, { key: VERSION, expected: ifVersion });
      return await readAfterWrite(read);
    },
    invalidKeys: () => [...invalid.keys()],
  };
}

function isValid(key: keyof DreamSettings, value: unknown): boolean {
  if (key === 'dream_window')
    return value === null || (typeof value === 'string' && isWindow(value));
  const schema = SETTING_SCHEMAS[key] as {
    type?: string;
    minimum?: number;
    maximum?: number;
    enum?: readonly string[];
  };
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return (
        Number.isSafeInteger(value) &&
        (value as number) >= (schema.minimum ?? 0) &&
        (value as number) <= (schema.maximum ?? 0)
      );
    default:
      return schema.enum?.includes(value as string) === true;
  }
}
