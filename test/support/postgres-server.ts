import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from './mariadb-server.ts';
import { findPostgres } from './postgres-programs.mjs';

const START_MS = 60_000;

/** What {@link startPostgres} starts with. */
export interface PostgresOptions {
  /** More settings of the server, each as `name=value`. */
  settings?: readonly string[];
  /** Where its data are, or are to be; a directory of its own when left out. */
  directory?: string;
  /** The port that it had. */
  port?: number;
  /** The encoding of its databases; default UTF8. */
  encoding?: string;
}

/** A PostgreSQL of the tests' own. Its user is `postgres`, without a password. */
export interface Postgres {
  readonly port: number;
  readonly directory: string;
  /** Whether it has ended, by itself or not. */
  readonly hasEnded: boolean;
  /** Ends it in order (`SIGINT`, which ends open connections), or at once; its data stay. */
  end(signal?: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Ends it, and removes its data. */
  remove(): Promise<void>;
}

/**
 * Starts a PostgreSQL with its own data on a free port of the loopback. It refuses to run as root, so
 * root starts it as the user that Debian's package makes.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is missing: apt-get install postgresql');
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'memory-postgres-')));
  const data = join(directory, 'data');
  const become = process.getuid?.() === 0 ? AS_POSTGRES : [];
  if (!existsSync(data)) {
    if (become.length > 0) run(['chown', 'postgres', directory]);
    const encoding = options.encoding ?? 'UTF8';
    run([
      ...become,
      ...[join(programs, 'initdb'), '--pgdata', data, '--username=postgres', '--auth=trust'],
      ...[`--encoding=${encoding}`, '--locale=C', '--no-sync'],
    ]);
  }
  const port = options.port ?? (await freePort());
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${directory}`,
    'max_connections=200',
    ...(options.settings ?? []),
  ];
  const child = spawn(
    'setpriv',
    [
      ...become.slice(1),
      // Should the tests be killed, the server ends too.
      ...['--pdeathsig', 'INT', join(programs, 'postgres'), '-D', data],
      ...settings.flatMap((setting) => ['-c', setting]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-4_000);
  });
  const exited = once(child, 'exit');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await untilAnswering(port, () => (hasEnded() ? log : null));

  async function end(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const children = signal === 'SIGKILL' ? await backends(data) : [];
    if (!hasEnded()) child.kill(signal);
    await exited;
    // The server's own processes notice its death a moment later; a start before that is refused.
    await Promise.all(children.map(untilGone));
  }
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

const AS_POSTGRES = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];

/** What the tests of the service wait for locks and answers: long enough for a busy machine. */
const PATIENCE = 'lock-timeout-ms=30000&statement-timeout-ms=30000';

/** A connection that may do everything. */
export async function connectAsPostgres(port: number, database = 'postgres'): Promise<Client> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database });
  await client.connect();
  return client;
}

/** Makes an empty database, and gives its URL. Shorter time limits are options beside it. */
export async function createPostgresDatabase(port: number, name = makeName()): Promise<string> {
  const client = await connectAsPostgres(port);
  try {
    await client.query(`create database "${name}"`);
  } finally {
    await client.end();
  }
  return `postgres://postgres@127.0.0.1:${port}/${name}?${PATIENCE}`;
}

function makeName(): string {
  return `test_${randomBytes(6).toString('hex')}`;
}

function run(command: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command[0] as string, command.slice(1), {
    encoding: 'utf8',
    // Where the tests run may be a folder that this user cannot enter.
    cwd: '/',
  });
  if (status !== 0) throw new Error(`${command.join(' ')} failed: ${error?.message ?? stderr}`);
}

/** The ids of the server's own processes. */
async function backends(data: string): Promise<number[]> {
  const file = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const parent = Number(file.split('\n')[0]);
  if (!Number.isSafeInteger(parent) || parent < 2) return [];
  const list = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '');
  return list.split(' ').filter(Boolean).map(Number);
}

async function untilGone(pid: number): Promise<void> {
  const end = performance.now() + START_MS;
  while (existsSync(`/proc/${pid}`)) {
    if (performance.now() > end) throw new Error(`The process ${pid} of PostgreSQL stays.`);
    await sleep(10);
  }
}

async function untilAnswering(port: number, ended: () => string | null): Promise<void> {
  const end = performance.now() + START_MS;
  for (;;) {
    try {
      await (await connectAsPostgres(port)).end();
      return;
    } catch (error) {
      const log = ended();
      if (log !== null) throw new Error(`PostgreSQL ended: ${log}`, { cause: error });
      if (performance.now() > end) throw error;
    }
    await sleep(20);
  }
}
