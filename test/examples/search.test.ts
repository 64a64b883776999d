import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, run } from './run-example.ts';

it('explains its scores as the documentation shows, and finds in several languages', async () => {
  const { code, stdout, stderr } = await run(['examples/search/main.mjs']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(readFileSync(join(root, 'examples/search/explained.txt'), 'utf8'));
  expect(stdout).toContain('multiagent: user/work.md\n');
  expect(stdout).toContain('東京: user/trips/kyoto.md\n');
  expect(stdout).toContain('gren tee: user/profile.md\n');
  expect(stdout).toContain('## user/profile.md, lines 5–6, version 1\n\nUnder: Ann > Drinks\n');
});
