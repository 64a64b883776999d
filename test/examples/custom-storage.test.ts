import { appendFile, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run, temporaryDirectory } from './run-example.ts';

it('goes on with its journal, without the line that a crash cut off', async () => {
  const journal = join(await temporaryDirectory(), 'memory.jsonl');
  const first = await run(['examples/custom-storage/main.mjs', journal]);
  expect([first.stderr, first.code]).toEqual(['', 0]);
  expect(first.stdout).toBe('user/profile.md is at version 1\nfound: - Prefers tea.\n');
  const whole = await readFile(journal);
  await appendFile(journal, '[["files","users/alice/profile.md",{"scope"');
  const second = await run(['examples/custom-storage/main.mjs', journal]);
  expect([second.stderr, second.code]).toEqual(['', 0]);
  // The same content again is no write.
  expect(second.stdout).toContain('user/profile.md is at version 1');
  expect((await readFile(journal)).subarray(0, whole.length).equals(whole)).toBe(true);

  await truncate(journal, whole.length - 1);
  expect((await run(['examples/custom-storage/main.mjs', journal])).code).toBe(0);
});

it('refuses a journal that is damaged in its middle', async () => {
  const journal = join(await temporaryDirectory(), 'memory.jsonl');
  await appendFile(journal, '{"format":1}\n[["files"\n[]\n');
  const { code, stderr } = await run(['examples/custom-storage/main.mjs', journal]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('The journal is damaged.');
});
