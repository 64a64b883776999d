import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

it('undoes a poisoned write and what followed from it, as the guide shows', async () => {
  const { code, stdout, stderr } = await run(['examples/undo/main.mjs']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(readFileSync(join(root, 'examples/undo/answers.txt'), 'utf8'));
});
