import { createHmac } from 'node:crypto';
import { type PromptText, toPromptLine } from './prompt-text.ts';

/** What a prompt is for: each has marks of its own. */
export type FencePurpose = 'dream' | 'verify' | 'remember' | 'context';

/**
 * The mark around memory in a prompt: 16 hex digits, the same for a user and purpose, so that the
 * start of a prompt stays the same and providers cache it. Nobody can guess it without the key; should
 * a text contain it all the same, another one is derived.
 */
export function createFence(
  key: Buffer,
  { userId, purpose }: { userId: string; purpose: FencePurpose },
  texts: readonly string[],
): PromptText {
  const known = texts.map((text) => text.toLowerCase());
  for (let attempt = 0; ; attempt += 1) {
    const mark = createHmac('sha256', key)
      .update(JSON.stringify([purpose, userId, attempt]))
      .digest('hex')
      .slice(0, 16);
    if (!known.some((text) => text.includes(mark))) return toPromptLine(mark);
  }
}
