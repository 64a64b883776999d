import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**'],
    globalSetup: ['test/support/mariadb-setup.ts'],
    // A test that needs longer than this hangs. Nothing in the suite asserts on time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // Prepared once by test/run.mjs, so that a bare `vitest run` works on what is built already.
    environment: 'node',
  },
});
