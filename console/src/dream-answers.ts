import type {
  AdminDreamOperation,
  AdminDreamRevert,
  AdminDreamRun,
  AdminStatus,
} from '../../core/contracts/admin.ts';
import type { AdminDreamConfig } from '../../plugins/dreaming/routes/answers.ts';
import { SETTING_BOUNDS } from '../../plugins/dreaming/setting-bounds.ts';
import { count } from './story.ts';

export type { AdminDreamConfig, AdminDreamUser } from '../../plugins/dreaming/routes/answers.ts';
export type {
  AdminDreamDecision,
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
  key: keyof typeof SETTING_BOUNDS;
  label: string;
  unit: string;
  min: number;
  max: number;
  /** What the setting does. */
  consequence: string;
}

/** The number settings, in the order of the form. */
export const NUMBER_SETTINGS: readonly NumberSetting[] = (
  [
    {
      key: 'dream_interval_minutes',
      label: 'Cadence',
      unit: 'minutes',
      consequence: 'Time between two ticks, which look for eligible users and spaces.',
    },
    {
      key: 'dream_grace_period_minutes',
      label: 'Grace period',
      unit: 'minutes',
      consequence: 'Quiet time after the last write before a run can start.',
    },
    {
      key: 'dream_max_writes',
      label: 'Write budget',
      unit: 'writes per run',
      consequence: 'Includes the entry in the dream log.',
    },
    {
      key: 'dream_concurrency',
      label: 'Concurrency',
      unit: 'runs',
      consequence: 'How many users and spaces are dreamed at the same time.',
    },
    {
      key: 'dream_waiting_days',
      label: 'Waiting time',
      unit: 'days',
      consequence: 'Operations that nobody decided on become stale after this time.',
    },
    {
      key: 'dream_max_tokens_per_user_day',
      label: 'Token limit',
      unit: 'per user or space and day',
      consequence: 'Whoever is over the limit waits until the next day (UTC). 0 means no limit.',
    },
    {
      key: 'dream_max_tokens_per_day',
      label: 'Token limit of all',
      unit: 'tokens per day',
      consequence:
        'For all users and spaces together. Those that waited longest go first. 0 means no limit.',
    },
    {
      key: 'dream_max_reply_tokens',
      label: 'Reply limit',
      unit: 'tokens per reply',
      consequence:
        'Includes what a reasoning model thinks. A reply that is cut off counts in part.',
    },
    {
      key: 'dream_run_timeout_seconds',
      label: 'Time limit of a run',
      unit: 'seconds',
      consequence: 'A run that takes longer fails; its writes can be reverted.',
    },
  ] as const
).map((setting) => ({ ...setting, ...SETTING_BOUNDS[setting.key] }));

/** Why a user or a space is skipped, in words. */
export const SKIP_REASONS: Readonly<Record<string, string>> = {
  disabled: 'dreaming disabled',
  archived: 'archived',
  paused: 'paused',
  frozen: 'writes stopped',
  no_change: 'unchanged',
  excluded_only: 'only logs changed',
  grace: 'in grace period',
  backoff: 'retry later',
  budget: 'token limit',
  window: 'waits for its time of day',
  in_flight: 'run not finished',
  model_not_configured: 'no model',
};

type Tone = 'neutral' | 'good' | 'bad' | 'warn' | 'info' | 'dream';

/** A word of the service, as the console shows it. */
export interface Wording {
  label: string;
  /** What it means, in a sentence. */
  title: string;
  tone: Tone;
}

type Kind = AdminDreamOperation['kind'];
type Signal = AdminDreamOperation['signals'][number];
type Verdict = NonNullable<AdminDreamOperation['verdict']>;
type Status = AdminDreamOperation['status'];
type Outcome = NonNullable<AdminDreamRun['outcome']>;

/** What an operation does. */
export const KINDS: Readonly<Record<Kind, string>> = {
  merge: 'Merge',
  supersede: 'Replace an old fact',
  reword: 'Reword',
  move: 'Move',
  index: 'Catalog',
};

/** What speaks against an operation. */
export const SIGNALS: Readonly<Record<Signal, Omit<Wording, 'tone'>>> = {
  specific_lost: {
    label: 'detail lost',
    title:
      'A number, date, name, address or quote of the removed lines is nowhere in what remains.',
  },
  specific_added: {
    label: 'detail added',
    title: 'A new line has a number, date, name, address or quote that no source has.',
  },
  negation: {
    label: 'negation',
    title: 'A line says “no”, “not”, “never” or the like: the edit may turn its meaning around.',
  },
  modality: {
    label: 'must or may',
    title: 'A word such as “must”, “may”, “if” or “plans to” is lost or added.',
  },
  conflict: {
    label: 'lines differ',
    title: 'The merged lines have different numbers, dates or names.',
  },
  sensitive: {
    label: 'sensitive',
    title: 'The lines are about health, money, law, access, religion, sexuality or politics.',
  },
  other_subject: {
    label: 'other person',
    title: 'The lines, or the place where they go, are about different people or things.',
  },
  task: { label: 'task', title: 'An open task becomes done, or a done task becomes open.' },
  older_source: {
    label: 'older source',
    title: 'The line named as the reason is older than the line that it replaces.',
  },
};

