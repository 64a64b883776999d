import type { AdminDreamRun } from '../../core/contracts/admin.ts';
import type { AdminDreamConfig } from '../../plugins/dreaming/routes/answers.ts';

export type { AdminDreamConfig, AdminDreamUser } from '../../plugins/dreaming/routes/answers.ts';
export type {
  AdminDreamOperation,
  AdminDreamRevert,
  AdminDreamRun,
  AdminDreamRunDetail,
} from '../../core/contracts/admin.ts';

/** The states of a run, in their order. */
export const RUN_STATES = [
  'queued',
  'running',
  'completed',
  'failed',
  'canceled',
] as const satisfies readonly AdminDreamRun['state'][];

/** The label and bounds of a numeric setting. */
export interface NumberSetting {
  key: keyof AdminDreamConfig;
  label: string;
  unit: string;
  min: number;
  max: number;
  /** What the setting does. */
  consequence: string;
}

/** The number settings, in the order of the form. */
export const NUMBER_SETTINGS: readonly NumberSetting[] = [
  {
    key: 'dream_interval_minutes',
    label: 'Cadence',
    unit: 'minutes',
    min: 1,
    max: 10_080,
    consequence: 'Time between two ticks, which look for eligible users.',
  },
  {
    key: 'dream_grace_period_minutes',
    label: 'Grace period',
    unit: 'minutes',
    min: 0,
    max: 10_080,
    consequence: 'Quiet time after a user’s last write before a run can start.',
  },
  {
    key: 'dream_max_writes',
    label: 'Write budget',
    unit: 'writes per run',
    min: 1,
    max: 100,
    consequence: 'Includes the entry in the dream log.',
  },
  {
    key: 'dream_concurrency',
    label: 'Concurrency',
    unit: 'users',
    min: 1,
    max: 32,
    consequence: 'How many users are dreamed at the same time.',
  },
  {
    key: 'dream_waiting_days',
    label: 'Waiting time',
    unit: 'days',
    min: 1,
    max: 365,
    consequence: 'Operations that nobody decided on become stale after this time.',
  },
  {
    key: 'dream_max_tokens_per_user_day',
    label: 'Token limit',
    unit: 'per user and day',
    min: 0,
    max: 100_000_000,
    consequence: 'A user over the limit waits until the next day (UTC). 0 means no limit.',
  },
  {
    key: 'dream_max_reply_tokens',
    label: 'Reply limit',
    unit: 'tokens per reply',
    min: 1_000,
    max: 200_000,
    consequence: 'Includes what a reasoning model thinks. A reply that is cut off counts in part.',
  },
  {
    key: 'dream_run_timeout_seconds',
    label: 'Time limit of a run',
    unit: 'seconds',
    min: 30,
    max: 3_600,
    consequence: 'A run that takes longer fails; its writes can be reverted.',
  },
];

/** Why a user is skipped, in words. */
export const SKIP_REASONS: Readonly<Record<string, string>> = {
  disabled: 'dreaming disabled',
  paused: 'paused',
  no_change: 'unchanged',
  excluded_only: 'only logs changed',
  grace: 'in grace period',
  backoff: 'retry later',
  budget: 'token limit',
  in_flight: 'run not finished',
  model_not_configured: 'no model',
};

/** `no_op` as `no op`. */
export const toWords = (name: string): string => name.replaceAll('_', ' ');

/** The colour of a state. */
export function toneOfState(state: string): 'bad' | 'warn' | 'info' | 'neutral' {
  if (state === 'failed') return 'bad';
  return state === 'queued' || state === 'running' ? 'info' : 'neutral';
}

/** The colour of an outcome. */
export function toneOfOutcome(outcome: string): 'dream' | 'warn' | 'neutral' {
  if (outcome === 'applied') return 'dream';
  return outcome === 'no_op' ? 'neutral' : 'warn';
}
