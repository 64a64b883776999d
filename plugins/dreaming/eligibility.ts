import type { RunUser } from '../../core/contracts/runs.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MIN_RUN_TOKENS, tokensLeft } from './tokens.ts';
import type { DreamSettings } from './settings.ts';
import { isInWindow } from './window.ts';

/** Why no run begins for a user or a space at the next tick. */
export const SKIP_REASONS = [
  'disabled',
  'archived',
  'paused',
  'frozen',
  'no_change',
  'excluded_only',
  'grace',
  'backoff',
  'budget',
  'window',
  'in_flight',
  'model_not_configured',
] as const;

export type SkipReason = (typeof SKIP_REASONS)[number];

/** What decides about a run, apart from the user. */
export interface Circumstances {
  settings: DreamSettings;
  now: number;
  /** Of the service: the part of the day in which runs begin is one there. */
  timeZone: string;
  /** Tokens that all users and spaces together may still use today. */
  tokensLeft: number;
  hasModel: boolean;
  /** The model failed several times in a row, so that no run begins for a while. */
  isModelResting: boolean;
  /** Whether an operator has stopped what dreams write in a memory. */
  isFrozen(scope: ScopeKey): boolean;
}

/** `null` if a run begins for the user at the next tick, else the first reason against it. */
export function judgeUser(user: RunUser, circumstances: Circumstances): SkipReason | null {
  const { settings, now, timeZone, hasModel, isModelResting } = circumstances;
  const { record } = user;
  if (!settings.dream_enabled || !user.dream) return 'disabled';
  if (user.archivedAt !== null) return 'archived';
  if (record?.paused === true) return 'paused';
  if (circumstances.isFrozen(user.scope)) return 'frozen';
  if (!hasChanged(user)) return hasOtherWrites(user) ? 'excluded_only' : 'no_change';
  const quietSince = user.lastQualifyingAt ?? 0;
  if (now - quietSince < settings.dream_grace_period_minutes * 60_000) return 'grace';
  if (isModelResting || (record?.retryAt ?? 0) > now) return 'backoff';
  const left = Math.min(tokensLeft(record, settings, now), circumstances.tokensLeft);
  if (left < MIN_RUN_TOKENS) return 'budget';
  if (!isInWindow(settings.dream_window, { at: now, timeZone })) return 'window';
  if (isInFlight(user)) return 'in_flight';
  return hasModel ? null : 'model_not_configured';
}

/** Whether a user has qualifying writes that no run has seen. */
function hasChanged({ lastQualifyingAt, record }: RunUser): boolean {
  if (lastQualifyingAt === null) return false;
  return record === null || record.watermark === null || lastQualifyingAt > record.watermark;
}

/** Whether somebody else than dreaming wrote since the last run, even if no write qualified. */
function hasOtherWrites({ lastWriteAt, record }: RunUser): boolean {
  if (lastWriteAt === null) return false;
  return lastWriteAt > Math.max(record?.watermark ?? -1, record?.ownWriteAt ?? -1);
}

function isInFlight({ record }: RunUser): boolean {
  const status = record?.status ?? null;
  return status === 'queued' || status === 'running';
}
