import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

/** Three pages of a revert; the release writes the memories of 4,000 users, as the guide shows. */
const FEW = 450;
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

it(
  'undoes each of the four incidents as the guide shows, and keeps what others wrote',
  { timeout: 900_000 },
  async () => {
    const users = isRelease ? [] : [String(FEW)];
    const { code, stdout, stderr } = await run(['examples/undo-by-line/main.mjs', ...users]);
    expect([code, stderr]).toEqual([0, '']);
    const shown = readFileSync(join(root, 'examples/undo-by-line/answers.txt'), 'utf8');
    expect(stdout).toBe(isRelease ? shown : shown.replaceAll(/4,?000\b/g, String(FEW)));
  },
);
