import type { RunUserRecord } from '../../core/contracts/runs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** No run begins with fewer tokens: they are for two replies, the instructions and a page of memory. */
export const MIN_RUN_TOKENS = 12_000;
/** Tokens of the instructions and the reply's schema: a generous estimate. */
const INSTRUCTION_TOKENS = 3_500;
/** The fewest tokens for a page of memory, and for a reply. */
const LEAST_TOKENS = 1_000;

/** Divides the tokens that are left into memory to show and a reply, less a part for the verifier. */
export function planTokens(
  left: number,
  { maxSnapshot, maxReply }: { maxSnapshot: number; maxReply: number },
): { snapshot: number; reply: number } {
  const reply = Math.max(LEAST_TOKENS, Math.min(maxReply, Math.floor(left / 4)));
  const room = left - 2 * reply - INSTRUCTION_TOKENS;
  return { reply, snapshot: Math.min(maxSnapshot, Math.max(LEAST_TOKENS, room)) };
}

/** The longest reply that fits after a question, in tokens; `null` if none does. */
export function planReply(left: number, asked: number, maxReply: number): number | null {
  const reply = Math.min(maxReply, left - asked);
  return reply < LEAST_TOKENS ? null : reply;
}

/** Bytes of UTF-8 that a token has at least, on average: English has four, Chinese about three. */
const BYTES_PER_TOKEN = 3;

/** The tokens of texts: an estimate that is rather too high than too low. */
export function estimateTokens(texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Tokens that the user may still use today; `Infinity` without a limit. */
export function tokensLeft(
  record: Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  settings: { dream_max_tokens_per_user_day: number },
  now: number,
): number {
  const most = settings.dream_max_tokens_per_user_day;
  if (most === 0) return Infinity;
  return most - usedToday(record, now);
}

/** Adds tokens to the user's count of today. */
export function recordUsage<T extends Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'>>(
  record: T,
  tokens: number,
  now: number,
): T {
  const used = Math.max(0, usedToday(record, now) + tokens);
  return { ...record, tokensDay: toDay(now), tokensUsed: used };
}

function usedToday(
  record: Pick<RunUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  now: number,
): number {
  return record !== null && record.tokensDay === toDay(now) ? record.tokensUsed : 0;
}

function toDay(now: number): number {
  return Math.floor(now / DAY_MS);
}
