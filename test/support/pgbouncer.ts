import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { freePort } from './mariadb-server.ts';
import { connectAsPostgres } from './postgres-server.ts';

const START_MS = 60_000;

/** How PgBouncer lends connections, and how many it has for each database. */
interface PoolerOptions {
  mode: 'transaction' | 'statement';
  connections: number;
}

/**
 * Starts a PgBouncer before a PostgreSQL of the tests, until the test ends, and gives its port. It asks
 * nobody for a password. It refuses to run as root, so root starts it as the user of PostgreSQL.
 */
export async function startPooler(
  target: number,
  { mode, connections }: PoolerOptions,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-pgbouncer-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${target} user=postgres`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1`,
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      `default_pool_size = ${connections}`,
      // Another caller gets a connection just as the one before has left it.
      'server_reset_query =',
      '',
    ].join('\n'),
  );
  const become =
    process.getuid?.() === 0 ? ['--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  const child = spawn('setpriv', [...become, '--pdeathsig', 'INT', 'pgbouncer', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-4_000);
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGINT');
    await exited;
  });
  const end = performance.now() + START_MS;
  for (;;) {
    try {
      await (await connectAsPostgres(port)).end();
      return port;
    } catch (error) {
      // In statement mode too, a connection can be made.
      if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${log}`, { cause: error });
      if (performance.now() > end) throw error;
    }
    await sleep(20);
  }
}
