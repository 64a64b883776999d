import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { connectAsRoot } from '../../support/mariadb-server.ts';
import { withRawSql } from '../../support/raw-sql.ts';

/** A process that dreams (`dreamer-process.mjs`), on a database that others may use, too. */
export interface Dreamer {
  /** Sends a command; rejects when the process ends before it has answered. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the command gives
  send(command: { do: string } & Record<string, unknown>): Promise<any>;
  /** Resolves when the process is at the point that it was armed for. */
  atPoint(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** The signal that ended it. */
  ended: Promise<NodeJS.Signals | null>;
}

const PROGRAM = fileURLToPath(new URL('dreamer-process.mjs', import.meta.url));

/** Starts a process; it is killed when the test ends. It keeps the search index, unless told not to. */
export async function startDreamer(
  database: string,
  { indexes = true }: { indexes?: boolean } = {},
): Promise<Dreamer> {
  if (!existsSync('dist/plugins/dreaming/index.js')) {
    throw new Error('Nothing is built: run npm test, or npm run build.');
  }
  const child = spawn(process.execPath, [PROGRAM, database, ...(indexes ? [] : ['no-index'])], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close').then(([, signal]) => signal as NodeJS.Signals | null);
  const waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
  const watching: (() => void)[] = [];
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as Record<string, unknown>;
    if ('ready' in said) isReady();
    else if ('at' in said) watching.splice(0).forEach((tell) => tell());
    else if ('error' in said) waiting.shift()?.reject(new Error(String(said['error'])));
    else waiting.shift()?.resolve(said['result']);
  });
  void ended.then(() => waiting.splice(0).forEach(({ reject }) => reject(new Error('It ended.'))));
  await Promise.race([
    ready,
    ended.then(() => Promise.reject(new Error('The process did not start.'))),
  ]);
  return {
    send: (command) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify(command)}\n`);
      }),
    atPoint: () => new Promise((resolve) => watching.push(resolve)),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** Ends every lease, as a minute by the database's clock would. */
export async function expireLeases(database: string): Promise<void> {
  await runSql(database, 'update svc_lease set expires_at = 0');
}

/** How often a budget was used. */
export async function readBudget(database: string, name: string): Promise<number> {
  const [row] = await runSql(database, 'select used from svc_budget where name = ?', [name]);
  return Number(row?.['used'] ?? 0);
}

async function runSql(
  database: string,
  sql: string,
  parameters: string[] = [],
): Promise<Record<string, unknown>[]> {
  if (!database.includes('://')) {
    return await withRawSql(database, 'sqlite3', async (raw) => {
      if (sql.startsWith('select')) return await raw.all(sql, parameters);
      await raw.run(sql, parameters);
      return [];
    });
  }
  const { port, pathname } = new URL(database);
  const root = await connectAsRoot(Number(port), pathname.slice(1));
  try {
    const [rows] = await root.query(sql, parameters);
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
  } finally {
    await root.end();
  }
}
