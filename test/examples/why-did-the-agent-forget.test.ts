import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

it('answers an operator’s questions as the guide shows', async () => {
  const { code, stdout, stderr } = await run(['examples/why-did-the-agent-forget/main.mjs']);
  expect([code, stderr]).toEqual([0, '']);
  const shown = readFileSync(join(root, 'examples/why-did-the-agent-forget/answers.txt'), 'utf8');
  expect(stdout).toBe(shown);
});
