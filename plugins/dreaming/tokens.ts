import type { PluginRuns, PromptUse } from '../../core/contracts/plugin.ts';
import type { RunUserRecord } from '../../core/contracts/runs.ts';
import { toUtcDay } from '../../core/time/time.ts';
import { limitReply } from '../../core/edits/prompt-budget.ts';

/** No run begins with fewer tokens: they are for two replies, the instructions and a page of memory. */
export const MIN_RUN_TOKENS = 12_000;
/** Tokens of the instructions and the reply's schema: a generous estimate. */
const INSTRUCTION_TOKENS = { full: 3_500, short: 1_000 } as const;
/** The fewest tokens for a page of memory, and for a reply. */
const LEAST_TOKENS = 1_000;
const LEAST_SNAPSHOT = 300;

/**
 * Divides the tokens that are left into memory to show and a reply, less a part for the verifier. Prompt and
 * reply fit into the context of the model.
 */
export function planTokens(
  left: number,
  { maxSnapshot, maxReply, use }: { maxSnapshot: number; maxReply: number; use: PromptUse },
): { snapshot: number; reply: number } {
  const most = Math.max(LEAST_TOKENS, Math.min(maxReply, Math.floor(left / 4)));
  const reply = limitReply(use, most);
  const instructions = INSTRUCTION_TOKENS[use.form];
  const fits = (use.contextTokens ?? Infinity) - reply - instructions;
  const room = Math.min(left - 2 * reply - instructions, fits);
  return { reply, snapshot: Math.min(maxSnapshot, Math.max(LEAST_SNAPSHOT, room)) };
}

/** The longest reply that fits after a question, in tokens; `null` if none does. */
export function planReply(left: number, asked: number, maxReply: number): number | null {
  const reply = Math.min(maxReply, left - asked);
  return reply < Math.min(LEAST_TOKENS, maxReply) ? null : reply;
}

/** Tokens that a user or a space may still use today; `Infinity` without a limit. */
export function tokensLeft(
  record: Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  settings: { dream_max_tokens_per_user_day: number },
  now: number,
): number {
  return atMost(settings.dream_max_tokens_per_user_day) - usedToday(record, now);
}

/** Tokens that all together may still use today; `Infinity` without a limit. */
export async function tokensLeftOfAll(
  dreams: Pick<PluginRuns, 'countTokens'>,
  settings: { dream_max_tokens_per_day: number },
  now: number,
): Promise<number> {
  const most = atMost(settings.dream_max_tokens_per_day);
  return most === Infinity ? most : most - (await dreams.countTokens(toUtcDay(now)));
}

/** 0 is no limit. */
function atMost(setting: number): number {
  return setting === 0 ? Infinity : setting;
}

/** Adds tokens to the user's count of today. */
export function recordUsage<T extends Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'>>(
  record: T,
  tokens: number,
  now: number,
): T {
  const used = Math.max(0, usedToday(record, now) + tokens);
  return { ...record, tokensDay: toUtcDay(now), tokensUsed: used };
}

function usedToday(
  record: Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  now: number,
): number {
  return record !== null && record.tokensDay === toUtcDay(now) ? record.tokensUsed : 0;
}
