import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, createConnection } from 'mysql2/promise';

const START_MS = 60_000;

/** What {@link startMariadb} starts with. */
export interface MariadbOptions {
  /** More flags of mariadbd. */
  flags?: readonly string[];
  /** Those of them that its data are made with. */
  dataFlags?: readonly string[];
  /** Where its data are, or are to be; a directory of its own when left out. */
  directory?: string;
  /** The port that it had. */
  port?: number;
  /** Who runs it, where root starts it; default root. */
  user?: 'root' | 'mysql';
  /** How long its start may take, milliseconds. */
  startMs?: number;
}

/** A MariaDB of the tests' own. */
export interface Mariadb {
  readonly port: number;
  readonly directory: string;
  /** Whether it has ended, by itself or not. */
  readonly hasEnded: boolean;
  /** Ends it in order, or at once; its data stay. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Ends it, and removes its data. */
  remove(): Promise<void>;
}

/** Starts a MariaDB with its own data on a free port of the loopback. Its user is root, without a password. */
export async function startMariadb(options: MariadbOptions = {}): Promise<Mariadb> {
  const { user = 'root', startMs = START_MS } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'memory-mariadb-')));
  const data = join(directory, 'data');
  // Of its own: a server that starts takes away the temporary tables of all that share a place.
  const temporary = await mkdtemp(join(tmpdir(), 'memory-mariadb-tmp-'));
  const env = {
    ...process.env,
    PATH: `${process.env['PATH'] ?? ''}:/usr/sbin`,
    TMPDIR: temporary,
  };
  const isRoot = process.getuid?.() === 0;
  const asUser = isRoot ? [`--user=${user}`] : [];
  if (isRoot && user !== 'root') run('chown', [user, temporary], env);
  if (!existsSync(data)) {
    if (isRoot && user !== 'root') run('chown', [user, directory], env);
    run(
      'mariadb-install-db',
      [
        '--no-defaults',
        ...asUser,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        `--datadir=${data}`,
        ...(options.dataFlags ?? []),
      ],
      env,
    );
  }
  const port = options.port ?? (await freePort());
  const server = [
    'mariadbd',
    '--no-defaults',
    ...asUser,
    `--datadir=${data}`,
    `--tmpdir=${temporary}`,
    `--socket=${join(directory, 'socket')}`,
    `--pid-file=${join(directory, 'pid')}`,
    `--log-error=${join(directory, 'log')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--innodb-buffer-pool-size=64M',
    '--max-connections=400',
    ...(options.flags ?? []),
  ];
  // Should the tests be killed, the server ends too. It forgets that when it changes its user.
  const hasSetpriv = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0;
  const become =
    isRoot && user !== 'root' ? [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'] : [];
  const command = hasSetpriv ? ['setpriv', ...become, '--pdeathsig', 'TERM', ...server] : server;
  const child = spawn(command[0] as string, command.slice(1), { stdio: 'ignore', env });
  const ended = once(child, 'exit').then(() => rm(temporary, { recursive: true, force: true }));
  await untilAnswering(child, port, startMs);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    if (!hasEnded()) child.kill(signal);
    await ended;
  };
  return {
    port,
    directory,
    get hasEnded() {
      return hasEnded();
    },
    end,
    async remove() {
      await end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
}

/** A connection that may do everything. */
export function connectAsRoot(port: number, database?: string): Promise<Connection> {
  return createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    multipleStatements: true,
    ...(database === undefined ? {} : { database }),
  });
}

/** What the service waits for locks and answers: long enough for a machine that is busy. */
const PATIENCE = 'lock-timeout-ms=30000&statement-timeout-ms=30000';

/** Makes an empty database, and gives its URL. Shorter time limits are options beside it. */
export async function createDatabase(port: number, name = makeName()): Promise<string> {
  const root = await connectAsRoot(port);
  try {
    await root.query('create database if not exists ??', [name]);
  } finally {
    await root.end();
  }
  return `mysql://root@127.0.0.1:${port}/${name}?${PATIENCE}`;
}

function makeName(): string {
  return `test_${randomBytes(6).toString('hex')}`;
}

/** A port of the loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function untilAnswering(child: ChildProcess, port: number, startMs: number): Promise<void> {
  const end = performance.now() + startMs;
  for (;;) {
    try {
      await (await connectAsRoot(port)).end();
      return;
    } catch (error) {
      if (child.exitCode !== null) throw new Error('mariadbd ended.', { cause: error });
      if (performance.now() > end) throw error;
    }
    await sleep(20);
  }
}
