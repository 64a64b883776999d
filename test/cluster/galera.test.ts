import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../core/contracts/storage.ts';
import { write } from '../support/rows.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { startBalancer } from '../support/mariadb-balancer.ts';
import { type Cluster, startCluster } from '../support/mariadb-cluster.ts';
import { createDatabase } from '../support/mariadb-server.ts';
import { quiet } from '../support/quiet-log.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryDirectory } from '../support/service.ts';
import { type KillableTarget, patient, startServer } from '../support/targets.ts';
import { seededRandom, Workload } from '../support/workload.ts';
import { mysql } from '../support/databases.ts';

const NODES = 3;
/** Each node is killed so often. */
const ROUNDS = Number(process.env['MEMORY_TEST_CLUSTER_ROUNDS'] ?? 1);
const WRITERS = 8;
const WRITES_BETWEEN = 100;
const LONG = { timeout: 300_000 * (ROUNDS + 1) };
const PROBE_MS = 20;

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;

describe('instances on a cluster of three Galera nodes', () => {
  if (process.env['MEMORY_TEST_CLUSTER'] === undefined) {
    it('lose nothing that they acknowledged', ({ skip }) => skip('npm run test:cluster'));
    return;
  }
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(NODES);
  }, 120_000);
  afterAll(() => cluster.remove());

  const makeDatabase = async () => {
    const url = new URL(await createDatabase(cluster.ports[0] ?? 0));
    // A connection that names a database waits for no other node: each one is asked for it first.
    for (const port of cluster.ports) await createDatabase(port, url.pathname.slice(1));
    return url;
  };
  const onPort = (url: URL, port: number | undefined) => {
    const other = new URL(url);
    other.port = String(port);
    return other.href;
  };
  const open = async (url: string): Promise<Storage> => {
    const storage = mysql({ url });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });
    return storage;
  };

  it('lose nothing that they acknowledged when nodes are killed and come back', LONG, async () => {
    const url = await makeDatabase();
    // Each prefers a node of its own, so that writes of one scope meet at the commit.
    const instances = await Promise.all(
      [0, 1].map(async (first) => {
        const preference = cluster.ports.map((_, at) => cluster.ports[(first + at) % NODES] ?? 0);
        const balancer = await startBalancer(preference);
        onTestFinished(() => balancer.close());
        const server = await startServer({
          cwd: await temporaryDirectory(),
          databaseUrl: onPort(url, balancer.port),
        });
        onTestFinished(async () => void (await server.end('SIGKILL')));
        return server;
      }),
    );
    const target = patient(instances);
    const workload = new Workload(seededRandom(4));
    await workload.prepare(target);
    let isOver = false;
    const writing = workload.write(target, WRITERS, () => isOver);
    const moreWrites = async (writes: number) => {
      const enough = workload.acknowledged.length + writes;
      while (workload.acknowledged.length < enough) await sleep(PROBE_MS);
    };
    const heals: number[] = [];
    for (let kill = 0; kill < ROUNDS * NODES; kill += 1) {
      await moreWrites(WRITES_BETWEEN);
      const killed = performance.now();
      await cluster.kill(kill % NODES);
      for (const instance of instances) await untilWritten(instance);
      heals.push(performance.now() - killed);
      await moreWrites(WRITES_BETWEEN);
      await cluster.start(kill % NODES);
    }
    await moreWrites(WRITES_BETWEEN);
    isOver = true;
    await writing;
    await workload.settle(target);

    const { acknowledged, problems } = workload;
    const conflicts = await cluster.countConflicts();
    for (const port of cluster.ports) {
      const violations = await findViolations(onPort(url, port), { acknowledged });
      problems.push(...toLines(violations));
    }
    console.log(
      `${heals.length} nodes killed with kill -9, ${acknowledged.length} acknowledged, ` +
        `${problems.length} lost or in part; ${conflicts} conflicts between nodes, ` +
        `${target.repeated} writes repeated by their callers; healed after ` +
        heals.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', '),
    );
    expect(problems).toEqual([]);
    expect(heals).toHaveLength(ROUNDS * NODES);
    expect(conflicts).toBeGreaterThan(0);
  });

  it('write again what another node wrote first', async () => {
    const url = await makeDatabase();
    const proxy = await startFaultProxy(cluster.ports[0] ?? 0);
    onTestFinished(() => proxy.close());
    const [one, other] = [
      await open(onPort(url, proxy.port)),
      await open(onPort(url, cluster.ports[1])),
    ];
    await write(one, alice, append('first'));
    const from = proxy.statements.length;
    // At its commit, and while it still reads and writes.
    for (const [at, statement] of [/^commit/, /^insert into svc_revision/].entries()) {
      const held = proxy.hold(
        'before',
        (sql) => statement.test(sql),
        async () => void (await write(other, alice, append('by the other'))),
      );
      const { version } = await write(one, alice, append('by the one'));
      await held;
      expect(version).toBe(3 + 2 * at);
    }
    const starts = proxy.statements.slice(from).filter((sql) => /^start transaction/.test(sql));
    expect(starts).toHaveLength(4);
    for (const storage of [one, other]) {
      expect((await storage.files.read(alice))?.content).toBe(
        'first\n' + 'by the other\nby the one\n'.repeat(2),
      );
    }
  });

  it(
    'are told to come again while their node has lost the others, and heal by themselves',
    LONG,
    async () => {
      const url = await makeDatabase();
      const [cutOff, other] = [
        await open(onPort(url, cluster.ports[2])),
        await open(onPort(url, cluster.ports[0])),
      ];
      await write(cutOff, alice, append('first'));
      await cluster.isolate(2, true);
      const error = await rejection(write(cutOff, alice, append('refused')));
      expect([error.code, error.retryable]).toEqual(['STORAGE_UNAVAILABLE', true]);
      expect((await write(other, alice, append('second'))).version).toBe(2);
      await cluster.isolate(2, false);
      for (;;) {
        const written = await write(cutOff, alice, append('third')).catch(() => null);
        if (written !== null) break;
        await sleep(PROBE_MS);
      }
      expect((await other.files.read(alice))?.content).toBe('first\nsecond\nthird\n');
    },
  );

  it('make the schema once, whichever node each of them begins at', async () => {
    const url = await makeDatabase();
    const storages = await Promise.all(
      [0, 1, 2, 0, 1].map((node) => open(onPort(url, cluster.ports[node]))),
    );
    await Promise.all(storages.map((storage) => write(storage, alice, append('line'))));
    expect((await storages[2]?.files.get(alice))?.version).toBe(5);
  });
});

/** Waits until an instance has acknowledged a write that began after the call. */
async function untilWritten(instance: KillableTarget): Promise<void> {
  for (let probe = 0; ; probe += 1) {
    const args = { path: 'user/probe.md', content: `${probe}\n` };
    const answer = await instance.execute({ userId: 'probe', tool: 'memory_write', args });
    if (answer.status === 'acknowledged') return;
    await sleep(PROBE_MS);
  }
}
