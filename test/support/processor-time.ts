// Tells how many seconds of processor time each test file takes, with the processes that it starts.
// vitest.config.ts loads this file before each test file; run-suite.mjs reports what it measures.

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module '@vitest/runner' {
  interface TaskMeta {
    /** On a Linux alone. */
    processorMs?: number;
  }
}

/** Of a tick of the times in /proc, on every Linux that Node runs on. */
const MS_PER_TICK = 10;

if (process.platform === 'linux') {
  const before = readProcessorMs();
  // eslint-disable-next-line no-empty-pattern -- Vitest takes no other first argument.
  afterAll(({}, file) => {
    (file.meta as { processorMs?: number }).processorMs = readProcessorMs() - before;
  });
}

/** What this process has used so far, with its children: those that have ended, and those that run. */
function readProcessorMs(): number {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)));
  const total = (id: number): number =>
    processes
      .filter(({ pid, parent }) => pid === id || parent === id)
      .reduce((sum, { pid, ms }) => sum + (pid === id ? ms : total(pid)), 0);
  return total(process.pid);
}

function readProcess(pid: number): { pid: number; parent: number; ms: number }[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands before these, in brackets, and may have spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    return [{ pid, parent: Number(fields[1]), ms: ticks * MS_PER_TICK }];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}
