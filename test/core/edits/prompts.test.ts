import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  SHORT_VERIFIER_PROMPT,
  SHORT_VERIFIER_PROMPT_VERSION,
  VERIFIER_PROMPT,
  VERIFIER_PROMPT_VERSION,
} from '../../../core/edits/verify.ts';
import {
  LINES_PROMPT,
  LINES_PROMPT_VERSION,
  SEARCHES_PROMPT,
  SEARCHES_PROMPT_VERSION,
} from '../../../core/subagents/context/prompt.ts';
import {
  REMEMBER_PROMPT_VERSION,
  REPAIR_PROMPT,
  REPAIR_PROMPT_VERSION,
  SHORT_PROMPT,
  SHORT_PROMPT_VERSION,
  SYSTEM_PROMPT,
} from '../../../core/subagents/remember/prompt.ts';
import * as dream from '../../../plugins/dreaming/prompt.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

describe('a prompt', () => {
  // When this fails, a word was changed: give the prompt its next version, then the new hash.
  it.each([
    [dream.PROMPT_VERSION, dream.SYSTEM_PROMPT, 'dream-5 9322286290bc'],
    [REMEMBER_PROMPT_VERSION, SYSTEM_PROMPT, 'remember-4 862bc113fd78'],
    [VERIFIER_PROMPT_VERSION, VERIFIER_PROMPT, 'verify-3 843b47bf7bdc'],
    [dream.SHORT_PROMPT_VERSION, dream.SHORT_PROMPT, 'dream-short-2 4ad0a614d564'],
    [SHORT_PROMPT_VERSION, SHORT_PROMPT, 'remember-short-1 af749c80ee4d'],
    [SHORT_VERIFIER_PROMPT_VERSION, SHORT_VERIFIER_PROMPT, 'verify-short-1 ee21375ac50c'],
    [SEARCHES_PROMPT_VERSION, SEARCHES_PROMPT, 'context-searches-1 3452da21e1fa'],
    [REPAIR_PROMPT_VERSION, REPAIR_PROMPT, 'remember-repair-2 643bf99aa2a5'],
    [LINES_PROMPT_VERSION, LINES_PROMPT, 'context-lines-1 ff9190ecf069'],
  ])('%s has another version when a word of it changes', (version, text, expected) => {
    expect(`${version} ${hash(text)}`).toBe(expected);
  });
});
