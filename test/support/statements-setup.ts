import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The directory of the statements that this run has sent to databases (statements.ts). */
    statements: string;
  }
}

/**
 * Makes the directory that all projects of a run record their statements in. One that
 * MEMORY_TEST_STATEMENTS names stays, so that its statements can be checked again by themselves.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const kept = process.env['MEMORY_TEST_STATEMENTS'];
  const directory = kept ?? join(tmpdir(), `memory-statements-${process.pid}`);
  await mkdir(directory, { recursive: true });
  project.provide('statements', directory);
  return async () => {
    if (kept === undefined) await rm(directory, { recursive: true, force: true });
  };
}
