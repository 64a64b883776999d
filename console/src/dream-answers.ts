import type { AdminDreamRun } from '../../core/contracts/admin.ts';
import type { AdminDreamConfig } from '../../plugins/dreaming/routes/answers.ts';

export type {
  AdminDreamConfig,
  AdminDreamRunDetail,
  AdminDreamUser,
} from '../../plugins/dreaming/routes/answers.ts';
export type { AdminDreamRun } from '../../core/contracts/admin.ts';

/** The states of a run, in their order. */
export const RUN_STATES = [
  'queued',
  'running',
  'awaiting_review',
  'completed',
  'failed',
  'canceled',
] as const satisfies readonly AdminDreamRun['state'][];

/** A setting that is a number: its words and bounds (API.md, section 6). */
export interface NumberSetting {
  key: keyof AdminDreamConfig;
  label: string;
  unit: string;
  min: number;
  max: number;
  /** What a greater value comes to. */
  consequence: string;
}

/** The number settings, in the order of the form. */
export const NUMBER_SETTINGS: readonly NumberSetting[] = [
  {
    key: 'dream_interval_minutes',
    label: 'Check every',
    unit: 'minutes',
    min: 1,
    max: 10_080,
    consequence: 'How often the scheduler looks for users whose memory changed.',
  },
  {
    key: 'dream_grace_period_minutes',
    label: 'Quiet before a run',
    unit: 'minutes',
    min: 0,
    max: 10_080,
    consequence: 'A user whose memory changed within this time waits.',
  },
  {
    key: 'dream_max_writes',
    label: 'Writes of a run',
    unit: 'at most',
    min: 1,
    max: 100,
    consequence: 'The budget is counted in the database, in each write’s own transaction.',
  },
  {
    key: 'dream_concurrency',
    label: 'Users at once',
    unit: 'at most',
    min: 1,
    max: 32,
    consequence: 'More users at once load the model provider more.',
  },
  {
    key: 'dream_max_tokens_per_user_day',
    label: 'Tokens a user and day',
    unit: '0 for no limit',
    min: 0,
    max: 100_000_000,
    consequence: 'Beyond it a user waits until the next day (UTC).',
  },
  {
    key: 'dream_run_timeout_seconds',
    label: 'Time limit of a run',
    unit: 'seconds',
    min: 30,
    max: 3_600,
    consequence: 'A run that takes longer ends as failed; what it wrote can be reverted.',
  },
];

/** Why a user is not dreamed about, in words. */
export const SKIP_REASONS: Readonly<Record<string, string>> = {
  disabled: 'dreaming is off',
  paused: 'paused',
  no_change: 'nothing changed',
  excluded_only: 'only logs changed',
  grace: 'changed too recently',
  backoff: 'waits after a failure',
  budget: 'tokens of today used up',
  in_flight: 'a run is under way',
  model_not_configured: 'no model configured',
};

/** `awaiting_review` as a person reads it. */
export const toWords = (name: string): string => name.replaceAll('_', ' ');

/** How a state is coloured. */
export function toneOfState(state: string): 'bad' | 'warn' | 'info' | 'neutral' {
  if (state === 'failed') return 'bad';
  if (state === 'awaiting_review') return 'warn';
  return state === 'queued' || state === 'running' ? 'info' : 'neutral';
}

/** How an outcome is coloured. */
export function toneOfOutcome(outcome: string): 'dream' | 'warn' | 'neutral' {
  if (outcome === 'applied') return 'dream';
  return outcome === 'no_op' ? 'neutral' : 'warn';
}
