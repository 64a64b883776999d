// Every test of every-tool.test.ts, memory-prompt.test.ts and keep-memory.test.ts once more, with the next majors of the packages
// in the place of these, by the newer Node that they need. Prints what runs it, and a line for each test.
//
//   npm exec --yes --package=node@24 -- node test/adapters/next-majors.ts

import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';
import { printAndExit } from '../support/print-and-exit.mjs';

/** What a test came to: a line of what this prints, after the first. */
export interface Told {
  test: string;
  state: string;
  errors: readonly string[];
}

/** Installed under another name, since a package is installed in one version. */
const NEXT: Record<string, string> = {
  ai: import.meta.resolve('ai7'),
  '@ai-sdk/openai': import.meta.resolve('ai-sdk-openai-4'),
  openai: import.meta.resolve('openai7'),
};

const root = fileURLToPath(new URL('../../', import.meta.url));
const alias = Object.entries(NEXT).map(([name, url]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(url),
}));
const vitest = await startVitest(
  'test',
  ['every-tool', 'memory-prompt', 'keep-memory'].map((name) => `test/adapters/${name}.test.ts`),
  {
    config: false,
    root,
    run: true,
    watch: false,
    reporters: [{}],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As in vitest.config.ts: a second is too short on a busy machine.
    expect: { poll: { timeout: 120_000 } },
    env: { MEMORY_TEST_NEXT_MAJORS: '1' },
  },
  { resolve: { alias } },
);
const lines: object[] = [{ node: process.version }];
for (const module of vitest.state.getTestModules()) {
  for (const test of module.children.allTests()) {
    const { state, errors = [] } = test.result();
    const told: Told = { test: test.fullName, state, errors: errors.map(({ message }) => message) };
    lines.push(told);
  }
}
await vitest.close();
await printAndExit(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), 0);