/** What was mended in an operation. */
export const REPAIRS: Readonly<Record<AdminDreamOperation['repaired'][number], string>> = {
  fact: 'the mark of the fact',
  path: 'a path',
  heading: 'a heading among the lines',
  bullet: 'a bullet',
  quote: 'a quotation',
  line: 'the number of a line',
  source: 'a source that is not needed',
  space: 'empty lines',
  beside: 'a line to replace that says something else: the new line stands beside it',
};

/** The verdict of the second model. */
export const VERDICTS: Readonly<Record<Verdict, Wording>> = {
  keeps: {
    label: 'Every fact is kept',
    title: 'The verifier found every fact of the removed lines in what remains, and nothing new.',
    tone: 'good',
  },
  replaces: {
    label: 'The old value no longer holds',
    title: 'The verifier found that the source says so.',
    tone: 'good',
  },
  loses: {
    label: 'A fact would be lost',
    title: 'The verifier missed a fact of the removed lines in what remains.',
    tone: 'bad',
  },
  adds: {
    label: 'A fact would be made up',
    title: 'The verifier found something in the new lines that no source says.',
    tone: 'bad',
  },
  wrong: {
    label: 'The result would be wrong',
    title:
      'The verifier found that the new lines contradict the sources, or are about somebody else.',
    tone: 'bad',
  },
  unsure: {
    label: 'Unsure',
    title: 'The verifier could not tell, did not answer, or contradicted itself.',
    tone: 'warn',
  },
};

/** Why an operation waits, was dropped or is stale; `null` for others. */
export function tellWhy(operation: AdminDreamOperation): string | null {
  const { status, why, preselected, checks } = operation;
  if (!['waiting', 'dropped', 'stale'].includes(status)) return null;
  if (checks.length > 0 && why?.endsWith('check') === true) {
    const names = checks.map((name) => `“${name}”`).join(', ');
    return `${checks.length === 1 ? 'a check' : 'checks'} would fail with it: ${names}`;
  }
  return why ?? (preselected ? 'in review, everything waits; nothing speaks against it' : null);
}

/** The states of an operation, in the order of the filter. */
export const STATUSES: Readonly<Record<Status, Wording>> = {
  waiting: { label: 'waiting', title: 'Waits for your decision.', tone: 'warn' },
  applied: { label: 'applied', title: 'Is in memory.', tone: 'dream' },
  dropped: { label: 'dropped', title: 'Was held back by a guard or by the verifier.', tone: 'bad' },
  rejected: { label: 'rejected', title: 'A person rejected it.', tone: 'neutral' },
  stale: {
    label: 'stale',
    title: 'Its lines have changed, or it waited too long.',
    tone: 'neutral',
  },
  reverted: { label: 'reverted', title: 'Was applied, and put back.', tone: 'neutral' },
};

/** The outcomes of a run. */
export const OUTCOMES: Readonly<Record<Outcome, Omit<Wording, 'title'>>> = {
  applied: { label: 'applied', tone: 'dream' },
  waiting: { label: 'waiting', tone: 'warn' },
  no_op: { label: 'no changes', tone: 'neutral' },
  partial: { label: 'partly applied', tone: 'dream' },
  rejected: { label: 'rejected', tone: 'neutral' },
  reverted: { label: 'reverted', tone: 'neutral' },
};

/** The colour of a state. */
export function toneOfState(state: string): Tone {
  if (state === 'failed') return 'bad';
  return state === 'queued' || state === 'running' ? 'info' : 'neutral';
}

