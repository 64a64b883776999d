import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RowDataPacket } from 'mysql2/promise';
import { connectAsRoot, freePort, type Mariadb, startMariadb } from './mariadb-server.ts';

const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
/** How long a node may take until it has all that the others have. */
const SYNC_MS = 90_000;
/** What `wsrep_local_state` says of a node that has. */
const SYNCED = 4;

/** A Galera cluster on the loopback. */
export interface Cluster {
  /** The ports of the nodes, whether they run or not. */
  readonly ports: readonly number[];
  /** Ends a node at once: nobody hears of it but by its silence. */
  kill(node: number): Promise<void>;
  /** Starts a node that was killed, and waits until it has all that the others have. */
  start(node: number): Promise<void>;
  /** Cuts a node off from the others, which can still be reached, or joins it to them again. */
  isolate(node: number, isIsolated: boolean): Promise<void>;
  /** Writes that other nodes' writes undid, of all nodes ever. */
  countConflicts(): Promise<number>;
  /** Ends all of them, and removes their data. */
  remove(): Promise<void>;
}

/** Starts a cluster of Debian's MariaDB and Galera, each node with data and ports of its own. */
export async function startCluster(size: number): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-cluster-'));
  // Root's rsync becomes nobody, who could not enter the data: the nodes run as mysql.
  const user = 'mysql';
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execute('chown', [user, directory]);
  const places: Place[] = [];
  for (let node = 0; node < size; node += 1) {
    const [port, group, state, increment] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    places.push({ directory: join(directory, `node-${node}`), port, group, state, increment });
  }
  const placeOf = (node: number) => places[node] as Place;
  const running = new Map<number, Mariadb>();
  /** Conflicts of nodes that were killed: a node counts from its start. */
  let past = 0;

  const start = async (node: number, isFirst = false) => {
    const place = placeOf(node);
    const flags = flagsOf(place, isFirst ? [] : places);
    const position = await recoverPosition(place, flags);
    running.set(
      node,
      await startMariadb({
        directory: place.directory,
        port: place.port,
        user,
        flags: [...flags, ...(position === null ? [] : [`--wsrep-start-position=${position}`])],
        startMs: SYNC_MS,
      }),
    );
    await untilSynced(place.port);
  };
  const remove = async () => {
    await Promise.all([...running.values()].map((server) => server.end('SIGKILL')));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    // All begin with the same state, so that none has to send it to another one.
    const [first, ...others] = places as [Place, ...Place[]];
    execute('install', ['-d', ...(isRoot ? ['-o', user] : []), first.directory]);
    await start(0, true);
    await running.get(0)?.end();
    for (const { directory: own } of others) execute('cp', ['-a', first.directory, own]);
    await start(0, true);
    await Promise.all(others.map((_, at) => start(at + 1)));
  } catch (error) {
    await remove();
    throw error;
  }

  return {
    ports: places.map(({ port }) => port),
    async kill(node) {
      past += await conflictsOf(placeOf(node).port);
      await running.get(node)?.end('SIGKILL');
      running.delete(node);
    },
    start,
    async isolate(node, isIsolated) {
      const root = await connectAsRoot(placeOf(node).port);
      await root.query('set global wsrep_provider_options = ?', [
        `gmcast.isolate=${isIsolated ? 1 : 0}`,
      ]);
      await root.end();
    },
    async countConflicts() {
      let conflicts = past;
      for (const node of running.keys()) conflicts += await conflictsOf(placeOf(node).port);
      return conflicts;
    },
    remove,
  };
}

/** Where a node is, and the ports that it takes: of the group, of a whole state, and of a part. */
interface Place {
  directory: string;
  port: number;
  group: number;
  state: number;
  increment: number;
}

function flagsOf(own: Place, members: readonly Place[]): string[] {
  const address = members.map(({ group }) => `127.0.0.1:${group}`).join(',');
  const provider = {
    'gmcast.listen_addr': `tcp://127.0.0.1:${own.group}`,
    'ist.recv_addr': `127.0.0.1:${own.increment}`,
    // Enough for what a node misses while it is down: it needs no whole state then.
    'gcache.size': '64M',
  };
  return [
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    '--innodb-flush-log-at-trx-commit=2',
    '--wsrep-on=ON',
    `--wsrep-provider=${PROVIDER}`,
    `--wsrep-cluster-address=gcomm://${address}`,
    `--wsrep-node-address=127.0.0.1:${own.group}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=127.0.0.1:${own.state}`,
    `--wsrep-provider-options=${Object.entries(provider)
      .map(([name, value]) => `${name}=${value}`)
      .join(';')}`,
  ];
}

/**
 * How far a node that was killed had come, as Debian's own start of a node asks it: without it the
 * node would take the whole state from another one, which takes no writes meanwhile.
 */
async function recoverPosition(place: Place, flags: readonly string[]): Promise<string | null> {
  if (!existsSync(join(place.directory, 'data'))) return null;
  const log = join(place.directory, 'recovery.err');
  await rm(log, { force: true });
  const user = process.getuid?.() === 0 ? ['--user=mysql'] : [];
  spawnSync(
    'mariadbd',
    [
      '--no-defaults',
      ...user,
      `--datadir=${join(place.directory, 'data')}`,
      `--socket=${join(place.directory, 'socket')}`,
      `--pid-file=${join(place.directory, 'pid')}`,
      `--log-error=${log}`,
      '--skip-networking',
      ...flags,
      '--wsrep-recover',
    ],
    { env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` } },
  );
  const told = /WSREP: Recovered position: (\S+)/.exec(await readFile(log, 'utf8'));
  return told?.[1] ?? null;
}

function execute(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
}

async function untilSynced(port: number): Promise<void> {
  const end = performance.now() + SYNC_MS;
  while (!(await isSynced(port))) {
    if (performance.now() > end) throw new Error('A node of the cluster does not join the others.');
    await sleep(50);
  }
}

/** Whether a node takes part in its cluster, and has all that the others have. */
export async function isSynced(port: number): Promise<boolean> {
  try {
    // A node that lost the majority of its cluster says so, and takes nothing.
    const ready = await statusOf(port, 'wsrep_ready');
    return ready === 'ON' && Number(await statusOf(port, 'wsrep_local_state')) === SYNCED;
  } catch {
    return false;
  }
}

/** Before the commit, when a write arrived that touches its rows, or at the commit. */
async function conflictsOf(port: number): Promise<number> {
  const aborts = Number(await statusOf(port, 'wsrep_local_bf_aborts'));
  return aborts + Number(await statusOf(port, 'wsrep_local_cert_failures'));
}

/** It is told whether the node takes part or not. */
async function statusOf(port: number, name: string): Promise<unknown> {
  const root = await connectAsRoot(port);
  try {
    const [[row]] = await root.query<RowDataPacket[]>(
      'show global status where variable_name = ?',
      [name],
    );
    return row?.['Value'];
  } finally {
    await root.end();
  }
}
