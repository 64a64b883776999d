import path from 'node:path';
import { defineConfig } from 'vitest/config';

/** What a mutant is tried with: the tests of its module, on SQLite. */
export default defineConfig({
  root: path.resolve(import.meta.dirname, '../..'),
  test: {
    include: JSON.parse(process.env['MUTATION_TESTS'] ?? '[]'),
    // Leaves out a hundred thousand samples and thousands of requests, which take too long for each
    // mutant. The named cases of the same files tell as much.
    testNamePattern: /^(?!.*(?:100,000|SQL in a parameter))/,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    environment: 'node',
  },
});