/** What became of operations, in a sentence: `Operations 1 and 3 were applied; 4 is stale: why.` */
export function tellDecided(
  decided: readonly { number: number; status: Status; why: string | null }[],
): string {
  const groups = new Map<string, number[]>();
  for (const { number, status, why } of decided) {
    const isDone = status === 'applied' || status === 'rejected';
    const outcome = `${status}\n${isDone ? '' : (why ?? '')}`;
    groups.set(outcome, [...(groups.get(outcome) ?? []), number]);
  }
  const parts = [...groups].map(([outcome, numbers]) => {
    const [status = '', why = ''] = outcome.split('\n');
    const isOne = numbers.length === 1;
    const was = ['applied', 'rejected', 'dropped', 'reverted'].includes(status)
      ? `${isOne ? 'was' : 'were'} ${status}`
      : `${isOne ? 'is' : 'are'} ${status === 'waiting' ? 'still waiting' : status}`;
    return `${joinWords(numbers)} ${was}${why === '' ? '' : `: ${why.replace(/\.$/, '')}`}`;
  });
  if (parts.length === 0) return 'No operation was left to decide on.';
  return `Operation${decided.length === 1 ? '' : 's'} ${parts.join('; ')}.`;
}

/** What became of a decision or of a revert. */
export interface DreamReceipt {
  text: string;
  /** False where something was left or did not work. */
  isWhole: boolean;
  files: readonly { path: string; outcome: string; why: string | null }[];
}

/** What a revert put back and what it left, file by file. */
export function tellReverted({ reverted, left }: AdminDreamRevert): DreamReceipt {
  const written = reverted.filter(({ version }) => version > 0).length;
  const back = `${count(written, 'file')} put back`;
  const kept = `${count(left.length, 'file')} left as ${left.length === 1 ? 'it is' : 'they are'}`;
  return {
    text:
      left.length === 0
        ? `The run was reverted: ${written === 0 ? 'nothing had to be put back' : back}.`
        : written === 0
          ? `Nothing was put back: ${kept}.`
          : `The run was reverted in part: ${back}, ${kept}.`,
    isWhole: left.length === 0,
    files: [
      ...reverted.map(({ path, version, why }) => ({
        path,
        outcome: version === 0 ? 'nothing to put back' : `put back as version ${version}`,
        why,
      })),
      ...left.map(({ path, why }) => ({ path, outcome: 'left', why })),
    ],
  };
}

function joinWords(words: readonly (string | number)[]): string {
  return words.length < 2
    ? words.join('')
    : `${words.slice(0, -1).join(', ')} and ${String(words.at(-1))}`;
}

/** What holds about dreaming, and the one thing to do. */
export interface DreamingSummary {
  tone: 'good' | 'warn' | 'neutral';
  text: string;
  /** What to do outside the console. */
  hint: string | null;
  /** What to do here. */
  action: 'enable' | 'settings' | 'review' | null;
}

/** The first of these that holds decides: the rest does not matter until it is solved. */
export function tellDreaming(
  config: AdminDreamConfig,
  { model, scheduler, dreaming }: Pick<AdminStatus, 'model' | 'scheduler' | 'dreaming'>,
): DreamingSummary {
  const invalid = config.invalidKeys ?? [];
  const waiting = dreaming.operationsWaiting;
  if (!model.configured) {
    return {
      tone: 'warn',
      text: 'Dreaming cannot run: no model is configured.',
      hint: model.hint,
      action: null,
    };
  }
  if (model.answers === false) {
    return {
      tone: 'warn',
      text: `Dreams fail while the model does: its last call failed: ${model.problem ?? 'no reason was given'}.`,
      hint: null,
      action: null,
    };
  }
  if (invalid.length > 0) {
    return {
      tone: 'warn',
      text: `Dreaming holds back: the stored ${joinWords(invalid)} cannot be read, so a safe value is used.`,
      hint: null,
      action: 'settings',
    };
  }
  if (!config.schedulerStarted) {
    return {
      tone: 'neutral',
      text: 'Runs start only by hand: the scheduler is not running.',
      hint: scheduler.hint ?? 'Start the scheduler in this process.',
      action: null,
    };
  }
  if (!config.dream_enabled) {
    return {
      tone: 'neutral',
      text: 'Dreaming is off: runs start only by hand.',
      hint: null,
      action: 'enable',
    };
  }
  const every = toInterval(config.dream_interval_minutes);
  const mode = config.dream_mode === 'auto' ? 'applies what is safe' : 'applies nothing by itself';
  const text = `Dreaming is on: it looks for changed memory every ${every} and ${mode}`;
  if (waiting > 0) {
    const wait =
      waiting === 1 ? '1 operation waits' : `${waiting.toLocaleString('en')} operations wait`;
    return {
      tone: 'warn',
      text: `${text}; ${wait} for your decision.`,
      hint: null,
      action: 'review',
    };
  }
  return { tone: 'good', text: `${text}. Nothing waits.`, hint: null, action: null };
}

function toInterval(minutes: number): string {
  if (minutes === 1) return 'minute';
  if (minutes % 60 !== 0) return `${minutes} minutes`;
  return minutes === 60 ? 'hour' : `${minutes / 60} hours`;
}
