import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

it('keeps two customers apart, dreams in review, and erases one of them', async () => {
  const { code, stdout, stderr } = await run(['examples/support-bot/main.mjs']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(readFileSync(join(root, 'examples/support-bot/answers.txt'), 'utf8'));
});
