import type { DreamUserRecord } from '../../core/contracts/dreams.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What a reply may take. */
export const REPLY_TOKENS = 8_000;
/** Tokens below which no run is begun: a reply, the instructions, and a page of memory. */
export const MIN_RUN_TOKENS = REPLY_TOKENS + 4_000;
/** What the instructions and the form of the reply take, generously. */
export const INSTRUCTION_TOKENS = 2_500;

/** Bytes of UTF-8 that a token has at least, on average: English has four, Chinese about three. */
const BYTES_PER_TOKEN = 3;

/** What a text takes of a model's tokens, rather too much than too little. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Tokens that the user may still use today; `Infinity` without a limit. */
export function tokensLeft(
  record: Pick<DreamUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  settings: { dream_max_tokens_per_user_day: number },
  now: number,
): number {
  const most = settings.dream_max_tokens_per_user_day;
  if (most === 0) return Infinity;
  return most - usedToday(record, now);
}

/** Counts tokens for today: what is asked for before a call, and the difference after it. */
export function countTokens<T extends Pick<DreamUserRecord, 'tokensDay' | 'tokensUsed'>>(
  record: T,
  tokens: number,
  now: number,
): T {
  const used = Math.max(0, usedToday(record, now) + tokens);
  return { ...record, tokensDay: toDay(now), tokensUsed: used };
}

function usedToday(
  record: Pick<DreamUserRecord, 'tokensDay' | 'tokensUsed'> | null,
  now: number,
): number {
  return record !== null && record.tokensDay === toDay(now) ? record.tokensUsed : 0;
}

function toDay(now: number): number {
  return Math.floor(now / DAY_MS);
}
