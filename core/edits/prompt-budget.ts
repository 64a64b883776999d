import type { PromptUse } from '../contracts/plugin.ts';

/** Bytes of UTF-8 that a token has at least, on average: English has four, Chinese about three. */
const BYTES_PER_TOKEN = 3;

/** The tokens of texts: an estimate that is rather too high than too low. */
export function estimateTokens(texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Tokens of marks, schema and words around what a prompt shows. */
const FRAME_TOKENS = 300;
const LEAST_REPLY = 256;
const LEAST_CHARACTERS = 600;
/** Characters of memory that a short prompt shows at most. */
const SHORT_CHARACTERS = 2_400;

/**
 * Divides the context of a model: a quarter at most for the reply, and what is left of the rest for memory, in
 * characters.
 */
export function planPrompt(
  { form, contextTokens }: PromptUse,
  {
    replyTokens,
    mostCharacters,
    texts,
  }: { replyTokens: number; mostCharacters: number; texts: readonly string[] },
): { maxTokens: number; characters: number } {
  const most = form === 'short' ? Math.min(mostCharacters, SHORT_CHARACTERS) : mostCharacters;
  if (contextTokens === null) return { maxTokens: replyTokens, characters: most };
  const maxTokens = limitReply({ contextTokens }, replyTokens);
  const left = contextTokens - maxTokens - FRAME_TOKENS - estimateTokens(texts);
  return {
    maxTokens,
    characters: Math.min(most, Math.max(LEAST_CHARACTERS, left * BYTES_PER_TOKEN)),
  };
}

/** Tokens of a reply: at most a quarter of the context. */
export function limitReply(
  { contextTokens }: Pick<PromptUse, 'contextTokens'>,
  replyTokens: number,
): number {
  if (contextTokens === null) return replyTokens;
  return Math.min(replyTokens, Math.max(LEAST_REPLY, Math.floor(contextTokens / 4)));
}
