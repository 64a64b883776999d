import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { outputOf } from '../../examples/scripted-model/fill-transcripts.mjs';
import { root, temporaryDirectory } from './run-example.ts';

const NO_KEY = 'node --import ./examples/scripted-model/no-key.mjs';

const PAGES = [
  ['langchain', 'langchain/first-fact.mjs'],
  ['vercel-ai', 'vercel-ai/first-fact.mjs'],
  ['openai', 'openai/first-fact.mjs'],
  ['openai', 'openai/first-fact-agents.mjs'],
  ['anthropic', 'anthropic/first-fact.mjs'],
] as const;
/** Two processes for each: the others are tried before a release. */
const PLAYED = process.env['MEMORY_TEST_RELEASE'] === undefined ? PAGES.slice(0, 1) : PAGES;

it.each(PAGES)('the page on %s shows %s whole', (page, file) => {
  const guide = readFileSync(join(root, `docs/guides/${page}.md`), 'utf8');
  expect(guide).toContain(`<!-- snippet: examples/${file}#whole -->`);
});

it.each(PLAYED)(
  'what the page on %s shows remembers from one process to the next: %s',
  async (_, file) => {
    const cwd = await temporaryDirectory();
    const command = `${NO_KEY} examples/${file}`;
    expect(await outputOf(command, { cwd })).toBe('I will remember that you drink tea.\n');
    expect(await outputOf(`${command} Drinks?`, { cwd })).toBe(
      '"- Drinks tea." (user/profile.md)\n',
    );
  },
);
