import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

// It writes the memories of 4,000 users, which takes long on a busy machine.
it(
  'undoes each of the four incidents as the guide shows, and keeps what others wrote',
  {
    timeout: 900_000,
  },
  async () => {
    const { code, stdout, stderr } = await run(['examples/undo-by-line/main.mjs']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(readFileSync(join(root, 'examples/undo-by-line/answers.txt'), 'utf8'));
  },
);
